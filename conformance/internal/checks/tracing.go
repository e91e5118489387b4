package checks

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const traceSection = "CORRELATION AND TRACING"

// Trace ids that no server makes up.
const (
	traceOne   = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceTwo   = "0af7651916cd43dd8448eb211c80319c"
	spanOne    = "00f067aa0ba902b7"
	zeroTrace  = "00000000000000000000000000000000"
	zeroSpan   = "0000000000000000"
	goodParent = "00-" + traceOne + "-" + spanOne + "-01"
)

// tracing is about the trace id: where it comes from and where it shows.
func tracing() []suite.Check {
	return slices.Concat(traceEverywhere(), traceAdopted(), traceMalformed())
}

// traceForm is the form of a trace id; the one that is all zero is none.
var traceForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

func isTrace(id string) bool { return traceForm.MatchString(id) && id != zeroTrace }

func traceEverywhere() []suite.Check {
	return []suite.Check{
		{
			ID: "tracing.every-answer", Level: suite.Must, Section: traceSection, Lines: []int{236, 265, 284},
			Requirement: "Every answer, whatever its status, carries X-Cycles-Trace-Id: 32 lower-case hex digits, not all zero.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Request.Op == "" {
					return false, nil
				}
				if id := a.Header.Get(suite.HeaderTrace); !isTrace(id) {
					what := "is no trace id on a"
					if id == "" {
						what = "is absent from a"
					}
					return true, []suite.Wrong{{Where: string(a.Request.Op) + " " + suite.HeaderTrace, What: fmt.Sprintf("%s %d", what, a.Status)}}
				}
				return true, nil
			},
		},
		{
			ID: "tracing.generated", Level: suite.Must, Section: traceSection, Lines: []int{251, 253},
			Requirement: "A request that brings no trace id gets a new one, and so does each further request, a replay too.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				seen := map[string]bool{}
				for range 3 {
					a := t.Do(ctx, r)
					t.WantAllowed(a)
					id := a.Header.Get(suite.HeaderTrace)
					t.True(a, isTrace(id) && !seen[id], "a trace id that no other answer has", "%q", id)
					seen[id] = true
				}
			},
		},
		{
			ID: "tracing.replay", Level: suite.Must, Section: traceSection, Lines: []int{245, 265},
			Requirement: "The answer to a replay carries the trace id of the replaying request, not of the first.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				for _, trace := range []string{traceOne, traceTwo} {
					a := t.Do(ctx, r.WithHeader(suite.HeaderTrace, trace))
					t.WantAllowed(a)
					t.WantHeader(a, suite.HeaderTrace, trace)
				}
			},
		},
		{
			ID: "tracing.refusals", Level: suite.Must, Section: traceSection, Lines: []int{245, 265, 269},
			Requirement: "A refusal takes up the trace of its request like a success does, header and body, whether it is a 400, 401, 403, 404 or 409.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				create := t.Create(b, 1)
				res := t.Reserve(ctx, b, 1)
				t.Given(t.Do(ctx, t.Release(res)), http.StatusOK)
				refused := map[int]*suite.Request{
					http.StatusBadRequest:   create.Without("action"),
					http.StatusUnauthorized: create.WithoutKey(),
					http.StatusForbidden:    create.With("subject.tenant", t.Name()),
					http.StatusNotFound:     t.Commit(t.Stranger(b), 1),
					http.StatusConflict:     t.Commit(res, 1),
				}
				for status, r := range refused {
					a := t.Do(ctx, r.WithHeader(suite.HeaderParent, goodParent))
					t.Given(a, status)
					t.WantHeader(a, suite.HeaderTrace, traceOne)
					t.Want(a, "trace_id", traceOne)
				}
			},
		},
	}
}

