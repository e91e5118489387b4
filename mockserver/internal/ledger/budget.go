package ledger

import (
	"encoding/json"
	"math"

	"github.com/cycles-protocol/cycles-go/gen"
)

// BudgetStatus is the state of a budget.
type BudgetStatus string

// The states of a budget.
const (
	BudgetActive BudgetStatus = "ACTIVE"
	BudgetFrozen BudgetStatus = "FROZEN"
	BudgetClosed BudgetStatus = "CLOSED"
)

// Row holds the numbers of a budget, each at least 0. What remains is not
// stored but follows from them.
type Row struct {
	Allocated, Reserved, Spent, Debt int64
}

// Remaining may be negative.
func (r Row) Remaining() int64 { return r.Allocated - r.Spent - r.Reserved - r.Debt }

// available is what can be charged without debt.
func (r Row) available() int64 { return max(r.Remaining(), 0) }

// fits reports whether every number and the remaining amount are in range.
func (r Row) fits() bool {
	if r.Allocated < 0 || r.Reserved < 0 || r.Spent < 0 || r.Debt < 0 {
		return false
	}
	rest := r.Allocated - r.Spent
	for _, taken := range [...]int64{r.Reserved, r.Debt} {
		if rest < math.MinInt64+taken {
			return false
		}
		rest -= taken
	}
	return true
}

// plus adds d, whose numbers may be negative. It reports false when the result
// does not fit.
func (r Row) plus(d Row) (Row, bool) {
	sum := Row{
		Allocated: r.Allocated + d.Allocated,
		Reserved:  r.Reserved + d.Reserved,
		Spent:     r.Spent + d.Spent,
		Debt:      r.Debt + d.Debt,
	}
	// Every number of r is at least 0, so a sum that wrapped is negative.
	return sum, sum.fits()
}

// Budget is what may be spent at one scope in one unit.
type Budget struct {
	ID      string
	Tenant  string
	Scope   string
	Unit    gen.UnitEnum
	Status  BudgetStatus
	Overage gen.CommitOveragePolicy
	Row
	OverdraftLimit int64
	// Capped is the mark that a charge was cut to what was left.
	Capped    bool
	Caps      *gen.Caps
	Metadata  json.RawMessage
	CreatedAt int64
	UpdatedAt int64
}

// OverLimit blocks new reservations. Debt counts against a limit above 0 only:
// debt without any limit is outstanding debt, which has a code of its own.
func (b *Budget) OverLimit() bool {
	return b.Capped || b.OverdraftLimit > 0 && b.Debt > b.OverdraftLimit
}

// Balance is a budget as an answer shows it, at one moment.
type Balance struct {
	Scope string
	Unit  gen.UnitEnum
	Row
	OverdraftLimit int64
	OverLimit      bool
}

func (b *Budget) balance() Balance {
	return Balance{Scope: b.Scope, Unit: b.Unit, Row: b.Row, OverdraftLimit: b.OverdraftLimit, OverLimit: b.OverLimit()}
}

// Switch changes the status from one value to another; a budget that has the
// new one already stays as it is.
func (b *Budget) Switch(from, to BudgetStatus) *Denial {
	if b.Status != from && b.Status != to {
		return conflict("the budget of %s is %s", b.Scope, b.Status)
	}
	b.Status = to
	return nil
}

type budgetKey struct {
	scope string
	unit  gen.UnitEnum
}

// Units are all units, in the order of the protocol document.
var Units = [...]gen.UnitEnum{
	gen.UnitEnumUSDMicrocents, gen.UnitEnumTokens, gen.UnitEnumCredits, gen.UnitEnumRiskPoints,
}
