package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// overage is about commits of more than was reserved, under each of the three
// policies.
func overage() []suite.Check {
	return slices.Concat(overageReject(), overageAvailable(), overageOverdraft(), overageScopes())
}

func underPolicy(policy string) edit { return with("overage_policy", policy) }

func overageReject() []suite.Check {
	return []suite.Check{
		{
			ID: "overage.reject", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{64, 1141, 2418},
			Requirement: "Under REJECT a commit of more than was reserved is refused with 409 BUDGET_EXCEEDED, though enough is left, and changes nothing; the reservation can still be committed.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, 100, underPolicy("REJECT"))
				before := t.Books(ctx, b)
				for _, amount := range []int64{101, 200, b.Allocated * 2} {
					wantConflict(t, t.Do(ctx, t.Commit(res, amount)), "BUDGET_EXCEEDED")
				}
				t.WantBooks(ctx, b, before)
				committed(ctx, t, res, 100)
				before.Reserved, before.Spent = before.Reserved-100, before.Spent+100
				t.WantBooks(ctx, b, before)
			},
		},
		{
			ID: "overage.reject-open", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{64, 1141},
			Requirement: "Under REJECT a commit of more than was reserved is refused with 409 BUDGET_EXCEEDED and leaves the reservation open.",
			Needs:       []target.Kind{target.Funded}, Ops: commitOps(),
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2, underPolicy("REJECT"))
				wantConflict(t, t.Do(ctx, t.Commit(res, 3)), "BUDGET_EXCEEDED")
				committed(ctx, t, res, 2)
			},
		},
	}
}

func overageAvailable() []suite.Check {
	// more reserves 30 and commits more, which the budget covers or not.
	more := func(name, requirement string, lines []int, amount func(left int64) int64, edits ...edit) suite.Check {
		return suite.Check{
			ID: "overage." + name, Level: suite.Must, Section: "CommitOveragePolicy", Lines: lines, Requirement: requirement,
			Needs: []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				actual := amount(want.Remaining)
				charged := min(actual, want.Remaining)
				wantCommitted(t, t.Do(ctx, t.Commit(t.Reserve(ctx, b, 30, edits...), actual)), charged, 0)
				want.Remaining, want.Spent, want.OverLimit = want.Remaining-charged, want.Spent+charged, charged < actual
				t.WantBooks(ctx, b, want)
				if want.OverLimit {
					wantConflict(t, t.Do(ctx, t.Create(b, 0)), "OVERDRAFT_LIMIT_EXCEEDED")
				} else {
					reserved(ctx, t, t.Create(b, 0))
				}
			},
		}
	}
	covered := func(int64) int64 { return 50 }
	exact := func(left int64) int64 { return left }
	capped := func(left int64) int64 { return left + 500 }
	available := underPolicy("ALLOW_IF_AVAILABLE")
	return []suite.Check{
		more("available-covered", "Under ALLOW_IF_AVAILABLE a commit of more than was reserved, which the budget covers, is charged in full.",
			[]int{1146, 1473}, covered, available),
		more("default-covered", "A reservation that names no policy is treated under ALLOW_IF_AVAILABLE: what the budget covers is charged.",
			[]int{1145, 1223}, covered),
		more("available-exact", "Under ALLOW_IF_AVAILABLE a commit that takes exactly what is left is charged in full and does not take the scope over its limit.",
			[]int{1146, 1149}, exact, available),
		more("available-capped", "Under ALLOW_IF_AVAILABLE a commit of more than the budget covers is charged what there is, makes no debt and takes the scope over its limit, which refuses new reservations.",
			[]int{1147, 1149, 1150, 1324, 1474}, capped, available),
		more("default-capped", "A reservation that names no policy is treated under ALLOW_IF_AVAILABLE: the charge is capped and the commit not refused.",
			[]int{1145, 1147, 1223}, capped),
		{
			ID: "overage.available-nothing-left", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1145, 1147, 1150},
			Requirement: "Under ALLOW_IF_AVAILABLE a commit is never refused: with nothing left it is charged what was reserved.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				res := t.Reserve(ctx, b, want.Remaining, available)
				wantCommitted(t, t.Do(ctx, t.Commit(res, want.Remaining+1)), want.Remaining, 0)
				want.Spent, want.Remaining, want.OverLimit = want.Spent+want.Remaining, 0, true
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.available-held", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1147, 1302},
			Requirement: "What other reservations hold does not remain: an excess is not charged from it.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				t.Reserve(ctx, b, b.Allocated/2)
				res := t.Reserve(ctx, b, 10, available)
				want := t.Books(ctx, b)
				wantCommitted(t, t.Do(ctx, t.Commit(res, b.Allocated)), 10+want.Remaining, 0)
				want.Spent, want.Reserved, want.Remaining, want.OverLimit = want.Spent+10+want.Remaining, want.Reserved-10, 0, true
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.over-limit-settles", Level: suite.May, Section: "Balance", Lines: []int{1285},
			Requirement: "Reservations that were there before a scope went over its limit are committed and released as usual.",
			Needs:       []target.Kind{target.Ledger}, Ops: commitOps(suite.Release, suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				one, other := t.Reserve(ctx, b, 2), t.Reserve(ctx, b, 3)
				overdraw(ctx, t, b)
				committed(ctx, t, one, 2)
				released(ctx, t, other)
			},
		},
	}
}

