package report

import (
	"slices"
	"strings"
	"time"
)

// Level is how strongly the protocol puts a requirement.
type Level string

// The levels, after RFC 2119.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	// Passed: the server answered as required, for the reason under test.
	Passed Outcome = "pass"
	// Failed: a MUST was broken.
	Failed Outcome = "fail"
	// Warned: a SHOULD or MAY was not followed, or a MUST was kept in a way that
	// the protocol leaves open but does not suggest.
	Warned Outcome = "warn"
	// Skipped: the check does not apply, or a fixture is missing.
	Skipped Outcome = "skip"
	// Errored: the harness could not tell.
	Errored Outcome = "error"
)

// Verdict is what a run as a whole says.
type Verdict string

// The verdicts.
const (
	// Conformant: at least one check passed, and none failed or errored, known
	// failures of the baseline aside.
	Conformant Verdict = "conformant"
	// NotConformant: a MUST check failed that the baseline does not know, or the
	// baseline names failures that are none any more.
	NotConformant Verdict = "not conformant"
	// Undecided: nothing failed, but something could not be told, nothing was
	// judged at all, or next to nothing, for want of a funded budget.
	Undecided Verdict = "undecided"
)

// Report is what a run found.
type Report struct {
	// Implementation and Version are what was judged.
	Implementation string `json:"implementation"`
	Version        string `json:"version"`
	// Target is the base URL, or InMemory.
	Target string `json:"target"`
	// Protocol is the edition of the protocol that the checks were written from.
	Protocol string `json:"protocol"`
	// Profile is the set of operations that was asked for; Legacy says that the
	// server was judged as one of edition 0.1.25.
	Profile string `json:"profile"`
	Legacy  bool   `json:"legacy"`
	// Run names the run; it is part of every name the run made on the server.
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	// Seconds is how long the run took by the local clock.
	Seconds float64 `json:"seconds"`
	// Requests counts the complete answers.
	Requests int `json:"requests"`
	// Interrupted says that the run was cancelled before its end.
	Interrupted bool    `json:"interrupted,omitempty"`
	Verdict     Verdict `json:"verdict"`
	Counts      Counts  `json:"counts"`
	// Baseline is there when the run was compared with one.
	Baseline *Comparison `json:"baseline,omitempty"`
	// Results has one entry per selected check, in the order of the checks.
	Results []Result `json:"results"`
}

// Counts tells how many checks ended how. Known failures are counted apart and
// not as Fail.
type Counts struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Known int `json:"known"`
	Warn  int `json:"warn"`
	Skip  int `json:"skip"`
	Error int `json:"error"`
}

// Total is the number of checks.
func (c Counts) Total() int { return c.Pass + c.Fail + c.Known + c.Warn + c.Skip + c.Error }

// Result is how one check ended.
type Result struct {
	ID          string  `json:"id"`
	Level       Level   `json:"level"`
	Section     string  `json:"section"`
	Lines       []int   `json:"lines,omitempty"`
	Requirement string  `json:"requirement"`
	Outcome     Outcome `json:"outcome"`
	// Known says that the failure stands in the baseline.
	Known bool `json:"known,omitempty"`
	// Expected and Got are what was compared, for a failure or warning. Where
	// there are Findings, Got is the first of them in short.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Reason says why the check was skipped or could not tell.
	Reason string `json:"reason,omitempty"`
	// Lacks are the kinds of fixture and ability that it was skipped for.
	Lacks   []string `json:"lacks,omitempty"`
	Seconds float64  `json:"seconds"`
	// Findings are what a passive check saw, one per operation and member.
	Findings []Finding `json:"findings,omitempty"`
	// Decisive is the index in Exchanges of the one that decided, if one did.
	Decisive *int `json:"decisive,omitempty"`
	// Exchanges are what the check sent and got. Empty for a check that passed
	// or was skipped.
	Exchanges []Exchange `json:"exchanges,omitempty"`
}

// Area is the part of the id before the first dot.
func (r Result) Area() string {
	area, _, _ := strings.Cut(r.ID, ".")
	return area
}

// Finding is one thing that is wrong with the answers of an operation.
type Finding struct {
	Where string `json:"where"`
	What  string `json:"what"`
	// Count is in how many answers it was seen, Exchange the first of them.
	Count    int      `json:"count"`
	Check    string   `json:"check"`
	Exchange Exchange `json:"exchange"`
}

// Exchange is one request and its answer. Keys are replaced by the names of
// environment variables, so that Curl can be run by who has them.
type Exchange struct {
	Method          string   `json:"method"`
	URL             string   `json:"url"`
	RequestHeaders  []Header `json:"request_headers,omitempty"`
	RequestBody     string   `json:"request_body,omitempty"`
	Status          int      `json:"status,omitempty"`
	ResponseHeaders []Header `json:"response_headers,omitempty"`
	ResponseBody    string   `json:"response_body,omitempty"`
	// Error says why there was no complete answer.
	Error string `json:"error,omitempty"`
	// Milliseconds is the round trip.
	Milliseconds float64 `json:"milliseconds"`
	Curl         string  `json:"curl"`
}

// Header is one header field.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Judge counts the outcomes, compares with the baseline, which may be nil, and
// sets the verdict. exists tells whether there is a check of that id at all.
func (r *Report) Judge(b *Baseline, exists func(id string) bool) {
	if b != nil {
		r.Baseline = b.compare(r.Results, exists)
	}
	r.Counts = Counts{}
	for _, res := range r.Results {
		switch {
		case res.Known:
			r.Counts.Known++
		case res.Outcome == Passed:
			r.Counts.Pass++
		case res.Outcome == Failed:
			r.Counts.Fail++
		case res.Outcome == Warned:
			r.Counts.Warn++
		case res.Outcome == Skipped:
			r.Counts.Skip++
		default:
			r.Counts.Error++
		}
	}
	switch {
	case r.Counts.Fail > 0, r.Baseline != nil && len(r.Baseline.Stale) > 0:
		r.Verdict = NotConformant
	case r.Counts.Error > 0, r.Counts.Pass == 0, r.Interrupted, slices.Contains(r.lacks(), funded):
		r.Verdict = Undecided
	default:
		r.Verdict = Conformant
	}
}

// With returns the results that ended in one of the outcomes, known failures
// not among them.
func (r *Report) With(outcomes ...Outcome) []Result {
	var out []Result
	for _, res := range r.Results {
		if !res.Known && slices.Contains(outcomes, res.Outcome) {
			out = append(out, res)
		}
	}
	return out
}
