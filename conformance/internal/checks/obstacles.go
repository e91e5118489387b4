package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// obstacles is about what stands in the way of a reservation, other than that
// too little remains.
func obstacles() []suite.Check {
	return slices.Concat(missingBudgets(), shutBudgets(), debts(), overLimits())
}

// otherUnits are the units that the budget is not in.
func otherUnits(b *target.Budget) []string {
	return slices.DeleteFunc([]string{"USD_MICROCENTS", "TOKENS", "CREDITS", "RISK_POINTS"}, func(unit string) bool { return unit == b.Unit })
}

// wantUnitDetails wants the details of a unit mismatch to let the client mend
// its request.
func wantUnitDetails(t *suite.T, a *suite.Answer, b *target.Budget, requested string) {
	t.WantError(a, http.StatusBadRequest, "UNIT_MISMATCH")
	t.WantString(a, "details.scope")
	t.Want(a, "details.requested_unit", requested)
	expected := a.Items("details.expected_units")
	t.True(a, slices.Contains(expected, any(b.Unit)), "details.expected_units lists "+b.Unit, "it is %v", expected)
	t.True(a, !slices.Contains(expected, any(requested)), "details.expected_units does not list "+requested, "it is %v", expected)
}

func missingBudgets() []suite.Check {
	return []suite.Check{
		{
			ID: "obstacles.no-budget", Level: suite.Must, Section: "createReservation", Lines: []int{158, 199, 865, 1996},
			Requirement: "A reservation on scopes none of which has a budget in any unit is refused with 404 NOT_FOUND.",
			Needs:       []target.Kind{target.Unbudgeted, target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				none := *t.Budget(target.Unbudgeted)
				if none.Unit == "" {
					none.Unit = t.Budget(target.Funded).Unit
				}
				t.WantError(t.Do(ctx, t.Create(&none, 1)), http.StatusNotFound, "NOT_FOUND")
				t.WantError(t.Do(ctx, t.Create(&none, 0)), http.StatusNotFound, "NOT_FOUND")
				reserved(ctx, t, t.Create(t.Budget(target.Funded), 1))
			},
		},
		{
			ID: "obstacles.unit-mismatch", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{143, 144, 153},
			Requirement: "A reservation in a unit that no scope has a budget in, while one has a budget in another, is refused with 400 UNIT_MISMATCH.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				for _, unit := range otherUnits(b) {
					a := t.Do(ctx, t.Create(b, 1).With("estimate.unit", unit))
					t.WantError(a, http.StatusBadRequest, "UNIT_MISMATCH")
				}
				reserved(ctx, t, t.Create(b, 1))
			},
		},
		{
			ID: "obstacles.unit-mismatch-details", Level: suite.Should, Section: "ERROR SEMANTICS", Lines: []int{153, 155, 156, 157},
			Requirement: "The refusal of a wrong unit says in details which scope it is about, which unit was asked for and which ones there are.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				unit := otherUnits(b)[0]
				a := t.Do(ctx, t.Create(b, 1).With("estimate.unit", unit))
				wantUnitDetails(t, a, b, unit)
				t.Want(a, "details.scope", b.ScopePath())
			},
		},
	}
}

// shutBudgets is about frozen and closed budgets. The text gives the codes and
// not the status; 409 is what it gives every other state of a budget.
func shutBudgets() []suite.Check {
	shut := func(kind target.Kind, line int, code string) suite.Check {
		return suite.Check{
			ID: "obstacles." + string(kind), Level: suite.Must, Section: "DecisionReasonCode", Lines: []int{line, 891},
			Requirement: "A reservation on a budget that is not open is refused with " + code + ", though enough is left.",
			Needs:       []target.Kind{kind, target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				wantCode(t, t.Do(ctx, t.Create(t.Budget(kind), 1)), code)
				wantCode(t, t.Do(ctx, t.Create(t.Budget(kind), 0)), code)
				reserved(ctx, t, t.Create(t.Budget(target.Funded), 1))
			},
		}
	}
	return []suite.Check{
		shut(target.Frozen, 860, "BUDGET_FROZEN"),
		shut(target.ClosedBudget, 862, "BUDGET_CLOSED"),
		{
			ID: "obstacles.frozen-outside", Level: suite.Must, Section: "DecisionReasonCode", Lines: []int{59, 860},
			Requirement: "A reservation on an open budget inside a frozen one is refused with BUDGET_FROZEN and holds nothing; once the outer one is open again it is allowed.",
			Needs:       []target.Kind{target.Nested, target.CanFreeze}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Nested).Budgets
				outer, inner := budgets[0], budgets[1]
				before := t.Books(ctx, inner)
				t.NoError(t.Controller().FreezeBudget(ctx, outer))
				wantCode(t, t.Do(ctx, t.Create(inner, 1)), "BUDGET_FROZEN")
				t.WantBooks(ctx, inner, before)
				t.NoError(t.Controller().UnfreezeBudget(ctx, outer))
				reserved(ctx, t, t.Create(inner, 1))
			},
		},
	}
}

