package command

import (
	"flag"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance"
)

// patterns is a flag that may be given often, and with commas.
type patterns []string

func (p *patterns) String() string { return strings.Join(*p, ",") }

func (p *patterns) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*p = append(*p, part)
		}
	}
	return nil
}

// selectionFlags are those that say which checks are meant.
func selectionFlags(fs *flag.FlagSet, o *conformance.Options) {
	fs.Func("profile", "what the server offers: core, runtime or full (default runtime)", func(s string) error {
		o.Profile = conformance.Profile(s)
		return nil
	})
	fs.BoolVar(&o.Legacy, "legacy", false, "judge the server as one of edition 0.1.25")
	fs.Var((*patterns)(&o.Run), "run", "only the checks of these ids or patterns, like \"extend.*\"; comma-separated, may be repeated")
	fs.Var((*patterns)(&o.Skip), "skip", "not the checks of these ids or patterns")
}
