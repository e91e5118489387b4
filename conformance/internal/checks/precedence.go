package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// precedence is about requests that could be refused for several reasons. Where
// the text puts one first the check is a MUST; where only the usual order of
// things does, it is a SHOULD. What goes before what among the obstacles of a
// reservation is in obstacles.go, a closed tenant's precedence in closure.go, that
// of a replay in replay.go.
func precedence() []suite.Check {
	return slices.Concat(finalizedFirst(), strangersFirst())
}

func finalizedFirst() []suite.Check {
	const section = "ERROR SEMANTICS"
	finalized := func(t *suite.T, a *suite.Answer) { t.WantError(a, http.StatusConflict, "RESERVATION_FINALIZED") }
	return []suite.Check{
		{
			ID: "precedence.finalized-before-clock", Level: suite.Must, Section: section, Lines: []int{133, 2552},
			Requirement: "A committed or released reservation stays finalized when its time is over: 409 RESERVATION_FINALIZED, not 410.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.Extend}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				short := []edit{with("ttl_ms", 1000), with("grace_period_ms", 0)}
				committed, released := t.Reserve(ctx, b, 2, short...), t.Reserve(ctx, b, 2, short...)
				t.Given(t.Do(ctx, t.Commit(committed, 1)), http.StatusOK)
				t.Given(t.Do(ctx, t.Release(released)), http.StatusOK)
				t.WaitUntil(ctx, released.Ends.Add(lag))
				for _, res := range []*suite.Reservation{committed, released} {
					finalized(t, t.Do(ctx, t.Commit(res, 1)))
					finalized(t, t.Do(ctx, t.Release(res)))
					finalized(t, t.Do(ctx, t.Extend(res, 1000)))
				}
			},
		},
		{
			ID: "precedence.finalized-before-budget", Level: suite.Must, Section: section, Lines: []int{133},
			Requirement: "A commit of a finalized reservation is refused for that, not for its amount.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, 2, with("overage_policy", "REJECT"))
				t.Given(t.Do(ctx, t.Commit(res, 1)), http.StatusOK)
				finalized(t, t.Do(ctx, t.Commit(res, b.Allocated*10)))
			},
		},
	}
}

func strangersFirst() []suite.Check {
	const section = "AUTH & TENANCY"
	return []suite.Check{
		{
			ID: "precedence.stranger-before-state", Level: suite.Must, Section: section, Lines: []int{48, 2425},
			Requirement: "A stranger learns nothing of a reservation's state: 403 FORBIDDEN also when it is finalized, for a commit, a release and an extend.",
			Needs:       []target.Kind{target.TenantB, target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				t.Given(t.Do(ctx, t.Commit(res, 1)), http.StatusOK)
				for _, r := range []*suite.Request{t.Commit(res, 1), t.Release(res), t.Extend(res, 1000)} {
					t.WantError(t.Do(ctx, r.As(t.TenantB())), http.StatusForbidden, "FORBIDDEN")
				}
			},
		},
		{
			ID: "precedence.tenant-before-budget", Level: suite.Must, Section: section, Lines: []int{45, 46},
			Requirement: "A subject of another tenant is refused with 403 FORBIDDEN also when it has no budget, when the amount is beyond any, and when the unit is wrong.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				foreign := with("subject.tenant", t.Name())
				for _, r := range []*suite.Request{
					t.Create(b, 1).With("subject.workspace", t.Name()), t.Create(b, 1<<62), t.Create(b, 1).With("estimate.unit", otherUnits(b)[0]),
				} {
					t.WantError(t.Do(ctx, foreign(r)), http.StatusForbidden, "FORBIDDEN")
				}
				t.WantAllowed(t.Do(ctx, t.Create(b, 1)))
			},
		},
		{
			ID: "precedence.key-before-body", Level: suite.Should, Section: section, Lines: []int{36},
			Requirement: "Who comes without a key is told so, 401, and nothing about the body.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				for _, body := range []string{`{`, `{}`, `[]`} {
					t.WantError(t.Do(ctx, r.Raw(body).WithoutKey()), http.StatusUnauthorized, "UNAUTHORIZED")
				}
				t.WantAllowed(t.Do(ctx, r))
			},
		},
		{
			ID: "precedence.body-before-tenant", Level: suite.Should, Section: section, Lines: []int{45},
			Requirement: "A body that breaks its schema is refused with 400 INVALID_REQUEST before anything is looked up.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				a := t.Do(ctx, r.With("subject.tenant", t.Name()).Without("estimate"))
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				t.WantAllowed(t.Do(ctx, r))
			},
		},
		{
			ID: "precedence.unknown-before-stranger", Level: suite.Must, Section: section, Lines: []int{139},
			Requirement: "A reservation that never existed is 404 NOT_FOUND for every tenant.",
			Needs:       []target.Kind{target.TenantB, target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				t.WantStatus(t.Do(ctx, t.Commit(t.Reserve(ctx, b, 1), 1)), http.StatusOK)
				res := t.Stranger(b)
				for _, tenant := range []target.Tenant{res.Tenant, t.TenantB()} {
					for _, r := range []*suite.Request{t.Commit(res, 1), t.Release(res), t.Extend(res, 1000)} {
						t.WantError(t.Do(ctx, r.As(tenant)), http.StatusNotFound, "NOT_FOUND")
					}
				}
			},
		},
	}
}