// wantCode wants a refusal with that code. The text gives it no status; another
// one than 409 is left open and not suggested.
func wantCode(t *suite.T, a *suite.Answer, code string) {
	t.True(a, a.Status >= 400 && a.Status < 500 && a.Code() == code, "409 "+code, "%s", suite.Describe(a))
	if a.Status != http.StatusConflict {
		t.WarnAt(a, "409 "+code, suite.Describe(a))
	}
}

func debts() []suite.Check {
	return []suite.Check{
		{
			ID: "obstacles.debt", Level: suite.Must, Section: "Balance", Lines: []int{68, 870, 1271},
			Requirement: "A reservation on a scope that owes a debt and has no overdraft limit is refused with 409 DEBT_OUTSTANDING, though enough is left.",
			Needs:       []target.Kind{target.Indebted, target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				wantConflict(t, t.Do(ctx, t.Create(t.Budget(target.Indebted), 1)), "DEBT_OUTSTANDING")
				wantConflict(t, t.Do(ctx, t.Create(t.Budget(target.Indebted), 0)), "DEBT_OUTSTANDING")
				reserved(ctx, t, t.Create(t.Budget(target.Funded), 1))
			},
		},
		{
			ID: "obstacles.debt-within-limit", Level: suite.Must, Section: "Balance", Lines: []int{68, 1271},
			Requirement: "While a debt within its overdraft limit stands, a reservation is refused with 409 DEBT_OUTSTANDING or, where policy allows it, judged by what remains.",
			Needs:       []target.Kind{target.Overdraft}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				indebt(ctx, t, b, min(40, b.OverdraftLimit-1))
				// Nothing remains, so both readings refuse.
				t.WantOneOf(t.Do(ctx, t.Create(b, 1)), suite.ErrorCase{Status: http.StatusConflict, Code: "DEBT_OUTSTANDING"},
					suite.ErrorCase{Status: http.StatusConflict, Code: "BUDGET_EXCEEDED"})
			},
		},
		{
			ID: "obstacles.debt-repaid", Level: suite.Must, Section: "Balance", Lines: []int{1272, 1287},
			Requirement: "Once a debt is repaid, reservations are allowed again.",
			Needs:       []target.Kind{target.Overdraft, target.CanRepayDebt}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				half := b.Allocated / 2
				other := t.Reserve(ctx, b, half)
				res := t.Reserve(ctx, b, b.Allocated-half, with("overage_policy", "ALLOW_WITH_OVERDRAFT"))
				t.Given(t.Do(ctx, t.Commit(res, res.Amount+1)), http.StatusOK)
				t.Given(t.Do(ctx, t.Release(other)), http.StatusOK)
				owing := t.Books(ctx, b)
				t.Ground(owing.Debt == 1 || owing.Hides.Debt, "a debt of 1 after a commit of 1 more than there was")
				t.NoError(t.Controller().RepayDebt(ctx, b, 1))
				reserved(ctx, t, t.Create(b, 1))
			},
		},
	}
}

// indebt reserves all of a fresh budget and commits debt more, so that this is
// owed whichever way the overdraft arithmetic is read.
func indebt(ctx context.Context, t *suite.T, b *target.Budget, debt int64) {
	all := t.Books(ctx, b).Remaining
	res := t.Reserve(ctx, b, all, with("overage_policy", "ALLOW_WITH_OVERDRAFT"))
	t.Given(t.Do(ctx, t.Commit(res, all+debt)), http.StatusOK)
}

