package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Funding is what an operator does to a budget's money.
type Funding string

// The kinds of funding.
const (
	// Credit adds to the allocation; debt is repaid from it first.
	Credit Funding = "CREDIT"
	// Debit takes from the allocation what remains of it.
	Debit Funding = "DEBIT"
	// Reset sets the allocation and keeps the rest.
	Reset Funding = "RESET"
	// ResetSpent sets the allocation and what was spent.
	ResetSpent Funding = "RESET_SPENT"
	// RepayDebt lowers the debt.
	RepayDebt Funding = "REPAY_DEBT"
)

// Fund moves an operator's money. A Key makes it repeatable.
type Fund struct {
	Scope     string
	Unit      gen.UnitEnum
	Operation Funding
	Amount    int64
	Spent     int64 // of ResetSpent
	Key       string
}

// Funded answers a Fund.
type Funded struct {
	Operation     Funding
	Unit          gen.UnitEnum
	Before, After Row
	At            int64
}

// Fund applies the operation, and judges anew whether the scope is over its
// limit: only debt beyond the limit keeps it so.
func (l *Ledger) Fund(now int64, tenant string, q *Fund) (Funded, *Denial) {
	now = l.step(now)
	b, d := l.budgetOf(tenant, q.Scope, q.Unit)
	if d != nil {
		return Funded{}, d
	}
	a := l.accounts[b.Tenant]
	if q.Key != "" {
		if rec, ok := a.answers[answerKey{endpointFund, q.Key}]; ok {
			return rec.answer.(Funded), nil
		}
	}
	if d := a.guard(); d != nil {
		return Funded{}, d
	}
	if d := b.open(); d != nil {
		return Funded{}, d
	}
	after := b.Row
	switch q.Operation {
	case Credit:
		repaid := min(q.Amount, b.Debt)
		after.Allocated += q.Amount
		after.Debt -= repaid
		after.Spent += repaid
	case Debit:
		if b.Remaining() < q.Amount {
			return Funded{}, deny(gen.ErrorCodeBudgetExceeded, "less than the debit remains in %s", b.Scope)
		}
		after.Allocated -= q.Amount
	case Reset:
		after.Allocated = q.Amount
	case ResetSpent:
		after.Allocated = q.Amount
		after.Spent = q.Spent
	case RepayDebt:
		after.Debt -= min(q.Amount, b.Debt)
	default:
		return Funded{}, invalid("unknown operation %q", q.Operation)
	}
	if !after.fits() {
		return Funded{}, invalid("the balance of %s would leave the 64-bit range", b.Scope)
	}
	out := Funded{Operation: q.Operation, Unit: q.Unit, Before: b.Row, After: after, At: now}
	b.Row, b.Capped, b.UpdatedAt = after, false, now
	if q.Key != "" {
		a.answers[answerKey{endpointFund, q.Key}] = record{answer: out}
	}
	return out, nil
}
