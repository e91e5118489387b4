package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

func exchange(status int) report.Exchange {
	return report.Exchange{
		Method: "POST", URL: "http://h/v1/x", Status: status, RequestBody: `{"a":"<b>"}`, ResponseBody: "<script>alert(1)</script>\x1b[31m",
		RequestHeaders: []report.Header{{Name: "X-Cycles-Api-Key", Value: "$CYCLES_KEY_A"}}, Milliseconds: 1.5,
		Curl: "curl -i -X POST http://h/v1/x --data-binary '{\"a\":\"<b>\"}'",
	}
}

// full has one result of every sort.
func full() *report.Report {
	decisive := 1
	broken := exchange(0)
	broken.Error = "connection refused"
	r := &report.Report{
		Implementation: "my <server>", Version: "1.2", Target: "http://h", Protocol: "0.1.25.16", Profile: "runtime", Run: "cf1",
		Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: 2.5, Requests: 7,
		Results: []report.Result{
			{ID: "extend.fails", Level: report.Must, Section: "extend", Lines: []int{3, 9}, Requirement: "It must & will.", Outcome: report.Failed,
				Expected: "404 NOT_FOUND", Got: "500 <oops> \x1b[31mred", Seconds: 0.25, Decisive: &decisive, Exchanges: []report.Exchange{exchange(200), exchange(500)}},
			{ID: "extend.known", Level: report.Must, Section: "extend", Requirement: "Known.", Outcome: report.Failed, Expected: "a", Got: "b", Seconds: 0.5},
			{ID: "extend.passes", Level: report.Must, Section: "extend", Requirement: "Fine.", Outcome: report.Passed, Seconds: 0.125},
			{ID: "commit.errs", Level: report.Must, Section: "commit", Lines: []int{4}, Requirement: "Unclear.", Outcome: report.Errored, Reason: "connection refused", Exchanges: []report.Exchange{broken}},
			{ID: "commit.warns", Level: report.Should, Section: "commit", Requirement: "Better.", Outcome: report.Warned, Expected: "x", Got: "y"},
			{ID: "commit.skips", Level: report.May, Section: "commit", Requirement: "Maybe.", Outcome: report.Skipped, Reason: "the target lacks fixture frozen", Lacks: []string{"frozen"}},
			{ID: "contract.decide", Level: report.Must, Section: "decide", Requirement: "All.", Outcome: report.Failed, Expected: "nothing", Got: "decide 200 body is wrong",
				Findings: []report.Finding{{Where: "decide 200 body", What: "is wrong", Count: 3, Check: "a.b", Exchange: exchange(200)}}},
		},
	}
	r.Judge(report.NewBaseline("extend.known", "extend.passes", "extend.gone", "extend.later"), func(id string) bool { return id != "extend.gone" })
	return r
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

func TestVerdict(t *testing.T) {
	exists := func(string) bool { return true }
	must := func(o report.Outcome) report.Result { return report.Result{ID: "a." + string(o), Outcome: o} }
	for name, c := range map[string]struct {
		results  []report.Result
		baseline *report.Baseline
		want     report.Verdict
	}{
		"a pass":               {[]report.Result{must(report.Passed)}, nil, report.Conformant},
		"passes and warnings":  {[]report.Result{must(report.Passed), must(report.Warned), must(report.Skipped)}, nil, report.Conformant},
		"a failure":            {[]report.Result{must(report.Passed), must(report.Failed)}, nil, report.NotConformant},
		"a failure and an err": {[]report.Result{must(report.Failed), must(report.Errored)}, nil, report.NotConformant},
		"an error":             {[]report.Result{must(report.Passed), must(report.Errored)}, nil, report.Undecided},
		"only skips":           {[]report.Result{must(report.Skipped), must(report.Warned)}, nil, report.Undecided},
		"nothing":              {nil, nil, report.Undecided},
		"known and passes":     {[]report.Result{must(report.Passed), must(report.Failed)}, report.NewBaseline("a.fail"), report.Conformant},
		"known and nothing":    {[]report.Result{must(report.Failed)}, report.NewBaseline("a.fail"), report.Undecided},
		"stale":                {[]report.Result{must(report.Passed)}, report.NewBaseline("a.pass"), report.NotConformant},
		"stale by a warning":   {[]report.Result{must(report.Passed), must(report.Warned)}, report.NewBaseline("a.warn"), report.NotConformant},
		"known could not tell": {[]report.Result{must(report.Passed), must(report.Errored)}, report.NewBaseline("a.error"), report.Undecided},
		"no funded budget": {[]report.Result{must(report.Passed), {ID: "a.b", Outcome: report.Skipped, Lacks: []string{"funded"}}},
			nil, report.Undecided},
		"no capped budget": {[]report.Result{must(report.Passed), {ID: "a.b", Outcome: report.Skipped, Lacks: []string{"capped"}}},
			nil, report.Conformant},
		"in the list, not here": {[]report.Result{must(report.Passed)}, report.NewBaseline("a.fail"), report.Conformant},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report.Report{Results: c.results}
			r.Judge(c.baseline, exists)
			assert.Equal(t, c.want, r.Verdict)
			assert.Equal(t, len(c.results), r.Counts.Total())
		})
	}
}

