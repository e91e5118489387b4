// Command cycles-mock is a Cycles server in memory, for scripts and CI.
//
//	cycles-mock serve [flags]   serve until SIGINT or SIGTERM
//	cycles-mock demo [flags]    serve with the quickstart's tenant and a first conversation
//	cycles-mock init            print a commented configuration file
//
// serve prints one line to standard output when it is ready,
//
//	cycles-mock ready at http://127.0.0.1:7878
//
// and logs to standard error: first which tenants there are (without a
// configuration the tenant demo with the key cyc_live_demo), then each request.
// Every flag has an environment variable; the flag
// wins. It exits with 0 after a signal, with 1 when serving failed, and with 2
// when it could not start: a wrong flag, a configuration that is refused, a
// port that is in use.
//
// In CI, start it in the background and wait until it is ready; quickstart.sh
// beside this file does all of that in full:
//
//	go build -o cycles-mock github.com/cycles-protocol/cycles-go/mockserver/cmd/cycles-mock
//	./cycles-mock serve &
//	until curl -fs http://127.0.0.1:7878/actuator/health/readiness; do sleep 0.1; done
//	go test ./...
//	kill $!
//
// GET /_mock/openapi.yaml describes what a running server can be told: the time,
// faults, snapshots.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const usage = `usage: cycles-mock <command> [flags]

  serve   serve until SIGINT or SIGTERM
  demo    serve with the quickstart's tenant, after a first conversation
  init    print a commented configuration file

"cycles-mock <command> -h" lists the flags.
`

// startError is a reason not to start at all.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	var err error
	switch command := args[0]; command {
	case "serve":
		err = serve(ctx, args[1:], env, stdout, stderr)
	case "demo":
		err = demo(ctx, args[1:], env, stdout, stderr)
	case "init":
		_, err = io.WriteString(stdout, mockserver.ConfigTemplate)
	case "help", "-h", "--help":
		_, err = io.WriteString(stdout, usage)
	default:
		err = startError{fmt.Errorf("there is no command %q\n\n%s", command, usage)}
	}
	var start startError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &start):
		fmt.Fprintln(stderr, "cycles-mock:", err)
		return exitUsage
	default:
		fmt.Fprintln(stderr, "cycles-mock:", err)
		return exitError
	}
}
