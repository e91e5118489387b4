package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Event charges what was never reserved.
type Event struct {
	Spend
	Overage gen.CommitOveragePolicy // "" takes the tenant's default
}

// Recorded answers an Event.
type Recorded struct {
	EventID string
	Unit    gen.UnitEnum
	Charged int64
	// Capped: less was charged than the event asked for.
	Capped   bool
	Balances []Balance
	Replayed bool
}

// Event charges every budgeted scope of the subject, or none. Debt and a scope
// over its limit do not stop it: what it reports has happened.
func (l *Ledger) Event(now int64, q *Event) (Recorded, *Denial) {
	now = l.step(now)
	a, d := l.subjectAccount(q.Tenant, &q.Subject)
	if d != nil {
		return Recorded{}, d
	}
	answer, ok, d := a.recall(endpointEvent, &q.Identity)
	if d != nil {
		return Recorded{}, d
	}
	if ok {
		out := answer.(Recorded)
		out.Replayed = true
		return out, nil
	}
	if d := a.guard(); d != nil {
		return Recorded{}, d
	}
	path := q.Subject.Path()
	var space [levelCount]*Budget
	budgets := a.budgeted(space[:0], path, q.Unit)
	if len(budgets) == 0 {
		return Recorded{}, a.unbudgeted(path, q.Unit)
	}
	policy := q.Overage
	if policy == "" {
		policy = a.Policy.Overage
	}
	for _, b := range budgets {
		if d := b.open(); d != nil {
			return Recorded{}, d
		}
		if policy == gen.CommitOveragePolicyReject && b.Remaining() < q.Amount {
			return Recorded{}, deny(gen.ErrorCodeBudgetExceeded, "Insufficient remaining budget for scope %s", b.Scope)
		}
	}
	c, d := chargeBeyond(budgets, q.Amount, policy)
	if d != nil {
		return Recorded{}, d
	}
	if d := c.apply(now, Row{}); d != nil {
		return Recorded{}, d
	}
	out := Recorded{
		EventID:  l.nextID(now),
		Unit:     q.Unit,
		Charged:  c.amount,
		Capped:   c.amount < q.Amount,
		Balances: balances(budgets),
	}
	a.remember(endpointEvent, &q.Identity, out)
	return out, nil
}
