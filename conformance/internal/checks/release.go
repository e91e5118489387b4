package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// release is about giving reservations back.
func release() []suite.Check {
	return slices.Concat(releaseChecks(), finality("release", 133, func(ctx context.Context, t *suite.T, res *suite.Reservation) {
		released(ctx, t, res)
	}))
}

// released sends a release that must give all back.
func released(ctx context.Context, t *suite.T, res *suite.Reservation) *suite.Answer {
	a := t.Do(ctx, t.Release(res))
	t.WantStatus(a, http.StatusOK)
	t.Want(a, "status", "RELEASED")
	t.Want(a, "released.amount", res.Amount)
	t.Want(a, "released.unit", res.Budget.Unit)
	return a
}

func releaseChecks() []suite.Check {
	ops := []suite.Op{suite.Create, suite.Release}
	return []suite.Check{
		{
			ID: "release.gives-back", Level: suite.Must, Section: "releaseReservation", Lines: []int{1503, 2459},
			Requirement: "A release gives the whole amount back, which can be reserved again.",
			Needs:       []target.Kind{target.Ledger}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, b.Allocated)
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "BUDGET_EXCEEDED")
				released(ctx, t, res)
				reserved(ctx, t, t.Create(b, b.Allocated))
			},
		},
		{
			ID: "release.all-scopes", Level: suite.Must, Section: "releaseReservation", Lines: []int{59, 2459},
			Requirement: "A release gives back to every budget that the reservation holds, and spends nothing.",
			Needs:       []target.Kind{target.Nested}, Ops: append(createAndBooks(), suite.Release),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Nested).Budgets
				want := []suite.Books{t.Books(ctx, budgets[0]), t.Books(ctx, budgets[1])}
				released(ctx, t, t.Reserve(ctx, budgets[1], 10))
				for i, b := range budgets {
					t.WantBooks(ctx, b, want[i])
				}
			},
		},
		{
			ID: "release.only-its-own", Level: suite.Must, Section: "releaseReservation", Lines: []int{1302, 2459},
			Requirement: "A release settles the reservation that it names and leaves others on the same budget held.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Release, suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				first, second := t.Reserve(ctx, b, 20), t.Reserve(ctx, b, 30)
				want := t.Books(ctx, b)
				released(ctx, t, first)
				want.Remaining, want.Reserved = want.Remaining+20, want.Reserved-20
				t.WantBooks(ctx, b, want)
				committed(ctx, t, second, 30)
			},
		},
		{
			ID: "release.keeps-charges", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{61, 133},
			Requirement: "A release after a commit gives nothing back, and a commit after a release charges nothing.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Release, suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				spent, free := t.Reserve(ctx, b, 20), t.Reserve(ctx, b, 30)
				committed(ctx, t, spent, 20)
				released(ctx, t, free)
				want := t.Books(ctx, b)
				wantConflict(t, t.Do(ctx, t.Release(spent)), "RESERVATION_FINALIZED")
				wantConflict(t, t.Do(ctx, t.Commit(free, 30)), "RESERVATION_FINALIZED")
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "release.with-reason", Level: suite.Must, Section: "ReleaseRequest", Lines: []int{1497},
			Requirement: "A release may say why, in whatever words.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				for _, reason := range []string{"[INCIDENT_FORCE_RELEASE]", "caf\u00e9 \U0001f600", "a\r\nb"} {
					a := t.Do(ctx, t.Release(t.Reserve(ctx, t.Budget(target.Funded), 2)).With("reason", reason))
					t.WantStatus(a, http.StatusOK)
					t.Want(a, "status", "RELEASED")
					t.Want(a, "released.amount", 2)
				}
			},
		},
		unknownReservation("release", ops, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Release(res) }),
	}
}
