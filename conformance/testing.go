package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// Test runs the suite as subtests of t, one for each check, named after its
// id. A failed check and one that could not tell fail their subtest; a skipped
// one skips it and a warning is logged. Without options everything of profile
// Runtime is run.
//
// All checks have run when the first subtest is reported: they share the
// server and overlap. Select with Options.Run; go test's -run only chooses what
// is reported.
func Test(t *testing.T, target Target, opts ...Options) {
	t.Helper()
	if len(opts) > 1 {
		t.Fatal("conformance.Test takes at most one Options")
	}
	var o Options
	if len(opts) == 1 {
		o = opts[0]
	}
	rep, err := Run(t.Context(), target, o)
	if rep == nil {
		t.Fatalf("conformance: %v", err)
	}
	for _, res := range rep.Results {
		t.Run(res.ID, func(t *testing.T) { tell(t, res) })
	}
	if b := rep.Baseline; b != nil && len(b.Stale) > 0 {
		t.Errorf("the baseline is stale, these do not fail: %s", strings.Join(b.Stale, ", "))
	}
	conclude(t, rep)
}

// reporter is the part of testing.T that a result needs.
type reporter interface {
	Helper()
	Error(args ...any)
	Skip(args ...any)
	Log(args ...any)
}

// conclude tells what is to be known about the run as a whole.
func conclude(t reporter, rep *Report) {
	t.Helper()
	shortfall := rep.Shortfall()
	switch {
	case rep.Counts.Pass == 0:
		t.Error(shortfall)
	case shortfall != "":
		t.Log(shortfall)
	}
	if note := rep.CurlNote(); note != "" {
		t.Log(note)
	}
}

func tell(t reporter, res report.Result) {
	t.Helper()
	switch {
	case res.Known:
		t.Skip("known to fail: " + res.Got)
	case res.Outcome == report.Failed:
		t.Error(account(res))
	case res.Outcome == report.Errored:
		t.Error("could not tell: " + res.Reason)
	case res.Outcome == report.Warned:
		t.Log(account(res))
	case res.Outcome == report.Skipped:
		t.Skip(res.Reason)
	}
}

// account says in full what a check found.
func account(res report.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s", res.ID, res.Level, res.Requirement)
	if len(res.Findings) == 0 { // Got is the first of them
		fmt.Fprintf(&b, "\nexpected: %s\ngot:      %s", res.Expected, res.Got)
	}
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "\n  %s %s\n  %s", f.Where, f.What, f.Exchange.Curl)
	}
	if res.Decisive != nil {
		fmt.Fprintf(&b, "\n%s", res.Exchanges[*res.Decisive].Curl)
	}
	return b.String()
}