// overageOverdraft works with nothing remaining beside the reservation, where
// all readings of the overdraft arithmetic agree. Where something remains, only
// what they have in common is compared.
func overageOverdraft() []suite.Check {
	overdraft := underPolicy("ALLOW_WITH_OVERDRAFT")
	needs, ops := []target.Kind{target.Overdraft}, commitOps(suite.Balances)
	return []suite.Check{
		{
			ID: "overage.overdraft-covered", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1152, 1270},
			Requirement: "Under ALLOW_WITH_OVERDRAFT a commit of more than was reserved, which the budget covers, is charged in full and makes no debt.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				want := t.Books(ctx, b)
				committed(ctx, t, t.Reserve(ctx, b, want.Remaining/2, overdraft), want.Remaining)
				want.Spent, want.Remaining = want.Spent+want.Remaining, 0
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.overdraft-debt", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1153, 1154, 1269, 1270, 1319},
			Requirement: "Under ALLOW_WITH_OVERDRAFT what the budget does not cover becomes debt, remaining goes below zero, and a debt of no more than the limit is not over it.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				want := t.Books(ctx, b)
				all, debt := want.Remaining, b.OverdraftLimit/2
				committed(ctx, t, t.Reserve(ctx, b, all, overdraft), all+debt)
				want.Spent, want.Debt, want.Remaining = want.Spent+all, debt, -debt
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.overdraft-at-limit", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{66, 1153, 1155, 1280, 1282},
			Requirement: "Under ALLOW_WITH_OVERDRAFT a commit that would take the debt beyond the overdraft limit is refused with 409 OVERDRAFT_LIMIT_EXCEEDED and changes nothing; one that takes it to the limit is not, and the scope is not over its limit.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				all := t.Books(ctx, b).Remaining
				res := t.Reserve(ctx, b, all, overdraft)
				want := t.Books(ctx, b)
				for _, beyond := range []int64{1, b.OverdraftLimit + 1} {
					wantConflict(t, t.Do(ctx, t.Commit(res, all+b.OverdraftLimit+beyond)), "OVERDRAFT_LIMIT_EXCEEDED")
				}
				t.WantBooks(ctx, b, want)
				committed(ctx, t, res, all+b.OverdraftLimit)
				want.Reserved, want.Spent, want.Debt, want.Remaining = 0, want.Spent+all, b.OverdraftLimit, -b.OverdraftLimit
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.overdraft-adds-up", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{66, 1153, 1155, 1280},
			Requirement: "The debt that there is counts: a second commit that would take the sum beyond the overdraft limit is refused with 409 OVERDRAFT_LIMIT_EXCEEDED, and one within it adds to the debt.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				want := t.Books(ctx, b)
				all := want.Remaining
				half, debt := all/2, b.OverdraftLimit*2/3
				first, second := t.Reserve(ctx, b, half, overdraft), t.Reserve(ctx, b, all-half, overdraft)
				committed(ctx, t, first, half+debt)
				want.Reserved, want.Spent, want.Debt, want.Remaining = all-half, want.Spent+half, debt, -debt
				t.WantBooks(ctx, b, want)
				wantConflict(t, t.Do(ctx, t.Commit(second, all-half+debt)), "OVERDRAFT_LIMIT_EXCEEDED")
				t.WantBooks(ctx, b, want)
				committed(ctx, t, second, all-half+1)
				want.Reserved, want.Spent, want.Debt, want.Remaining = 0, want.Spent+all-half, debt+1, -debt-1
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "overage.overdraft-partial", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1152, 1154, 1262},
			Requirement: "Under ALLOW_WITH_OVERDRAFT a commit that the budget covers in part is charged in full within the limit: what it took is spent or owed, and remaining is short by just that.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				before := t.Books(ctx, b)
				half, debt := before.Remaining/2, min(before.Remaining/4, b.OverdraftLimit/2)
				actual := before.Remaining + debt
				if actual-half > b.OverdraftLimit {
					// The whole excess must fit below the limit for every reading to allow it.
					half = actual - b.OverdraftLimit
				}
				a := committed(ctx, t, t.Reserve(ctx, b, half, overdraft), actual)
				books := t.Books(ctx, b)
				short := books.Remaining == before.Remaining-actual && books.Reserved == before.Reserved && !books.OverLimit
				split := books.Debt >= debt && books.Spent+books.Debt == before.Spent+actual
				t.True(a, short && (split || books.Hides.Spent || books.Hides.Debt),
					"all of the commit spent or owed, and remaining below zero by what was not there", "%s", books)
			},
		},
		{
			ID: "overage.overdraft-without-limit", Level: suite.Must, Section: "Balance", Lines: []int{1155, 1277, 1318},
			Requirement: "Without an overdraft limit nothing can be owed: ALLOW_WITH_OVERDRAFT is charged what there is, like ALLOW_IF_AVAILABLE, or refused with 409 OVERDRAFT_LIMIT_EXCEEDED.",
			Needs:       []target.Kind{target.Ledger}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				all := t.Books(ctx, b).Remaining
				res := t.Reserve(ctx, b, all, overdraft)
				want := t.Books(ctx, b)
				a := t.Do(ctx, t.Commit(res, all+10))
				if a.Status == http.StatusOK {
					wantCommitted(t, a, all, 0)
					want.Reserved, want.Spent, want.OverLimit = 0, want.Spent+all, true
				} else {
					wantConflict(t, a, "OVERDRAFT_LIMIT_EXCEEDED")
				}
				t.WantBooks(ctx, b, want)
			},
		},
	}
}