// traceAdopted has the trace ids that are taken from the request.
func traceAdopted() []suite.Check {
	var all []suite.Check
	for _, c := range slices.Concat(calls(), reads()) {
		all = append(all, suite.Check{
			ID: "tracing.adopted-" + c.name, Level: suite.Must, Section: traceSection, Lines: []int{236, 245, 249, 265},
			Requirement: "The answer carries the trace id that the request brought in traceparent, or else in X-Cycles-Trace-Id.",
			Needs:       []target.Kind{target.Funded}, Ops: c.ops,
			Run: func(ctx context.Context, t *suite.T) {
				for header, trace := range map[string]string{suite.HeaderParent: goodParent, suite.HeaderTrace: traceTwo} {
					r := c.ready(ctx, t, t.Budget(target.Funded))
					a := t.Do(ctx, r.WithHeader(header, trace))
					c.succeeded(t, a)
					t.WantHeader(a, suite.HeaderTrace, map[string]string{suite.HeaderParent: traceOne, suite.HeaderTrace: traceTwo}[header])
				}
			},
		})
	}
	return append(all,
		suite.Check{
			ID: "tracing.parent-wins", Level: suite.Must, Section: traceSection, Lines: []int{245, 260, 261},
			Requirement: "When traceparent and X-Cycles-Trace-Id disagree traceparent wins, and the request is not refused for it.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				a := t.Do(ctx, r.WithHeader(suite.HeaderParent, goodParent).WithHeader(suite.HeaderTrace, traceTwo))
				t.WantAllowed(a)
				t.WantHeader(a, suite.HeaderTrace, traceOne)
			},
		},
		suite.Check{
			ID: "tracing.any-flags", Level: suite.Must, Section: traceSection, Lines: []int{246},
			Requirement: "The flags of a traceparent do not matter: an unsampled trace is taken up like a sampled one.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				for _, flags := range []string{"00", "01", "03", "ff"} {
					a := t.Do(ctx, r.WithHeader(suite.HeaderParent, "00-"+traceOne+"-"+spanOne+"-"+flags))
					t.WantAllowed(a)
					t.WantHeader(a, suite.HeaderTrace, traceOne)
				}
			},
		},
	)
}

// traceMalformed has the headers that count as absent.
func traceMalformed() []suite.Check {
	var all []suite.Check
	parents := []struct{ name, about, value string }{
		{"garbage", "something else", "not-a-trace"},
		{"short", "a trace id that is too short", "00-" + traceOne[1:] + "-" + spanOne + "-01"},
		{"zero-trace", "a trace id of zeros", "00-" + zeroTrace + "-" + spanOne + "-01"},
		{"zero-span", "a span id of zeros", "00-" + traceOne + "-" + zeroSpan + "-01"},
		{"upper-case", "upper-case digits", "00-" + strings.ToUpper(traceOne) + "-" + spanOne + "-01"},
		{"other-version", "another version than 00", "01-" + traceOne + "-" + spanOne + "-01"},
		{"version-ff", "the version that is forbidden", "ff-" + traceOne + "-" + spanOne + "-01"},
		{"no-flags", "no flags", "00-" + traceOne + "-" + spanOne},
		{"trailing", "a field too many", goodParent + "-what"},
	}
	for _, p := range parents {
		all = append(all, malformedTrace("parent-"+p.name, "A traceparent with "+p.about, suite.HeaderParent, p.value, []int{246, 256, 258}))
	}
	plain := []struct{ name, about, value string }{
		{"garbage", "that is something else", "not-a-trace"},
		{"short", "that is too short", traceOne[1:]},
		{"long", "that is too long", traceOne + "0"},
		{"zero", "of zeros", zeroTrace},
		{"upper-case", "in upper case", strings.ToUpper(traceOne)},
		{"empty", "that is empty", ""},
	}
	for _, p := range plain {
		all = append(all, malformedTrace("header-"+p.name, "An X-Cycles-Trace-Id "+p.about, suite.HeaderTrace, p.value, []int{249, 256, 258}))
	}
	return all
}

func malformedTrace(name, about, header, value string, lines []int) suite.Check {
	return suite.Check{
		ID: "tracing.malformed-" + name, Level: suite.Must, Section: traceSection, Lines: lines,
		Requirement: about + " counts as absent: the request is served under the other header's trace id or a new one.",
		Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
		Run: func(ctx context.Context, t *suite.T) {
			r := t.Create(t.Budget(target.Funded), 1).WithHeader(header, value)
			a := t.Do(ctx, r)
			t.WantAllowed(a)
			id := a.Header.Get(suite.HeaderTrace)
			t.True(a, isTrace(id) && !strings.Contains(strings.ToLower(value), id), "a new trace id", "%q", id)
			other := r.WithHeader(suite.HeaderTrace, traceTwo)
			if header == suite.HeaderTrace {
				other = r.WithHeader(suite.HeaderParent, "00-"+traceTwo+"-"+spanOne+"-01")
			}
			a = t.Do(ctx, other)
			t.WantAllowed(a)
			t.WantHeader(a, suite.HeaderTrace, traceTwo)
		},
	}
}
