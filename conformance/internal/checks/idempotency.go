package checks

import (
	"context"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// idempotency is about whose key it is: the header and the body, the payload
// that belongs to a key, and how far a key reaches.
func idempotency() []suite.Check {
	var all []suite.Check
	for _, c := range calls() {
		all = append(all, headerMismatch(c), headerMatch(c), mismatch(c))
	}
	return append(all, keyReach()...)
}

func headerMismatch(c call) suite.Check {
	return suite.Check{
		ID:          "idempotency.header-mismatch-" + c.name,
		Level:       suite.Must,
		Section:     "IDEMPOTENCY",
		Lines:       []int{179, 513},
		Requirement: "A request whose X-Idempotency-Key is not the key in its body is refused and changes nothing.",
		Needs:       []target.Kind{target.Funded},
		Ops:         c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.Funded))
			a := t.Do(ctx, r.WithHeader(suite.HeaderIdempotency, t.Name()))
			// The text gives no status for it. 400 is what a request that
			// contradicts itself gets; a mismatch is not what this is.
			if t.WantOneOf(a, suite.ErrorCase{Status: http.StatusBadRequest, Code: "INVALID_REQUEST"},
				suite.ErrorCase{Status: http.StatusConflict, Code: "IDEMPOTENCY_MISMATCH"}) == 1 {
				t.WarnAt(a, "400 INVALID_REQUEST", suite.Describe(a))
			}
			c.stillWorks(ctx, t, r)
		},
	}
}

func headerMatch(c call) suite.Check {
	return suite.Check{
		ID:          "idempotency.header-match-" + c.name,
		Level:       suite.Must,
		Section:     "IDEMPOTENCY",
		Lines:       []int{179, 513},
		Requirement: "A request whose X-Idempotency-Key is the key in its body is taken.",
		Needs:       []target.Kind{target.Funded},
		Ops:         c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.Funded))
			c.succeeded(t, t.Do(ctx, r.WithHeader(suite.HeaderIdempotency, r.Key())))
		},
	}
}

func mismatch(c call) suite.Check {
	return suite.Check{
		ID:          "idempotency.mismatch-" + c.name,
		Level:       suite.Must,
		Section:     "IDEMPOTENCY",
		Lines:       []int{191},
		Requirement: "A key that succeeded with one payload is refused with 409 IDEMPOTENCY_MISMATCH when it comes with another, and stays with the first.",
		Needs:       []target.Kind{target.Funded},
		Ops:         c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			first := c.first(ctx, t, t.Budget(target.Funded))
			for _, other := range c.others {
				a := t.Do(ctx, other(first.Request))
				t.WantError(a, http.StatusConflict, "IDEMPOTENCY_MISMATCH")
			}
			replay(ctx, t, first)
		},
	}
}

func keyReach() []suite.Check {
	const section = "IDEMPOTENCY"
	return []suite.Check{
		{
			ID:          "idempotency.header-alone",
			Level:       suite.Must,
			Section:     "ReservationCreateRequest",
			Lines:       []int{1174},
			Requirement: "The header does not stand in for the key in the body, which every request needs.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				a := t.Do(ctx, r.Without("idempotency_key").WithHeader(suite.HeaderIdempotency, r.Key()))
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				t.WantAllowed(t.Do(ctx, r))
			},
		},
		{
			ID:          "idempotency.per-tenant",
			Level:       suite.Must,
			Section:     section,
			Lines:       []int{180, 514},
			Requirement: "Two tenants may use the same key, each for its own request.",
			Needs:       []target.Kind{target.TenantB, target.Funded, target.FundedB},
			Ops:         []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				first := t.Do(ctx, t.Create(t.Budget(target.Funded), 1))
				t.WantAllowed(first)
				theirs := t.Create(t.Budget(target.FundedB), 2).With("idempotency_key", first.Request.Key())
				second := t.Do(ctx, theirs)
				t.WantAllowed(second)
				t.True(second, t.WantString(second, "reservation_id") != t.WantString(first, "reservation_id"),
					"a reservation of its own for each tenant", "both got %s", first.Str("reservation_id"))
				replay(ctx, t, first)
				replay(ctx, t, second)
			},
		},
		{
			ID:          "idempotency.per-endpoint",
			Level:       suite.Must,
			Section:     section,
			Lines:       []int{180, 514},
			Requirement: "One key may be used once on each endpoint: create, extend and commit do not meet in it.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create, suite.Extend, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				key := res.Create.Key()
				a := t.Do(ctx, t.Extend(res, 1000).With("idempotency_key", key))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "ACTIVE")
				a = t.Do(ctx, t.Commit(res, 1).With("idempotency_key", key))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "COMMITTED")
				replay(ctx, t, res.Created)
			},
		},
		{
			ID:          "idempotency.per-endpoint-event",
			Level:       suite.Must,
			Section:     section,
			Lines:       []int{180, 514},
			Requirement: "One key may be used once on each endpoint: decide, create, commit and event do not meet in it.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Decide, suite.Create, suite.Commit, suite.Event},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				res := t.Reserve(ctx, b, 2)
				key := res.Create.Key()
				t.WantAllowed(t.Do(ctx, t.Decide(b, 2).With("idempotency_key", key)))
				a := t.Do(ctx, t.Commit(res, 1).With("idempotency_key", key))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "status", "COMMITTED")
				a = t.Do(ctx, t.Event(b, 1).With("idempotency_key", key))
				t.WantStatus(a, http.StatusCreated)
				t.Want(a, "status", "APPLIED")
			},
		},
		{
			ID:          "idempotency.whole-key",
			Level:       suite.Must,
			Section:     section,
			Lines:       []int{180, 755},
			Requirement: "Keys of up to 256 characters are taken and compared as a whole: two that differ in the last character are two.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				key := t.Name()
				key += strings.Repeat("k", 255-len(key))
				wantTwo(ctx, t, key+"1", key+"2")
			},
		},
		{
			ID:          "idempotency.key-case",
			Level:       suite.Must,
			Section:     section,
			Lines:       []int{180},
			Requirement: "Keys are compared exactly: two that differ in case are two.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				key := t.Name()
				wantTwo(ctx, t, key+"-x", key+"-X")
			},
		},
	}
}

// wantTwo wants two keys to make two reservations.
func wantTwo(ctx context.Context, t *suite.T, key, other string) {
	b := t.Budget(target.Funded)
	first := t.Do(ctx, t.Create(b, 1).With("idempotency_key", key))
	t.WantAllowed(first)
	second := t.Do(ctx, t.Create(b, 1).With("idempotency_key", other))
	t.WantAllowed(second)
	t.True(second, t.WantString(second, "reservation_id") != t.WantString(first, "reservation_id"),
		"two reservations for two keys", "both got %s", first.Str("reservation_id"))
	replay(ctx, t, first)
}