func overLimits() []suite.Check {
	commitOps := []suite.Op{suite.Create, suite.Commit, suite.Balances}
	return []suite.Check{
		{
			ID: "obstacles.over-limit", Level: suite.Must, Section: "OVERDRAFT RECONCILIATION", Lines: []int{65, 67, 164, 169, 1284, 1325, 1959},
			Requirement: "Every reservation on a scope whose debt is over its limit is refused with 409 OVERDRAFT_LIMIT_EXCEEDED, not DEBT_OUTSTANDING, though enough is left and whatever the amount.",
			Needs:       []target.Kind{target.OverLimit, target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.OverLimit)
				for _, amount := range []int64{1, 0, b.Allocated * 2} {
					wantConflict(t, t.Do(ctx, t.Create(b, amount)), "OVERDRAFT_LIMIT_EXCEEDED")
				}
				reserved(ctx, t, t.Create(t.Budget(target.Funded), 1))
			},
		},
		{
			ID: "obstacles.over-limit-outside", Level: suite.Must, Section: "createReservation", Lines: []int{1959, 1960},
			Requirement: "A scope that is over its limit stops the reservations on all scopes below it too.",
			Needs:       []target.Kind{target.Nested}, Ops: commitOps,
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Nested).Budgets
				outer, inner := budgets[0], budgets[1]
				overdraw(ctx, t, outer)
				wantConflict(t, t.Do(ctx, t.Create(inner, 0)), "OVERDRAFT_LIMIT_EXCEEDED")
				wantConflict(t, t.Do(ctx, t.Create(inner, 1)), "OVERDRAFT_LIMIT_EXCEEDED")
			},
		},
		{
			ID: "obstacles.over-limit-inside", Level: suite.Must, Section: "createReservation", Lines: []int{1959, 1960},
			Requirement: "A scope that is over its limit decides, also when a scope above it has too little left: 409 OVERDRAFT_LIMIT_EXCEEDED, not BUDGET_EXCEEDED.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: commitOps,
			Run: func(ctx context.Context, t *suite.T) {
				outer, inner := overLimitInside(ctx, t)
				wantConflict(t, t.Do(ctx, t.Create(inner, 0)), "OVERDRAFT_LIMIT_EXCEEDED")
				wantConflict(t, t.Do(ctx, t.Create(inner, outer.Remaining+1)), "OVERDRAFT_LIMIT_EXCEEDED")
			},
		},
		{
			ID: "obstacles.over-limit-repaid", Level: suite.Must, Section: "OVERDRAFT RECONCILIATION", Lines: []int{169, 171, 1287, 1325},
			Requirement: "Once the debt is paid down below its limit the scope is over its limit no more, by itself; once all of it is paid, reservations are allowed again.",
			Needs:       []target.Kind{target.Reconcilable, target.CanRepayDebt}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Reconcilable)
				before := t.Books(ctx, b)
				if before.Debt == 0 {
					t.Skip("balances do not show what a budget owes")
				}
				t.Ground(before.OverLimit && before.Debt > b.OverdraftLimit, "a budget whose debt is over its limit")
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "OVERDRAFT_LIMIT_EXCEEDED")
				rest := max(b.OverdraftLimit-1, 0)
				t.NoError(t.Controller().RepayDebt(ctx, b, before.Debt-rest))
				below := t.Books(ctx, b)
				t.Ground(below.Debt == rest, "a debt below its limit after a payment")
				t.True(nil, !below.OverLimit, "is_over_limit false", "true, with %s and a limit of %d", below, b.OverdraftLimit)
				// What is left of the debt may still stand in the way.
				if a := t.Do(ctx, t.Create(b, 1)); a.Status != http.StatusOK {
					wantConflict(t, a, "DEBT_OUTSTANDING")
				}
				t.NoError(t.Controller().RepayDebt(ctx, b, rest))
				reserved(ctx, t, t.Create(b, 1))
			},
		},
	}
}

// overdraw takes a fresh budget without overdraft over its limit: a commit under
// ALLOW_IF_AVAILABLE of more than there is.
func overdraw(ctx context.Context, t *suite.T, b *target.Budget) {
	all := t.Books(ctx, b).Remaining
	res := t.Reserve(ctx, b, all, with("overage_policy", "ALLOW_IF_AVAILABLE"))
	t.Given(t.Do(ctx, t.Commit(res, all+1)), http.StatusOK)
	t.Ground(t.Books(ctx, b).OverLimit, "the scope over its limit after a commit that was capped")
}

// overLimitInside takes the inner scope of the fixture over its limit and not
// the outer one, which keeps some of its budget. It returns the outer books.
func overLimitInside(ctx context.Context, t *suite.T) (outer suite.Books, inner *target.Budget) {
	budgets := t.Fixture(target.NestedOverdraft).Budgets
	inner = budgets[1]
	all := t.Books(ctx, inner).Remaining
	res := t.Reserve(ctx, inner, all, with("overage_policy", "ALLOW_IF_AVAILABLE"))
	t.Given(t.Do(ctx, t.Commit(res, all+1)), http.StatusOK)
	outer = t.Books(ctx, budgets[0])
	t.Ground(t.Books(ctx, inner).OverLimit && !outer.OverLimit && outer.Remaining >= 1,
		"the inner scope alone over its limit after a commit that only it could not cover")
	return outer, inner
}
