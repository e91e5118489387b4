package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// commit is about commits of at most what was reserved. More than that is in
// overage.go.
func commit() []suite.Check {
	return slices.Concat(commitCharges(), commitRefusals(), finality("commit", 133, func(ctx context.Context, t *suite.T, res *suite.Reservation) {
		committed(ctx, t, res, 1)
	}))
}

func commitOps(more ...suite.Op) []suite.Op {
	return append([]suite.Op{suite.Create, suite.Commit}, more...)
}

// committed sends a commit that must charge amount, and what is left over must
// be given back.
func committed(ctx context.Context, t *suite.T, res *suite.Reservation, amount int64) *suite.Answer {
	a := t.Do(ctx, t.Commit(res, amount))
	wantCommitted(t, a, amount, max(0, res.Amount-amount))
	return a
}

// wantCommitted wants an answer to be the success of a commit. What was given
// back may be left out; nothing may be told as absent or as 0.
func wantCommitted(t *suite.T, a *suite.Answer, charged, released int64) {
	t.WantStatus(a, http.StatusOK)
	t.Want(a, "status", "COMMITTED")
	t.Want(a, "charged.amount", charged)
	if a.Has("released") {
		t.Want(a, "released.amount", released)
	}
}

func commitCharges() []suite.Check {
	return []suite.Check{
		{
			ID: "commit.less", Level: suite.Must, Section: "commitReservation", Lines: []int{1470, 1478, 2418},
			Requirement: "A commit of less than was reserved charges what was used and gives the rest back, which can be reserved again, and no more than that.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				used := b.Allocated / 4
				a := committed(ctx, t, t.Reserve(ctx, b, b.Allocated/2), used)
				t.Want(a, "charged.unit", b.Unit)
				wantConflict(t, t.Do(ctx, t.Create(b, b.Allocated-used+1)), "BUDGET_EXCEEDED")
				reserved(ctx, t, t.Create(b, b.Allocated-used))
			},
		},
		{
			ID: "commit.exact", Level: suite.Must, Section: "commitReservation", Lines: []int{1470, 1478},
			Requirement: "A commit of what was reserved charges all of it and gives nothing back.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				committed(ctx, t, t.Reserve(ctx, b, b.Allocated), b.Allocated)
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "BUDGET_EXCEEDED")
			},
		},
		{
			ID: "commit.nothing", Level: suite.Must, Section: "commitReservation", Lines: []int{944, 2418},
			Requirement: "A commit of 0 charges nothing and gives all back.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				committed(ctx, t, t.Reserve(ctx, b, b.Allocated), 0)
				reserved(ctx, t, t.Create(b, b.Allocated))
			},
		},
		{
			ID: "commit.all-scopes", Level: suite.Must, Section: "CORE INVARIANTS", Lines: []int{59, 2418},
			Requirement: "A commit is charged to every budget that the reservation holds, and gives back to every one.",
			Needs:       []target.Kind{target.Nested}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Nested).Budgets
				var want []suite.Books
				for _, b := range budgets {
					books := t.Books(ctx, b)
					books.Remaining, books.Spent = books.Remaining-3, books.Spent+3
					want = append(want, books)
				}
				committed(ctx, t, t.Reserve(ctx, budgets[1], 10), 3)
				for i, b := range budgets {
					t.WantBooks(ctx, b, want[i])
				}
			},
		},
		{
			ID: "commit.only-its-own", Level: suite.Must, Section: "commitReservation", Lines: []int{1302, 2418},
			Requirement: "A commit settles the reservation that it names and leaves others on the same budget held.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				first, second := t.Reserve(ctx, b, 20), t.Reserve(ctx, b, 30)
				want := t.Books(ctx, b)
				committed(ctx, t, first, 15)
				want.Remaining, want.Reserved, want.Spent = want.Remaining+5, want.Reserved-20, want.Spent+15
				t.WantBooks(ctx, b, want)
				committed(ctx, t, second, 30)
				want.Reserved, want.Spent = want.Reserved-30, want.Spent+30
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "commit.once", Level: suite.Must, Section: "CORE INVARIANTS", Lines: []int{60, 61, 133},
			Requirement: "What is committed or refused after a commit is charged no second time, whatever its key and amount.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, 20)
				committed(ctx, t, res, 10)
				want := t.Books(ctx, b)
				for _, r := range []*suite.Request{t.Commit(res, 10), t.Commit(res, 0), t.Commit(res, 20), t.Release(res)} {
					wantConflict(t, t.Do(ctx, r), "RESERVATION_FINALIZED")
				}
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "commit.extended", Level: suite.Must, Section: "extendReservation", Lines: []int{2528, 2531},
			Requirement: "A reservation that was extended is committed like any other.",
			Needs:       []target.Kind{target.Funded}, Ops: commitOps(suite.Extend),
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 9)
				for range 2 {
					t.Given(t.Do(ctx, t.Extend(res, 1000)), http.StatusOK)
				}
				committed(ctx, t, res, 4)
			},
		},
	}
}