// overageScopes is about an excess that the budgets of a reservation cover to
// different extents.
func overageScopes() []suite.Check {
	return []suite.Check{
		{
			ID: "overage.available-scopes", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1146, 1148, 1149},
			Requirement: "Under ALLOW_IF_AVAILABLE all budgets are charged the same, as much of the excess as every one of them has; only those that could not cover all of it go over their limit.",
			Needs:       []target.Kind{target.Nested}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Nested).Budgets
				outer, inner := t.Books(ctx, budgets[0]), t.Books(ctx, budgets[1])
				most := outer.Remaining
				res := t.Reserve(ctx, budgets[1], most/2, underPolicy("ALLOW_IF_AVAILABLE"))
				wantCommitted(t, t.Do(ctx, t.Commit(res, most+5)), most, 0)
				outer.Spent, outer.Remaining, outer.OverLimit = outer.Spent+most, 0, true
				inner.Spent, inner.Remaining = inner.Spent+most, inner.Remaining-most
				t.WantBooks(ctx, budgets[0], outer)
				t.WantBooks(ctx, budgets[1], inner)
			},
		},
		{
			ID: "overage.available-scopes-inside", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{1146, 1148, 1149},
			Requirement: "The same holds when an inner budget is the one that has least left: the outer one is charged no more and does not go over its limit.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.NestedOverdraft).Budgets
				outer, inner := t.Books(ctx, budgets[0]), t.Books(ctx, budgets[1])
				most := inner.Remaining
				res := t.Reserve(ctx, budgets[1], most, underPolicy("ALLOW_IF_AVAILABLE"))
				wantCommitted(t, t.Do(ctx, t.Commit(res, most+1)), most, 0)
				outer.Spent, outer.Remaining = outer.Spent+most, outer.Remaining-most
				inner.Spent, inner.Remaining, inner.OverLimit = inner.Spent+most, 0, true
				t.WantBooks(ctx, budgets[0], outer)
				t.WantBooks(ctx, budgets[1], inner)
			},
		},
		{
			ID: "overage.overdraft-scopes", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{59, 1153, 1155, 1277},
			Requirement: "Under ALLOW_WITH_OVERDRAFT all budgets are charged the same or none is: where one of them has no overdraft limit and cannot cover the excess, it is capped for all or the commit refused for all.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: commitOps(suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.NestedOverdraft).Budgets
				all := t.Books(ctx, budgets[1]).Remaining
				res := t.Reserve(ctx, budgets[1], all, underPolicy("ALLOW_WITH_OVERDRAFT"))
				outer, inner := t.Books(ctx, budgets[0]), t.Books(ctx, budgets[1])
				more := min(outer.Remaining, budgets[1].OverdraftLimit)
				a := t.Do(ctx, t.Commit(res, all+outer.Remaining+1))
				switch {
				case a.Status == http.StatusOK:
					wantCommitted(t, a, all+more, 0)
					outer.Reserved, outer.Spent, outer.Remaining = outer.Reserved-all, outer.Spent+all+more, outer.Remaining-more
					outer.OverLimit = true
					inner.Reserved, inner.Spent, inner.Debt, inner.Remaining = 0, inner.Spent+all, more, -more
				default:
					wantConflict(t, a, "OVERDRAFT_LIMIT_EXCEEDED")
				}
				t.WantBooks(ctx, budgets[0], outer)
				t.WantBooks(ctx, budgets[1], inner)
			},
		},
	}
}