func TestInterruptedRunIsUndecided(t *testing.T) {
	r := &report.Report{Interrupted: true, Results: []report.Result{{ID: "a.b", Outcome: report.Passed}}}
	r.Judge(nil, nil)
	assert.Equal(t, report.Undecided, r.Verdict)
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("../report.schema.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("report.schema.json", doc))
	s, err := c.Compile("report.schema.json")
	require.NoError(t, err)
	return s
}

func TestJSONKeepsItsSchema(t *testing.T) {
	s := schema(t)
	text := written(t, full().WriteJSON)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	assert.NoError(t, s.Validate(value))

	var back report.Report
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&back))
	assert.Equal(t, full(), &back, "nothing is lost")
}

func TestSchemaRefusesWhatIsNoReport(t *testing.T) {
	s := schema(t)
	for name, spoil := range map[string]func(*report.Report){
		"no results":            func(r *report.Report) { r.Results = nil },
		"unknown outcome":       func(r *report.Report) { r.Results[0].Outcome = "meh" },
		"failure without got":   func(r *report.Report) { r.Results[0].Got = "" },
		"skip without reason":   func(r *report.Report) { r.Results[5].Reason = "" },
		"pass that lacks":       func(r *report.Report) { r.Results[2].Lacks = []string{"frozen"} },
		"known pass":            func(r *report.Report) { r.Results[2].Known = true },
		"unknown verdict":       func(r *report.Report) { r.Verdict = "fine" },
		"exchange of two minds": func(r *report.Report) { r.Results[0].Exchanges[0].Error = "none" },
		"exchange of none":      func(r *report.Report) { r.Results[0].Exchanges[0].Status = 0 },
		"id without area":       func(r *report.Report) { r.Results[0].ID = "nope" },
	} {
		r := full()
		spoil(r)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(written(t, r.WriteJSON)))
		require.NoError(t, err)
		assert.Error(t, s.Validate(value), name)
	}
}

func TestBadgeTellsTheVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		edit           func(*report.Report)
		message, color string
	}{
		"failures":   {func(*report.Report) {}, "runtime: 3 failures", "red"},
		"undecided":  {func(r *report.Report) { r.Verdict = report.Undecided }, "runtime: undecided", "lightgrey"},
		"conformant": {func(r *report.Report) { r.Verdict, r.Counts = report.Conformant, report.Counts{Pass: 3} }, "runtime: conformant", "brightgreen"},
		"warnings":   {func(r *report.Report) { r.Verdict, r.Counts = report.Conformant, report.Counts{Pass: 3, Warn: 1} }, "runtime: conformant", "yellow"},
		"known":      {func(r *report.Report) { r.Verdict, r.Counts = report.Conformant, report.Counts{Pass: 3, Known: 1} }, "runtime: 1 failure", "yellow"},
		"legacy": {func(r *report.Report) {
			r.Legacy, r.Verdict, r.Counts = true, report.Conformant, report.Counts{Pass: 3}
		}, "runtime (0.1.25): conformant", "brightgreen"},
	} {
		t.Run(name, func(t *testing.T) {
			r := full()
			c.edit(r)
			var badge struct {
				SchemaVersion         int
				Label, Message, Color string
			}
			require.NoError(t, json.Unmarshal([]byte(written(t, r.WriteBadge)), &badge))
			assert.Equal(t, 1, badge.SchemaVersion)
			assert.Equal(t, "Cycles 0.1.25.16", badge.Label)
			assert.Equal(t, c.message, badge.Message)
			assert.Equal(t, c.color, badge.Color)
		})
	}
}

