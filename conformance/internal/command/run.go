package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// runFlags are the flags of "run".
type runFlags struct {
	options  conformance.Options
	target   targetFlags
	baseline string
	outputs  outputs
	verbose  bool
	noColor  bool
}

func (c *Command) run(ctx context.Context, args []string) error {
	fs := flags("run")
	f := runFlags{}
	f.register(fs)
	if err := c.parse(fs, args, 0, ""); err != nil {
		return err
	}
	t, err := c.target(&f.target, f.options.Legacy)
	if err != nil {
		return err
	}
	if f.baseline != "" {
		if f.options.Baseline, err = readBaseline(f.baseline); err != nil {
			return err
		}
	}
	// Settled before anything is sent: a run of minutes should not end with a
	// report that cannot be written.
	files, err := f.outputs.open(c.Stdout)
	if err != nil {
		return err
	}
	defer files.discard()

	progress := &progressLine{w: c.Stderr, on: c.Terminal}
	f.options.Progress = progress.tell
	rep, err := conformance.Run(ctx, t, f.options)
	progress.clear()
	if rep == nil {
		return err
	}
	if f.outputs.stdoutFree() {
		if err := rep.WriteText(c.Stdout, report.TextOptions{Color: c.Terminal && !f.noColor, All: f.verbose}); err != nil {
			return err
		}
	}
	if err := files.write(rep); err != nil {
		return err
	}
	switch rep.Verdict {
	case report.Conformant:
		return nil
	case report.NotConformant:
		return statusError{ExitNotConformant}
	default:
		return statusError{ExitUndecided}
	}
}

func (f *runFlags) register(fs *flag.FlagSet) {
	o := &f.options
	f.target.register(fs)
	selectionFlags(fs, o)
	fs.IntVar(&o.Parallel, "parallel", conformance.DefaultParallel, "how many checks work at a time")
	fs.Float64Var(&o.Rate, "rate", 0, "at most this many requests a second; 0 means no bound")
	duration(fs, &o.CheckTimeout, "timeout", conformance.DefaultCheckTimeout, "bound for one check, waiting included")
	duration(fs, &o.RequestTimeout, "request-timeout", conformance.DefaultRequestTimeout, "bound for one request")
	fs.StringVar(&f.baseline, "baseline", "", "file with the checks that are known to fail, one id a line")
	f.outputs.register(fs)
	fs.BoolVar(&f.verbose, "v", false, "list every check in the summary")
	fs.BoolVar(&f.noColor, "no-color", false, "no colors, even on a terminal")
}

// duration is a flag that must be positive: zero would mean the default.
func duration(fs *flag.FlagSet, d *time.Duration, name string, def time.Duration, usage string) {
	*d = def
	fs.Func(name, usage+" (default "+def.String()+")", func(s string) error {
		v, err := time.ParseDuration(s)
		if err != nil {
			return err
		}
		if v <= 0 {
			return errors.New("must be more than zero")
		}
		*d = v
		return nil
	})
}

func readBaseline(name string) (*report.Baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	b, err := report.ReadBaseline(f)
	if err != nil {
		return nil, misuse("%s: %v", name, err)
	}
	return b, nil
}
