package checks_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/schema"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

var update = flag.Bool("update", false, "write the files in testdata and the table of coverage anew in place of comparing them")

// whole is every check for servers of the current edition, the passive ones
// and those of the contract among them.
type whole struct {
	checks []suite.Check
}

func wholeSuite(t testing.TB) whole {
	v, err := schema.New()
	require.NoError(t, err)
	var w whole
	for _, c := range checks.All() {
		if c.Edition != suite.LegacyOnly {
			w.checks = append(w.checks, c)
		}
	}
	for _, op := range v.Ops() {
		w.checks = append(w.checks, suite.Check{
			ID: "contract." + string(op), Level: suite.Must,
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Request.Op != op {
					return false, nil
				}
				return v.Answer(a)
			},
		})
	}
	return w
}

// active is the suite without its passive checks.
func (w whole) active() whole {
	return whole{slices.DeleteFunc(slices.Clone(w.checks), func(c suite.Check) bool { return c.Run == nil })}
}

// outcomes runs all of it, each check on a place of its own, and lets the
// passive ones see everything.
func (w whole) outcomes(t testing.TB, wrap defects.Wrap) map[string]suite.Outcome {
	var (
		mu       sync.Mutex
		outcomes = make(map[string]suite.Outcome)
		passive  []suite.Check
	)
	for _, c := range w.checks {
		if c.Watch != nil {
			passive = append(passive, c)
			outcomes[c.ID] = suite.Skipped
		}
	}
	for _, c := range w.checks {
		if c.Run == nil {
			continue
		}
		p := newPlace(t, mockserver.Policy{}, wrap)
		p.watched = func(a *suite.Answer) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range passive {
				switch judged, wrong := c.Watch(a); {
				case len(wrong) > 0 && c.Level == suite.Must:
					outcomes[c.ID] = suite.Failed
				case len(wrong) > 0:
					outcomes[c.ID] = suite.Warned
				case judged && outcomes[c.ID] == suite.Skipped:
					outcomes[c.ID] = suite.Passed
				}
			}
		}
		res := p.execute(t, c)
		mu.Lock()
		outcomes[c.ID] = res.Outcome
		mu.Unlock()
	}
	return outcomes
}

// constant answers everything alike.
func constant(status int, body string) defects.Wrap {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Content-Type", "application/json")
			h.Set("X-Request-Id", "r")
			h.Set(suite.HeaderTrace, "4bf92f3577b34da6a3ce929d0e0e4735")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
}

// A server that answers everything alike keeps nothing. The passive checks that
// look at one trait of all answers may pass: that trait is there.
func TestAServerThatAnswersEverythingAlikePassesNoActiveCheck(t *testing.T) {
	all := wholeSuite(t).active()
	refusal := func(code string) string {
		return fmt.Sprintf(`{"error":%q,"message":"no","request_id":"r","trace_id":"4bf92f3577b34da6a3ce929d0e0e4735"}`, code)
	}
	for _, c := range []struct {
		status int
		body   string
	}{
		{200, `{}`}, {201, `{}`}, {200, `{"reservations":[],"balances":[]}`}, {204, ``},
		{400, refusal("INVALID_REQUEST")}, {400, refusal("UNIT_MISMATCH")}, {401, refusal("UNAUTHORIZED")}, {403, refusal("FORBIDDEN")},
		{404, refusal("NOT_FOUND")}, {409, refusal("BUDGET_EXCEEDED")}, {409, refusal("RESERVATION_FINALIZED")},
		{410, refusal("RESERVATION_EXPIRED")}, {500, refusal("INTERNAL_ERROR")}, {302, ``},
	} {
		t.Run(fmt.Sprintf("%d %.40s", c.status, c.body), func(t *testing.T) {
			var passed []string
			outcomes := all.outcomes(t, constant(c.status, c.body))
			for _, check := range all.checks {
				if outcomes[check.ID] == suite.Passed {
					passed = append(passed, check.ID)
				}
			}
			assert.Empty(t, passed)
			assert.Contains(t, slices.Collect(maps.Values(outcomes)), suite.Failed)
		})
	}
}

// For the laziest of them not even a passive check may pass.
func TestAServerThatSaysYesToEverythingPassesNothing(t *testing.T) {
	lazy := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{}`))
		})
	}
	for id, outcome := range wholeSuite(t).outcomes(t, lazy) {
		assert.NotEqual(t, suite.Passed, outcome, id)
	}
}