func TestHTMLIsOnePageThatNeedsNothingElse(t *testing.T) {
	page := written(t, full().WriteHTML)
	for _, m := range regexp.MustCompile(`(?i)(?:src|action)\s*=|href\s*=\s*.[^#]|url\(|@import|<link|<iframe|<img`).FindAllString(page, -1) {
		t.Errorf("the page refers to something: %q", m)
	}
	assert.NotContains(t, page, "<script>alert", "what the server said is no markup")
	assert.NotContains(t, page, "my <server>")
	assert.Equal(t, 1, strings.Count(page, "<script>"))
	for _, id := range []string{"extend.fails", "commit.errs", "commit.warns", "contract.decide", "extend.passes", "commit.skips"} {
		assert.Contains(t, page, `<span class="id">`+id)
	}
	for _, text := range []string{"my &lt;server&gt; 1.2", "not conformant", "It must &amp; will.", "the target lacks fixture frozen", "curl -i -X POST", "extend.gone", "2026-03-01 12:00:00 UTC"} {
		assert.Contains(t, page, text)
	}
	assert.Less(t, strings.Index(page, `id="extend.fails"`), strings.Index(page, `id="commit.errs"`), "failures come first")
	assert.NotContains(t, page, "ZgotmplZ", "the template refused a value")
}

func TestTextPutsFailuresFirstAndCannotSteerTheTerminal(t *testing.T) {
	text := written(t, func(w io.Writer) error { return full().WriteText(w, report.TextOptions{}) })
	var at []int
	for _, part := range []string{
		"FAILED (2)", "  extend\n", "extend.fails  MUST, extend, lines 3, 9", "expected  404 NOT_FOUND", "see it    curl -i", "decide 200 body is wrong (3 answers, first in a.b)",
		"COULD NOT TELL (1)", "reason    connection refused", "WARNINGS (1)", "SKIPPED (1)", "the target lacks fixture frozen: commit.skips", "STALE IN THE BASELINE (2)",
		"not judged: extend.later", "my <server> 1.2, judged by Cycles 0.1.25.16, profile runtime: NOT CONFORMANT", "1 passed, 2 failed, 1 known failure, 1 warning, 1 skipped, 1 error; 7 requests in 2.5 s",
	} {
		i := strings.Index(text, part)
		require.GreaterOrEqual(t, i, 0, "%q is not in\n%s", part, text)
		at = append(at, i)
	}
	assert.IsIncreasing(t, at)
	assert.NotContains(t, text, "\x1b")

	colored := written(t, func(w io.Writer) error { return full().WriteText(w, report.TextOptions{Color: true, All: true}) })
	assert.Contains(t, colored, "\x1b[31;1mFAILED")
	assert.NotContains(t, colored, "\x1b[31mred", "that one is the server's")
	assert.Contains(t, colored, "extend.passes")
}

func TestReportThatCannotBeWrittenSaysSo(t *testing.T) {
	for _, write := range []func(io.Writer) error{
		full().WriteJSON, full().WriteJUnit, full().WriteHTML, full().WriteBadge, full().WriteBaseline,
		func(w io.Writer) error { return full().WriteText(w, report.TextOptions{}) },
	} {
		assert.ErrorIs(t, write(fullDisk{}), errDisk)
	}
}

var errDisk = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

func TestBaselineIsReadBackAsItWasWritten(t *testing.T) {
	text := written(t, full().WriteBaseline)
	b, err := report.ReadBaseline(strings.NewReader(text + "\n\n  # a comment\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"extend.fails", "extend.known", "contract.decide"}, b.IDs())
}

func TestBaselineThatCannotBeMeant(t *testing.T) {
	for name, text := range map[string]string{"two on a line": "a.b a.c", "twice": "a.b\na.b"} {
		_, err := report.ReadBaseline(strings.NewReader(text))
		assert.Error(t, err, name)
	}
}
