package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// call is one way to change or ask something, for the requirements that hold
// for every operation with an idempotency key.
type call struct {
	// name stands in ids.
	name string
	ops  []suite.Op
	// line is where the document says of this operation that a replay returns
	// the original answer.
	line int
	// ready lays the ground on the budget and returns a request that is right in
	// every way.
	ready func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request
	// succeeded wants an answer to be the success that ready asked for.
	succeeded func(t *suite.T, a *suite.Answer)
	// others make other payloads out of it, with the same key and as right.
	others []edit
}

// edit changes a request into another.
type edit = func(*suite.Request) *suite.Request

func edits(e ...edit) []edit { return e }

func with(path string, value any) edit {
	return func(r *suite.Request) *suite.Request { return r.With(path, value) }
}

func calls() []call {
	metadata := with("metadata", map[string]any{"other": "payload"})
	estimates := edits(with("estimate.amount", 3), with("action.name", "another"),
		with("subject.dimensions", map[string]any{"team": "other"}), metadata)
	return []call{
		{
			name: "create", ops: []suite.Op{suite.Create}, line: 1964,
			ready: func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request { return t.Create(b, 2) },
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantAllowed(a)
				t.WantString(a, "reservation_id")
				t.WantInt(a, "expires_at_ms")
			},
			others: slices.Concat(estimates, edits(with("ttl_ms", 45_000), with("overage_policy", "REJECT"), with("grace_period_ms", 1000))),
		},
		{
			name: "dry-run", ops: []suite.Op{suite.Create}, line: 1964,
			ready: func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.Create(b, 2).With("dry_run", true)
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantAllowed(a)
				t.WantAbsent(a, "reservation_id")
			},
			others: slices.Concat(estimates, edits(func(r *suite.Request) *suite.Request { return r.Without("dry_run") })),
		},
		{
			name: "decide", ops: []suite.Op{suite.Decide}, line: 1884,
			ready:     func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request { return t.Decide(b, 2) },
			succeeded: func(t *suite.T, a *suite.Answer) { t.WantAllowed(a) },
			others:    estimates,
		},
		{
			name: "event", ops: []suite.Op{suite.Event}, line: 2942,
			ready: func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request { return t.Event(b, 1) },
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusCreated)
				t.Want(a, "status", "APPLIED")
				t.WantString(a, "event_id")
			},
			others: edits(with("actual.amount", 2), with("action.name", "another"), with("metrics.tokens_input", 7), metadata),
		},
		{
			name: "commit", ops: []suite.Op{suite.Create, suite.Commit}, line: 2422,
			ready: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.Commit(t.Reserve(ctx, b, 2), 1)
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "COMMITTED")
				t.Want(a, "charged.amount", 1)
			},
			others: edits(with("actual.amount", 2), with("metrics.tokens_output", 7), metadata),
		},
		{
			name: "release", ops: []suite.Op{suite.Create, suite.Release}, line: 2462,
			ready: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.Release(t.Reserve(ctx, b, 2))
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "RELEASED")
				t.Want(a, "released.amount", 2)
			},
			others: edits(with("reason", "another")),
		},
		{
			name: "extend", ops: []suite.Op{suite.Create, suite.Extend}, line: 2537,
			ready: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.Extend(t.Reserve(ctx, b, 2), 1000)
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "ACTIVE")
				t.WantInt(a, "expires_at_ms")
			},
			others: edits(with("extend_by_ms", 2000), metadata),
		},
	}
}

// first sends the request as one that must succeed.
func (c call) first(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer {
	a := t.Do(ctx, c.ready(ctx, t, b))
	c.succeeded(t, a)
	return a
}

// replay sends the request of an answer again and wants the same answer, but
// for the time left, which is an observation.
func replay(ctx context.Context, t *suite.T, first *suite.Answer) *suite.Answer {
	again := t.Do(ctx, first.Request)
	t.WantSame(first, again, "remaining_ttl_ms")
	return again
}
