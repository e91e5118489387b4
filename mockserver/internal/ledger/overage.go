package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// charge is an amount that was not reserved, and how each budget takes it.
type charge struct {
	budgets []*Budget
	amount  int64 // what is charged in the end, to every budget
	debt    [levelCount]int64
	capped  [levelCount]bool // could not cover all that was asked for
}

// chargeBeyond works out a charge of wanted on top of what is reserved: the
// part of a commit beyond its estimate, or a whole event. REJECT is checked by
// the caller, who knows what it compares with.
func chargeBeyond(budgets []*Budget, wanted int64, policy gen.CommitOveragePolicy) (charge, *Denial) {
	c := charge{budgets: budgets, amount: wanted}
	if wanted == 0 {
		return c, nil
	}
	overdraft := policy == gen.CommitOveragePolicyAllowWithOverdraft
	for i, b := range budgets {
		// A scope without an overdraft limit treats ALLOW_WITH_OVERDRAFT like
		// ALLOW_IF_AVAILABLE.
		if overdraft && b.OverdraftLimit > 0 {
			continue
		}
		if b.Remaining() < wanted {
			c.capped[i] = true
			c.amount = min(c.amount, b.available())
		}
	}
	if !overdraft {
		return c, nil
	}
	for i, b := range budgets {
		if b.OverdraftLimit == 0 {
			continue
		}
		c.debt[i] = max(0, c.amount-b.available())
		if c.debt[i] > 0 && b.Debt > b.OverdraftLimit-c.debt[i] {
			return charge{}, deny(gen.ErrorCodeOverdraftLimitExceeded, "the charge would take the debt of %s over its limit", b.Scope)
		}
	}
	return c, nil
}

// apply books the charge, together with base, to every budget or to none.
func (c *charge) apply(now int64, base Row) *Denial {
	var rows [levelCount]Row
	for i, b := range c.budgets {
		d := base
		d.Spent += c.amount - c.debt[i]
		d.Debt += c.debt[i]
		row, ok := b.plus(d)
		if !ok {
			return deny(gen.ErrorCodeOverdraftLimitExceeded, "the balance of %s would leave the 64-bit range", b.Scope)
		}
		rows[i] = row
	}
	for i, b := range c.budgets {
		b.Row = rows[i]
		b.UpdatedAt = now
		b.Capped = b.Capped || c.capped[i]
	}
	return nil
}
