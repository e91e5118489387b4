package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const trace = "0af7651916cd43dd8448eb211c80319c"

// little is a server that keeps as much of the protocol as the tests of the
// engine look at. answer, when set, goes first and may take the request over.
type little struct {
	answer func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	made     []string
	released []string
	requests int
}

func (l *little) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.requests++
	l.mu.Unlock()
	if l.answer != nil && l.answer(w, r) {
		return
	}
	verb := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.Header.Get("X-Cycles-API-Key") == "" || strings.HasPrefix(r.Header.Get("X-Cycles-API-Key"), "wrong"):
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED")
	case r.Method == http.MethodPost && verb == "reservations":
		l.create(w, r)
	case verb == "release":
		id := strings.Split(r.URL.Path, "/")[3]
		l.mu.Lock()
		l.released = append(l.released, id)
		l.mu.Unlock()
		say(w, http.StatusOK, `{"status":"RELEASED","released":{"unit":"TOKENS","amount":1}}`)
	case verb == "commit":
		say(w, http.StatusOK, `{"status":"COMMITTED","charged":{"unit":"TOKENS","amount":1}}`)
	case verb == "balances":
		say(w, http.StatusOK, `{"balances":[]}`)
	default:
		refuse(w, http.StatusNotFound, "NOT_FOUND")
	}
}

func (l *little) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Key string `json:"idempotency_key"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Key == "" {
		refuse(w, http.StatusBadRequest, "INVALID_REQUEST")
		return
	}
	l.mu.Lock()
	id := fmt.Sprintf("rsv-%d", len(l.made)+1)
	l.made = append(l.made, id)
	l.mu.Unlock()
	say(w, http.StatusOK, `{"decision":"ALLOW","reservation_id":"`+id+`","affected_scopes":["tenant:acme"],"expires_at_ms":60000,"remaining_ttl_ms":60000}`)
}

func (l *little) open() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []string
	for _, id := range l.made {
		if !slices.Contains(l.released, id) {
			open = append(open, id)
		}
	}
	return open
}

func say(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Cycles-Trace-Id", trace)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	say(w, status, `{"error":"`+code+`","message":"no","request_id":"r1","trace_id":"`+trace+`"}`)
}

// acme is a target with a funded budget.
func acme(h http.Handler) Target {
	return Target{
		Name: "little", Version: "1", Handler: h,
		A: target.Tenant{ID: "acme", APIKey: "secret-of-acme"},
		Fixtures: []*target.Fixture{{
			Kind:    target.Funded,
			Budgets: []*target.Budget{{Subject: map[string]string{"tenant": "acme"}, Unit: "TOKENS", Allocated: 1000}},
		}},
	}
}

// check makes a check that needs a funded budget and may do anything that the
// core profile has.
func check(id string, run func(ctx context.Context, t *suite.T), edit ...func(*suite.Check)) suite.Check {
	c := suite.Check{
		ID: id, Level: suite.Must, Section: "TEST", Requirement: "It is as the test wants it.",
		Needs: []target.Kind{target.Funded}, Ops: Core.operations(), Run: run,
	}
	for _, e := range edit {
		e(&c)
	}
	return c
}

func waits(c *suite.Check) { c.Waits = true }

func needs(kinds ...target.Kind) func(*suite.Check) {
	return func(c *suite.Check) { c.Needs = kinds }
}

func passing(context.Context, *suite.T) {}

// judge runs the checks and wants a report.
func judge(t *testing.T, target Target, o Options, checks ...suite.Check) *Report {
	t.Helper()
	rep, err := run(t.Context(), checks, target, o)
	require.NoError(t, err)
	return rep
}

// only is the result of a run with one check.
func only(t *testing.T, rep *Report) report.Result {
	t.Helper()
	require.Len(t, rep.Results, 1)
	return rep.Results[0]
}

// result is the result of the check with that id.
func result(t *testing.T, rep *Report, id string) report.Result {
	t.Helper()
	i := slices.IndexFunc(rep.Results, func(r report.Result) bool { return r.ID == id })
	require.GreaterOrEqual(t, i, 0, "no result of %s", id)
	return rep.Results[i]
}

// stopped is a clock that moves on command and remembers where it stood.
type stopped struct {
	mu    sync.Mutex
	at    time.Time
	moves []time.Duration
	err   error
}

func (c *stopped) Now(context.Context) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, nil
}

func (c *stopped) Advance(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.at = c.at.Add(d)
	c.moves = append(c.moves, d)
	return nil
}
