package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const balancesSection = "getBalances"

// balances is about which balances are shown. What they say is in ledger.go.
func balances() []suite.Check {
	return slices.Concat(balanceFilters(), balancePages())
}

func walkBalances(ctx context.Context, t *suite.T, r *suite.Request) listing {
	return walk(ctx, t, r, "balances")
}

// budget is the entry of the budget, nil when it is not shown.
func (l listing) budget(b *target.Budget) row {
	for _, r := range l.rows {
		unit, _ := suite.Lookup(r, "remaining.unit")
		if r["scope_path"] == b.ScopePath() && unit == b.Unit {
			return r
		}
	}
	return nil
}

func (l listing) wantBudget(t *suite.T, b *target.Budget) row {
	r := l.budget(b)
	t.True(l.last(), r != nil, "the balance of "+b.ScopePath()+" in "+b.Unit, "it is not among %d balances", len(l.rows))
	return r
}

func balanceFilters() []suite.Check {
	ops := []suite.Op{suite.Balances}
	return []suite.Check{
		{
			ID: "balances.shown", Level: suite.Must, Section: balancesSection, Lines: []int{2880},
			Requirement: "The balance of a budget is shown to who asks for its scope, and says what remains.",
			Needs:       []target.Kind{target.Ledger}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				l := walkBalances(ctx, t, t.Balances(b))
				wantMember(t, l.last(), l.wantBudget(t, b), "remaining.amount", b.Allocated)
			},
		},
		{
			ID: "balances.other-scope", Level: suite.Must, Section: balancesSection, Lines: []int{2880},
			Requirement: "A budget is not shown to who asks for another scope.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				walkBalances(ctx, t, t.Balances(b)).wantBudget(t, b)
				r := t.Balances(b)
				for level := range b.Subject {
					r = r.WithoutQuery(level)
				}
				for _, level := range target.Levels()[1:] {
					l := walkBalances(ctx, t, r.WithQuery(level, t.Name()))
					t.True(l.last(), l.budget(b) == nil, "no balance of "+b.ScopePath()+" for another "+level, "it is shown")
				}
			},
		},
		{
			ID: "balances.filter-needed", Level: suite.Must, Section: balancesSection, Lines: []int{2884, 2885},
			Requirement: "Without any of the six filters the request is refused with 400 INVALID_REQUEST.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				bare := t.Balances(b)
				for level := range b.Subject {
					bare = bare.WithoutQuery(level)
				}
				for _, r := range []*suite.Request{bare, bare.WithQuery("limit", "10"), bare.WithQuery("include_children", "true")} {
					t.WantError(t.Do(ctx, r), http.StatusBadRequest, "INVALID_REQUEST")
				}
				walkBalances(ctx, t, t.Balances(b)).wantBudget(t, b)
			},
		},
		{
			ID: "balances.include-children", Level: suite.Must, Section: balancesSection, Lines: []int{2881, 2911},
			Requirement: "include_children may be ignored, but it is taken, true and false, and the balance asked for is shown with both.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				for _, v := range []string{"true", "false"} {
					walkBalances(ctx, t, t.Balances(b).WithQuery("include_children", v)).wantBudget(t, b)
				}
			},
		},
		{
			ID: "balances.bad-parameter", Level: suite.Must, Section: balancesSection, Lines: []int{2911, 2926},
			Requirement: "include_children that is no boolean is refused with 400 INVALID_REQUEST or ignored, and never a 5xx.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				a := t.Do(ctx, t.Balances(b).WithQuery("include_children", "maybe"))
				if a.Status == http.StatusOK {
					_, shown := suite.BooksIn(a, b)
					t.True(a, shown || a.Str("next_cursor") != "", "the balances asked for", "%s", suite.Describe(a))
					return
				}
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				walkBalances(ctx, t, t.Balances(b)).wantBudget(t, b)
			},
		},
	}
}

func balancePages() []suite.Check {
	ops := []suite.Op{suite.Balances}
	return []suite.Check{
		{
			ID: "balances.units", Level: suite.Must, Section: "Balance", Lines: []int{1255},
			Requirement: "A scope with budgets in two units has two balances, one for each unit.",
			Needs:       []target.Kind{target.Twin}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Twin)
				l := walkBalances(ctx, t, t.Balances(f.Budgets[0]))
				for _, b := range f.Budgets {
					wantMember(t, l.last(), l.wantBudget(t, b), "remaining.amount", b.Allocated)
				}
			},
		},
		{
			ID: "balances.pages", Level: suite.Must, Section: "BalanceResponse", Lines: []int{542, 553, 1612, 1617},
			Requirement: "Balances come in pages of at most limit, whose cursors lead to all of them and to an end; has_more goes with next_cursor.",
			Needs:       []target.Kind{target.Twin}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Twin)
				l := walkBalances(ctx, t, t.Balances(f.Budgets[0]).WithQuery("limit", "1"))
				for _, b := range f.Budgets {
					l.wantBudget(t, b)
				}
				for _, a := range l.pages {
					n := len(a.Items("balances"))
					t.True(a, n <= 1, "at most one balance", "%d", n)
				}
				wantHasMore(t, l)
			},
		},
		{
			ID: "balances.limit-bounds", Level: suite.Must, Section: "Limit", Lines: []int{542},
			Requirement: "A limit outside 1 to 200, or one that is no integer, is refused with 400 INVALID_REQUEST.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				limitRefused(ctx, t, t.Balances(t.Budget(target.Funded)))
			},
		},
		{
			ID: "balances.garbage-cursor", Level: suite.Must, Section: "Cursor", Lines: []int{553, 2926},
			Requirement: "A cursor that the server never gave out is the client's fault: 400 INVALID_REQUEST, and never a 5xx.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				wantGarbageRefused(ctx, t, t.Balances(t.Budget(target.Funded)))
			},
		},
	}
}
