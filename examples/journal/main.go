// Journal is for the operator of a settlement journal: it shows what was spent
// and is not in the ledger yet, and settles it.
//
//	journal list [-dir directory] [-json]
//	journal flush [-dir directory] [-timeout 10s]
//
// The directory is that of the environment (CYCLES_JOURNAL_DIR, by default
// ~/.runcycles/commit-journal) unless -dir names another. list shows the
// journals of all servers and tenants in it, or one of them, and needs no
// credentials when -dir is given. flush settles the journal of the server and
// tenant of the environment (CYCLES_BASE_URL, CYCLES_API_KEY, CYCLES_TENANT),
// whichever SDK wrote it; what it cannot settle stays as it is.
//
// A dead letter (its file ends in .dead) will not be settled by itself; its
// reason says why. When the cause is mended, give the file its .json name back
// and flush.
//
// The exit status is 0 when nothing is pending, 1 when something is, 2 when the
// command failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitSettled = 0
	exitPending = 1
	exitFailed  = 2
)

const usage = "usage: journal list [-dir directory] [-json]\n       journal flush [-dir directory] [-timeout 10s]"

func run(ctx context.Context, args []string, out, complaints io.Writer) int {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("journal "+command, flag.ContinueOnError)
	flags.SetOutput(complaints)
	dir := flags.String("dir", "", "the journal `directory`")
	asJSON := flags.Bool("json", false, "list as JSON, one object a line")
	timeout := flags.Duration("timeout", settlement.DefaultFlushTimeout, "how long flush may take")
	if flags.Parse(args) != nil {
		return exitFailed
	}
	var pending int
	var err error
	switch {
	case flags.NArg() > 0, command != "list" && command != "flush":
		err = errors.New(usage)
	case command == "list":
		pending, err = list(*dir, *asJSON, out)
	default:
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		pending, err = flush(ctx, *dir, out)
	}
	switch {
	case err != nil:
		fmt.Fprintln(complaints, err)
		return exitFailed
	case pending > 0:
		return exitPending
	}
	return exitSettled
}

// list shows every file and returns how many are pending.
func list(dir string, asJSON bool, out io.Writer) (pending int, err error) {
	if dir == "" {
		c, err := client.FromEnv()
		if err != nil {
			return 0, fmt.Errorf("say which journal with -dir, or set the environment: %w", err)
		}
		settings, _ := c.JournalSettings()
		dir = settings.Dir
	}
	entries, err := settlement.List(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.State == "pending" {
			pending++
		}
	}
	if asJSON {
		return pending, writeJSON(out, entries)
	}
	return pending, writeTable(out, entries, time.Now())
}

// flush settles what can be settled, tells each spend that ends, and returns how
// many are left.
func flush(ctx context.Context, dir string, out io.Writer) (pending int, err error) {
	c, err := client.FromEnv()
	if err != nil {
		return 0, err
	}
	opts := []settlement.Option{settlement.WithoutBackground(), settlement.WithNotify(teller(out))}
	if dir != "" {
		opts = append(opts, settlement.WithJournal(dir))
	}
	s, err := settlement.New(c, opts...)
	if err != nil {
		return 0, err
	}
	flushErr := s.Flush(ctx)
	if err := s.Close(context.WithoutCancel(ctx)); err != nil {
		return 0, err
	}
	status, err := s.Status()
	if err != nil {
		return 0, err
	}
	if status.Dir == "" {
		return 0, errors.New("the environment names no journal; say which one with -dir")
	}
	fmt.Fprintf(out, "%d pending, %d dead letters, %d quarantined in %s\n",
		status.Pending, status.DeadLetters, status.Quarantined, status.Dir)
	if ctx.Err() != nil {
		flushErr = nil // the time is over, and the line above says what is left
	}
	return status.Pending, flushErr
}
