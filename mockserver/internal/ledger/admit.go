package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// budgeted lists the budgets in one unit along a path, the widest scope first.
// into is the caller's array, so that the usual case allocates nothing.
func (a *account) budgeted(into []*Budget, path string, unit gen.UnitEnum) []*Budget {
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if b := a.byKey[budgetKey{path[:i], unit}]; b != nil {
			into = append(into, b)
		}
	}
	return into
}

// unbudgeted says why no scope of the path has a budget in the unit.
func (a *account) unbudgeted(path string, unit gen.UnitEnum) *Denial {
	for _, scope := range Scopes(path) {
		var expected []gen.UnitEnum
		for _, u := range Units {
			if a.byKey[budgetKey{scope, u}] != nil {
				expected = append(expected, u)
			}
		}
		if expected != nil {
			d := deny(gen.ErrorCodeUnitMismatch, "the budget of %s is in another unit than %s", scope, unit)
			d.Details = map[string]any{"scope": scope, "requested_unit": unit, "expected_units": expected}
			return d
		}
	}
	return deny(gen.ErrorCodeNotFound, "Budget not found for provided scope: %s", path)
}

// admit decides whether amount can be reserved in these budgets. A scope over
// its limit anywhere comes before everything else; then the scopes are judged
// one by one.
func admit(budgets []*Budget, amount int64) *Denial {
	for _, b := range budgets {
		if b.OverLimit() {
			return deny(gen.ErrorCodeOverdraftLimitExceeded, "scope %s is over its limit", b.Scope)
		}
	}
	for _, b := range budgets {
		if d := b.open(); d != nil {
			return d
		}
		if b.Debt > 0 && b.OverdraftLimit == 0 {
			return deny(gen.ErrorCodeDebtOutstanding, "scope %s has outstanding debt", b.Scope)
		}
		if b.Remaining() < amount {
			return deny(gen.ErrorCodeBudgetExceeded, "Insufficient remaining budget for scope %s", b.Scope)
		}
	}
	return nil
}

// open refuses new charges to a frozen or closed budget.
func (b *Budget) open() *Denial {
	switch b.Status {
	case BudgetFrozen:
		return deny(gen.ErrorCodeBudgetFrozen, "the budget of %s is frozen", b.Scope)
	case BudgetClosed:
		return deny(gen.ErrorCodeBudgetClosed, "the budget of %s is closed", b.Scope)
	}
	return nil
}

// ReasonBudgetNotFound is the reason of a DENY where a live reserve would be
// answered with 404.
const ReasonBudgetNotFound = "BUDGET_NOT_FOUND"

// evaluation is what decide and a dry run find, and what a reserve starts with.
type evaluation struct {
	budgets []*Budget
	caps    *gen.Caps
	// reason is set when the answer is DENY.
	reason string
}

func (e *evaluation) decision() gen.DecisionEnum {
	switch {
	case e.reason != "":
		return gen.DecisionEnumDeny
	case e.caps != nil:
		return gen.DecisionEnumAllowWithCaps
	}
	return gen.DecisionEnumAllow
}

// evaluate does all of a reserve but the reserving. What a live reserve would
// be refused for is a reason to DENY, except the wrong unit, which is a mistake
// in the request.
func (a *account) evaluate(path string, unit gen.UnitEnum, amount int64) (evaluation, *Denial) {
	if d := a.guard(); d != nil {
		if d.Code == gen.ErrorCodeTenantClosed {
			return evaluation{reason: string(d.Code)}, nil
		}
		return evaluation{}, d
	}
	budgets := a.budgeted(nil, path, unit)
	if len(budgets) == 0 {
		d := a.unbudgeted(path, unit)
		if d.Code == gen.ErrorCodeNotFound {
			return evaluation{reason: ReasonBudgetNotFound}, nil
		}
		return evaluation{}, d
	}
	if d := admit(budgets, amount); d != nil {
		return evaluation{reason: string(d.Code)}, nil
	}
	return evaluation{budgets: budgets, caps: a.caps(path, budgets)}, nil
}
