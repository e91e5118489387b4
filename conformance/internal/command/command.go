package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/cycles-protocol/cycles-go/conformance"
)

// Command is the command with all that it touches.
type Command struct {
	Stdout, Stderr io.Writer
	// LookupEnv gives environment variables, as os.LookupEnv does.
	LookupEnv func(string) (string, bool)
	// Terminal says that Stderr is a terminal, which shows progress and colors.
	Terminal bool
	// Mock makes a target with everything in it, for "run --provision mock".
	// virtual asks for a virtual clock, legacy for the manners of edition 0.1.25.
	// Nil means that there is none.
	Mock func(virtual, legacy bool) conformance.Target
}

// usageError is a mistake in the arguments.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// subcommand is one verb.
type subcommand struct {
	name, about string
	run         func(ctx context.Context, args []string) error
}

func (c *Command) subcommands() []subcommand {
	return []subcommand{
		{"run", "judge a server", c.run},
		{"list", "list the checks", c.list},
		{"explain", "tell about one check", c.explain},
		{"init", "write a commented target file", c.initialize},
		{"fixtures", "print what a provisioner must make", c.fixtures},
	}
}

// Main does what args say and returns the exit status.
func (c *Command) Main(ctx context.Context, args []string) int {
	err := c.dispatch(ctx, args)
	var (
		status statusError
		usage  usageError
		misuse *conformance.UsageError
	)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ExitConformant
	case errors.As(err, &status):
		return status.code
	case errors.As(err, &usage), errors.As(err, &misuse):
		fmt.Fprintf(c.Stderr, "cycles-conformance: %v\n", err)
		return ExitUsage
	default:
		fmt.Fprintf(c.Stderr, "cycles-conformance: %v\n", err)
		return ExitUndecided
	}
}

// statusError is an exit status whose reason has been told already.
type statusError struct{ code int }

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func (c *Command) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		c.usage(c.Stderr)
		return statusError{ExitUsage}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		c.usage(c.Stdout)
		return nil
	}
	for _, s := range c.subcommands() {
		if s.name == args[0] {
			return s.run(ctx, args[1:])
		}
	}
	c.usage(c.Stderr)
	return misuse("there is no command %q", args[0])
}

func (c *Command) usage(w io.Writer) {
	fmt.Fprint(w, "cycles-conformance tells whether a server keeps the Cycles protocol.\n\n")
	for _, s := range c.subcommands() {
		fmt.Fprintf(w, "  cycles-conformance %-9s %s\n", s.name, s.about)
	}
	fmt.Fprint(w, `
"cycles-conformance <command> -h" lists the flags of a command.

Exit status: 0 conformant, 1 not conformant (or a stale baseline),
2 wrong usage, 3 could not run, could not tell, or nothing matched.
`)
}

// flags makes a flag set that says nothing by itself; parse does.
func flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parse reads the flags and refuses more than max arguments, which are called
// so in the help.
func (c *Command) parse(fs *flag.FlagSet, args []string, max int, arguments string) error {
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(c.Stdout, "usage: cycles-conformance %s [flags] %s\n\n", fs.Name(), arguments)
		fs.SetOutput(c.Stdout)
		fs.PrintDefaults()
		return err
	case err != nil:
		return usageError{err}
	case fs.NArg() > max:
		return misuse("%s: unexpected argument %q", fs.Name(), fs.Arg(max))
	}
	return nil
}
