package checks

import (
	"context"
	"math"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// ledger is about the figures of a balance: that they add up wherever they are
// shown, and how each operation moves them.
func ledger() []suite.Check {
	return slices.Concat(ledgerFigures(), ledgerMoves(), ledgerBounds())
}

// amountMembers are the amounts of a balance.
func amountMembers() []string {
	return []string{"remaining", "reserved", "spent", "debt", "allocated", "overdraft_limit"}
}

// ledgerFigures looks at every balance in every answer.
func ledgerFigures() []suite.Check {
	each := func(find func(balance any) string) func(*suite.Answer) (bool, []suite.Wrong) {
		return func(a *suite.Answer) (judged bool, wrong []suite.Wrong) {
			for _, balance := range a.Items("balances") {
				judged = true
				if what := find(balance); what != "" {
					wrong = append(wrong, suite.Wrong{Where: string(a.Request.Op) + " balances", What: what})
				}
			}
			return judged, wrong
		}
	}
	return []suite.Check{
		{
			ID: "ledger.invariant", Level: suite.Must, Section: "Balance", Lines: []int{1262, 1266, 1297},
			Requirement: "In every balance that shows allocated, spent, reserved and debt, remaining is allocated - spent - reserved - debt.",
			Ops:         []suite.Op{suite.Create},
			Watch: each(func(balance any) string {
				figures, shown := map[string]int64{}, map[string]bool{}
				for _, member := range amountMembers() {
					v, _ := suite.Lookup(balance, member+".amount")
					figures[member], shown[member] = suite.Integer(v)
				}
				if !shown["remaining"] || !shown["allocated"] || !shown["spent"] || !shown["reserved"] {
					return ""
				}
				// What is missing can only be a debt, and a debt that is not shown may
				// be there all the same.
				missing := figures["allocated"] - figures["spent"] - figures["reserved"] - figures["remaining"]
				if missing < 0 || shown["debt"] && missing != figures["debt"] {
					return "shows a remaining that is not allocated - spent - reserved - debt"
				}
				return ""
			}),
		},
		{
			ID: "ledger.one-unit", Level: suite.Must, Section: "Balance", Lines: []int{1258, 1259},
			Requirement: "All amounts of a balance are in the same unit.",
			Ops:         []suite.Op{suite.Create},
			Watch: each(func(balance any) string {
				unit, _ := suite.Lookup(balance, "remaining.unit")
				for _, member := range amountMembers() {
					if u, there := suite.Lookup(balance, member+".unit"); there && u != unit {
						return "mixes the unit of remaining with that of " + member
					}
				}
				return ""
			}),
		},
	}
}

// move is one thing that happens to a budget and what it does to the books.
type move struct {
	name, requirement string
	lines             []int
	ops               []suite.Op
	do                func(ctx context.Context, t *suite.T, b *target.Budget)
	books             func(*suite.Books)
}

func ledgerMoves() []suite.Check {
	create, commit, extend := suite.Create, suite.Commit, suite.Extend
	moves := []move{
		{
			name: "reserve", lines: []int{1302, 1938}, ops: []suite.Op{create},
			requirement: "A reservation moves its amount from remaining to reserved.",
			do:          func(ctx context.Context, t *suite.T, b *target.Budget) { t.Reserve(ctx, b, 300) },
			books:       func(b *suite.Books) { b.Remaining -= 300; b.Reserved += 300 },
		},
		{
			name: "reserve-nothing", lines: []int{942, 1302}, ops: []suite.Op{create},
			requirement: "A reservation of 0 is one, and moves nothing.",
			do:          func(ctx context.Context, t *suite.T, b *target.Budget) { reserved(ctx, t, t.Create(b, 0)) },
			books:       func(*suite.Books) {},
		},
		{
			name: "extend", lines: []int{2531}, ops: []suite.Op{create, extend},
			requirement: "An extend moves no amount.",
			do: func(ctx context.Context, t *suite.T, b *target.Budget) {
				t.Given(t.Do(ctx, t.Extend(t.Reserve(ctx, b, 300), 1000)), http.StatusOK)
			},
			books: func(b *suite.Books) { b.Remaining -= 300; b.Reserved += 300 },
		},
		{
			name: "refusals", lines: []int{59, 64}, ops: []suite.Op{create, commit},
			requirement: "What is refused moves nothing: a create beyond what remains, and a commit that REJECT forbids, which leaves its reservation held.",
			do: func(ctx context.Context, t *suite.T, b *target.Budget) {
				res := t.Reserve(ctx, b, 300, with("overage_policy", "REJECT"))
				t.WantError(t.Do(ctx, t.Create(b, b.Allocated)), http.StatusConflict, "BUDGET_EXCEEDED")
				t.WantError(t.Do(ctx, t.Commit(res, 301)), http.StatusConflict, "BUDGET_EXCEEDED")
			},
			books: func(b *suite.Books) { b.Remaining -= 300; b.Reserved += 300 },
		},
		{
			name: "life", lines: []int{1297, 1302, 1305}, ops: []suite.Op{create, commit, extend, suite.Event},
			requirement: "The books say after each step what all steps before it did: reservations that are held, extended, committed and released, and events between them.",
			do: func(ctx context.Context, t *suite.T, b *target.Budget) {
				want := t.Books(ctx, b)
				step := func(remaining, reserved, spent int64) {
					want.Remaining, want.Reserved, want.Spent = want.Remaining+remaining, want.Reserved+reserved, want.Spent+spent
					t.WantBooks(ctx, b, want)
				}
				first, second := t.Reserve(ctx, b, 100), t.Reserve(ctx, b, 60)
				step(-160, 160, 0)
				apply(ctx, t, t.Event(b, 7))
				step(-7, 0, 7)
				t.Given(t.Do(ctx, t.Extend(second, 1000)), http.StatusOK)
				step(0, 0, 0)
				t.Given(t.Do(ctx, t.Commit(first, 80)), http.StatusOK)
				step(20, -100, 80)
				third := t.Reserve(ctx, b, 5)
				step(-5, 5, 0)
				t.Given(t.Do(ctx, t.Release(second)), http.StatusOK)
				step(60, -60, 0)
				t.Given(t.Do(ctx, t.Commit(third, 9)), http.StatusOK)
				step(-4, -5, 9)
			},
			books: func(b *suite.Books) { b.Remaining -= 96; b.Spent += 96 },
		},
	}
	all := make([]suite.Check, len(moves))
	for i, m := range moves {
		all[i] = suite.Check{
			ID: "ledger." + m.name, Level: suite.Must, Section: "Balance", Lines: m.lines, Requirement: m.requirement,
			Needs: []target.Kind{target.Ledger}, Ops: slices.Concat(m.ops, []suite.Op{suite.Balances}),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				m.do(ctx, t, b)
				m.books(&want)
				t.WantBooks(ctx, b, want)
			},
		}
	}
	return all
}

