package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Get returns a copy of one reservation. An empty tenant is the admin.
func (l *Ledger) Get(now int64, tenant, id string) (Reservation, *Denial) {
	l.step(now)
	r, d := l.owned(tenant, id)
	if d != nil {
		return Reservation{}, d
	}
	if r.Status == gen.ReservationStatusExpired {
		return Reservation{}, expired()
	}
	return *r, nil
}

// Inspect returns a copy of one reservation in any state, whoever owns it.
func (l *Ledger) Inspect(now int64, id string) (Reservation, *Denial) {
	l.step(now)
	r, d := l.owned("", id)
	if d != nil {
		return Reservation{}, d
	}
	return *r, nil
}

// BalanceQuery selects budgets by segments of their scope.
type BalanceQuery struct {
	Level [levelCount]string // "" selects all
	Limit int
	After *BalancePosition // nil starts at the beginning
}

// BalancePosition is the last budget of a page.
type BalancePosition struct {
	Scope string
	Unit  gen.UnitEnum
}

// Balances returns the budgets of a tenant by scope and unit, descendants of
// the selected scopes included, and whether there are more.
func (l *Ledger) Balances(now int64, tenant string, q *BalanceQuery) ([]Balance, bool, *Denial) {
	l.step(now)
	a, d := l.account(tenant)
	if d != nil {
		return nil, false, d
	}
	start := 0
	if q.After != nil {
		start, _ = a.place(budgetKey{q.After.Scope, q.After.Unit})
		if start < len(a.budgets) && a.budgets[start].Scope == q.After.Scope && a.budgets[start].Unit == q.After.Unit {
			start++
		}
	}
	out := []Balance{}
	for _, b := range a.budgets[start:] {
		if !matchesLevels(b.Scope, &q.Level) {
			continue
		}
		if len(out) == q.Limit {
			return out, true, nil
		}
		out = append(out, b.balance())
	}
	return out, false, nil
}

// matchesLevels reports whether a path has every given level.
func matchesLevels(path string, levels *[levelCount]string) bool {
	for i, v := range levels {
		if v != "" && !hasSegment(path, i, v) {
			return false
		}
	}
	return true
}
