package report_test

import (
	"html"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// inOneLine undoes the folding of the text and the escaping of the page.
func inOneLine(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// wantOnce wants the note in the text and on the page, once in each.
func wantOnce(t *testing.T, r *report.Report, note string) {
	t.Helper()
	text := written(t, func(w io.Writer) error { return r.WriteText(w, report.TextOptions{}) })
	for _, out := range []string{text, written(t, r.WriteHTML)} {
		assert.Equal(t, 1, strings.Count(inOneLine(out), note), "%q in\n%s", note, out)
	}
}

func TestCurlLinesOfAServerInMemoryAreSaidToShowTheRequestOnly(t *testing.T) {
	r := full()
	r.Target = report.InMemory
	assert.Contains(t, r.CurlNote(), "in memory and cannot be reached")
	assert.Contains(t, r.CurlNote(), "earlier requests")
	wantOnce(t, r, r.CurlNote())
}

func TestCurlLinesAreSaidToHoldIDsOfEarlierRequests(t *testing.T) {
	r := full()
	assert.NotContains(t, r.CurlNote(), "in memory")
	assert.Contains(t, r.CurlNote(), "earlier requests")
	wantOnce(t, r, r.CurlNote())
}

func TestReportWithoutCurlLinesSaysNothingOfThem(t *testing.T) {
	r := &report.Report{Target: report.InMemory, Results: []report.Result{{ID: "a.b", Outcome: report.Passed}}}
	r.Judge(nil, nil)
	assert.Empty(t, r.CurlNote())
	assert.NotContains(t, written(t, func(w io.Writer) error { return r.WriteText(w, report.TextOptions{}) }), "curl")
}

func TestFindingIsToldOnce(t *testing.T) {
	r := full()
	r.Results = r.Results[len(r.Results)-1:]
	wantOnce(t, r, "decide 200 body")
	assert.NotContains(t, written(t, func(w io.Writer) error { return r.WriteText(w, report.TextOptions{}) }), "expected")
	assert.Contains(t, written(t, r.WriteJUnit), "&#xA;All.&#xA;decide 200 body is wrong")
}

func TestShortfallNamesWhatIsMissing(t *testing.T) {
	passed := report.Result{ID: "a.b", Outcome: report.Passed}
	lacking := func(id string, kinds ...string) report.Result {
		return report.Result{ID: id, Outcome: report.Skipped, Reason: "the target lacks fixture " + kinds[0], Lacks: kinds}
	}
	const least = ". A target needs at least one budget of tenant a with plenty left, listed as a fixture of kind funded or made by its provisioner"
	for name, c := range map[string]struct {
		results []report.Result
		want    string
	}{
		"nothing made":       {[]report.Result{lacking("a.c", "ledger", "funded"), lacking("a.d", "funded")}, "no check passed, so nothing is shown; missing are: funded, ledger" + least},
		"something else":     {[]report.Result{lacking("a.c", "ledger")}, "no check passed, so nothing is shown; missing are: ledger"},
		"nothing missing":    {[]report.Result{{ID: "a.c", Outcome: report.Failed}}, "no check passed, so nothing is shown"},
		"passes beside":      {[]report.Result{passed, lacking("a.c", "funded")}, "there was no funded budget, so next to nothing is shown; missing are: funded" + least},
		"enough for a start": {[]report.Result{passed, lacking("a.c", "ledger")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report.Report{Results: c.results}
			r.Judge(nil, nil)
			assert.Equal(t, c.want, r.Shortfall())
			if c.want != "" {
				wantOnce(t, r, c.want)
			}
		})
	}
}