func ledgerBounds() []suite.Check {
	return []suite.Check{
		{
			ID: "ledger.exact", Level: suite.Must, Section: "Amount", Lines: []int{942, 1262},
			Requirement: "Amounts are integers of 64 bits all the way: beyond 2^53, where floating-point numbers have gaps, not one unit is lost on the way in, in the books or on the way out.",
			Needs:       []target.Kind{target.Vast}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Event, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Vast)
				want := t.Books(ctx, b)
				const odd int64 = 1<<53 + 1
				t.Ground(want.Remaining > 4*odd, "a budget of more than 2^55")
				a := reserved(ctx, t, t.Create(b, odd+6))
				if a.Has("reserved") {
					t.Want(a, "reserved.amount", odd+6)
				}
				want.Remaining, want.Reserved = want.Remaining-odd-6, want.Reserved+odd+6
				t.WantBooks(ctx, b, want)
				a = t.Do(ctx, t.Commit(t.Made(b, a), odd+2))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "charged.amount", odd+2)
				want.Remaining, want.Reserved, want.Spent = want.Remaining+4, want.Reserved-odd-6, want.Spent+odd+2
				t.WantBooks(ctx, b, want)
				apply(ctx, t, t.Event(b, odd))
				want.Remaining, want.Spent = want.Remaining-odd, want.Spent+odd
				t.WantBooks(ctx, b, want)
				t.WantError(t.Do(ctx, t.Create(b, want.Remaining+1)), http.StatusConflict, "BUDGET_EXCEEDED")
				reserved(ctx, t, t.Create(b, want.Remaining))
			},
		},
		{
			ID: "ledger.largest-amount", Level: suite.Must, Section: "Amount", Lines: []int{942, 64},
			Requirement: "Amounts reach to the end of 64 bits: one of 2^63-1 is a right request that the budget cannot meet, and neither wraps around nor moves anything.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				before := t.Books(ctx, b)
				// The second of the two wraps around when it is added to what is held.
				for range 2 {
					t.WantError(t.Do(ctx, t.Create(b, math.MaxInt64)), http.StatusConflict, "BUDGET_EXCEEDED")
					t.WantBooks(ctx, b, before)
					t.Reserve(ctx, b, 1)
					before.Remaining, before.Reserved = before.Remaining-1, before.Reserved+1
				}
				res := t.Reserve(ctx, b, 1, with("overage_policy", "REJECT"))
				t.WantError(t.Do(ctx, t.Commit(res, math.MaxInt64)), http.StatusConflict, "BUDGET_EXCEEDED")
				before.Remaining, before.Reserved = before.Remaining-1, before.Reserved+1
				t.WantBooks(ctx, b, before)
			},
		},
	}
}