func commitRefusals() []suite.Check {
	return []suite.Check{
		unknownReservation("commit", commitOps(), func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Commit(res, 1) }),
		{
			ID: "commit.unit-mismatch", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{143, 146},
			Requirement: "A commit in another unit than the reservation's is refused with 400 UNIT_MISMATCH, also when there is a budget in that unit, and leaves the reservation open.",
			Needs:       []target.Kind{target.Twin}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Twin).Budgets
				res := t.Reserve(ctx, budgets[0], 5)
				want, other := t.Books(ctx, budgets[0]), t.Books(ctx, budgets[1])
				for _, unit := range otherUnits(budgets[0]) {
					a := t.Do(ctx, t.Commit(res, 5).With("actual.unit", unit))
					t.WantError(a, http.StatusBadRequest, "UNIT_MISMATCH")
				}
				t.WantBooks(ctx, budgets[0], want)
				t.WantBooks(ctx, budgets[1], other)
				committed(ctx, t, res, 5)
			},
		},
		{
			ID: "commit.unit-mismatch-open", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{143, 146},
			Requirement: "A commit in another unit than the reservation's is refused with 400 UNIT_MISMATCH, whatever the amount, and leaves the reservation open.",
			Needs:       []target.Kind{target.Funded}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				res := t.Reserve(ctx, b, 5)
				for _, amount := range []int64{0, 5, 1 << 40} {
					a := t.Do(ctx, t.Commit(res, amount).With("actual.unit", otherUnits(b)[0]))
					t.WantError(a, http.StatusBadRequest, "UNIT_MISMATCH")
				}
				committed(ctx, t, res, 5)
			},
		},
		{
			ID: "commit.unit-mismatch-details", Level: suite.Should, Section: "ERROR SEMANTICS", Lines: []int{153, 155, 156, 157},
			Requirement: "The refusal of a commit in a wrong unit says in details which scope it is about, which unit was asked for and which one it must be.",
			Needs:       []target.Kind{target.Funded}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				res := t.Reserve(ctx, b, 1)
				unit := otherUnits(b)[0]
				wantUnitDetails(t, t.Do(ctx, t.Commit(res, 1).With("actual.unit", unit)), b, unit)
			},
		},
	}
}

// unknownReservation is about an id that no reservation has, on commit, release
// and extend.
func unknownReservation(name string, ops []suite.Op, request func(*suite.T, *suite.Reservation) *suite.Request) suite.Check {
	lines := []int{139}
	if name == "extend" {
		lines = append(lines, 2554)
	}
	return suite.Check{
		ID: name + ".unknown-reservation", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: lines,
		Requirement: "A " + name + " of a reservation that never existed is refused with 404 NOT_FOUND.",
		Needs:       []target.Kind{target.Funded}, Ops: ops,
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.Funded)
			res := t.Reserve(ctx, b, 2)
			similar := *res
			similar.ID += "0"
			for _, unknown := range []*suite.Reservation{t.Stranger(b), &similar} {
				t.WantError(t.Do(ctx, request(t, unknown)), http.StatusNotFound, "NOT_FOUND")
			}
			t.WantStatus(t.Do(ctx, request(t, res)), http.StatusOK)
		},
	}
}

// finality is about what can still be done when a reservation is settled:
// nothing, and each attempt says so.
func finality(name string, line int, settle func(context.Context, *suite.T, *suite.Reservation)) []suite.Check {
	after := func(next string, ops []suite.Op, request func(*suite.T, *suite.Reservation) *suite.Request, lines ...int) suite.Check {
		return suite.Check{
			ID: name + ".then-" + next, Level: suite.Must, Section: "ERROR SEMANTICS", Lines: append([]int{line}, lines...),
			Requirement: "A " + next + " after a " + name + " is refused with 409 RESERVATION_FINALIZED.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				settle(ctx, t, res)
				wantConflict(t, t.Do(ctx, request(t, res)), "RESERVATION_FINALIZED")
			},
		}
	}
	return []suite.Check{
		after("commit", commitOps(), func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Commit(res, 1) }),
		after("release", commitOps(), func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Release(res) }),
		after("extend", commitOps(suite.Extend), func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Extend(res, 1000) }, 2533, 2552),
	}
}
