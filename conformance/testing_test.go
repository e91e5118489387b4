package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// told records what a result tells a test.
type told struct{ errors, skips, logs []string }

func (t *told) Helper()           {}
func (t *told) Error(args ...any) { t.errors = append(t.errors, fmt.Sprint(args...)) }
func (t *told) Skip(args ...any)  { t.skips = append(t.skips, fmt.Sprint(args...)) }
func (t *told) Log(args ...any)   { t.logs = append(t.logs, fmt.Sprint(args...)) }

func TestCurlLinesAreExplainedOnceForAllSubtests(t *testing.T) {
	server := &little{answer: answering(410, `{}`)}
	tgt := acme(server)
	tgt.BaseURL = "http://nobody.invalid/prefix"
	rep := judge(t, tgt, Options{}, check("a.b", unknown), check("a.c", unknown), check("a.d", passing))
	assert.Equal(t, report.InMemory, rep.Target, "nobody listens at the base URL of a handler")
	var got told
	conclude(&got, rep)
	assert.Equal(t, told{logs: []string{rep.CurlNote()}}, got)
}

func TestResultsTellATestWhatItNeedsToKnow(t *testing.T) {
	decisive := 0
	failed := report.Result{
		ID: "a.b", Level: report.Must, Requirement: "It must.", Outcome: report.Failed, Expected: "404", Got: "200", Decisive: &decisive,
		Exchanges: []report.Exchange{{Curl: "curl -i one"}},
	}
	found := report.Result{
		ID: "a.b", Level: report.Must, Requirement: "It must.", Outcome: report.Failed, Expected: "no fault", Got: "here is wrong",
		Findings: []report.Finding{{Where: "here", What: "is wrong", Exchange: report.Exchange{Curl: "curl -i two"}}},
	}
	known, warned := failed, failed
	known.Known, warned.Outcome = true, report.Warned
	const account = "a.b (MUST)\nIt must.\nexpected: 404\ngot:      200\ncurl -i one"
	for name, c := range map[string]struct {
		result report.Result
		want   told
	}{
		"pass":  {report.Result{Outcome: report.Passed}, told{}},
		"fail":  {failed, told{errors: []string{account}}},
		"found": {found, told{errors: []string{"a.b (MUST)\nIt must.\n  here is wrong\n  curl -i two"}}},
		"known": {known, told{skips: []string{"known to fail: 200"}}},
		"warn":  {warned, told{logs: []string{account}}},
		"skip":  {report.Result{Outcome: report.Skipped, Reason: "no fixture"}, told{skips: []string{"no fixture"}}},
		"error": {report.Result{Outcome: report.Errored, Reason: "refused"}, told{errors: []string{"could not tell: refused"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got told
			tell(&got, c.result)
			assert.Equal(t, c.want, got)
		})
	}
}
