package suite

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Outcome is how a check ended.
type Outcome = report.Outcome

// The outcomes.
const (
	Passed  = report.Passed
	Failed  = report.Failed
	Warned  = report.Warned
	Skipped = report.Skipped
	Errored = report.Errored
)

// Result is how one check ended and what it saw.
type Result struct {
	Outcome Outcome
	// Expected and Got say what was compared when the outcome is Failed or
	// Warned; Got alone says why it is Skipped or Errored.
	Expected, Got string
	// At is the exchange that decided, -1 when none did.
	At        int
	Exchanges []Exchange
}

// Exchange is one request of a check with its answer.
type Exchange struct {
	Request *Request
	// Answer is nil when none came; Err then says why.
	Answer *Answer
	Err    error
}

// verdict is what ends a check; it is panicked, so that a comparison in a
// helper ends the check and not the helper.
type verdict struct {
	outcome       Outcome
	expected, got string
	at            int
	decided       bool // at is set
}

func (t *T) stop(v verdict) { panic(v) }

func (t *T) record(r *Request, a *Answer, err error) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exchanges = append(t.exchanges, Exchange{Request: r, Answer: a, Err: err})
	return len(t.exchanges) - 1
}

// Execute runs an active check to its end and cleans up behind it, also when
// ctx is cancelled. It never panics.
func Execute(ctx context.Context, c *Check, env Env) Result {
	t := &T{check: c, env: env, open: make(map[string]string)}
	v := t.run(ctx)
	t.cleanup(ctx)

	t.mu.Lock()
	defer t.mu.Unlock()
	res := Result{Outcome: v.outcome, Expected: v.expected, Got: v.got, At: -1, Exchanges: t.exchanges}
	switch {
	case v.decided:
		res.At = v.at
	case v.outcome != Passed && v.outcome != Skipped:
		res.At = len(t.exchanges) - 1
	}
	return res
}

func (t *T) run(ctx context.Context) (v verdict) {
	defer func() {
		switch p := recover().(type) {
		case nil:
			v = verdict{outcome: Passed}
			if t.warning != nil {
				v = *t.warning
			}
		case verdict:
			v = p
		default:
			v = verdict{outcome: Errored, got: fmt.Sprintf("the check itself is broken: %v\n%s", p, debug.Stack())}
		}
	}()
	t.check.Run(ctx, t)
	return v
}

// cleanup releases what the check left open, whoever cancelled what. Its
// answers judge nothing: most reservations are settled already.
func (t *T) cleanup(ctx context.Context) {
	open := t.leftOpen()
	if len(open) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(t.env.CleanupTimeout, time.Second))
	defer cancel()
	for id, key := range open {
		r := t.release(id, target.Tenant{APIKey: key})
		if _, err := t.env.Backend.Do(ctx, r); err != nil && ctx.Err() != nil {
			return
		}
	}
}
