package mockserver

import (
	"fmt"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// change runs a provisioning step. Requests see all of it or nothing.
func (s *Server) change(f func(l *ledger.Ledger, now int64) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.ledger, s.nowMs())
}

// AddTenant adds a tenant with its keys.
func (s *Server) AddTenant(t Tenant) error {
	return s.add(&contents{tenants: []Tenant{t}})
}

// Tenants returns the ids of all tenants, closed ones too, in order.
func (s *Server) Tenants() []string {
	var out []string
	_ = s.change(func(l *ledger.Ledger, now int64) error {
		for _, t := range l.Tenants(now) {
			out = append(out, t.ID)
		}
		return nil
	})
	return out
}

// SetTenantStatus suspends, reopens or closes a tenant. Closing is final and
// closes the tenant's budgets.
func (s *Server) SetTenantStatus(id string, status TenantStatus) error {
	return s.change(func(l *ledger.Ledger, now int64) error { return setTenantStatus(l, now, id, status) })
}

// SetPolicy replaces a tenant's policy. The extension budget of a reservation
// is the one of its create; everything else rules its next extend.
func (s *Server) SetPolicy(tenant string, p Policy) error {
	policy, err := p.resolve()
	if err != nil {
		return err
	}
	return s.change(func(l *ledger.Ledger, now int64) error {
		_, d := l.ChangeTenant(now, tenant, func(t *ledger.Tenant) { t.Policy = policy })
		return failed(d)
	})
}

// AddKey gives a tenant another API key.
func (s *Server) AddKey(tenant, key string) error {
	return s.change(func(l *ledger.Ledger, now int64) error {
		_, d := l.AddKey(now, ledger.Key{Tenant: tenant, Secret: key})
		return failed(d)
	})
}

// RevokeKey ends an API key.
func (s *Server) RevokeKey(key string) error {
	return s.change(func(l *ledger.Ledger, now int64) error {
		_, d := l.RevokeKey(now, key)
		return failed(d)
	})
}

// AddScopePolicy adds caps or lease overrides.
func (s *Server) AddScopePolicy(p ScopePolicy) error {
	return s.change(func(l *ledger.Ledger, now int64) error { return addPolicy(l, now, p) })
}

// AddBudget adds a budget.
func (s *Server) AddBudget(b Budget) error {
	return s.change(func(l *ledger.Ledger, now int64) error { return addBudget(l, now, b) })
}

// SetBudgetStatus freezes, reopens or closes a budget.
func (s *Server) SetBudgetStatus(scope string, unit gen.UnitEnum, status BudgetStatus) error {
	if err := known("budget status", status, budgetStatuses); err != nil {
		return fmt.Errorf("mockserver: budget %s: %w", scope, err)
	}
	return s.change(func(l *ledger.Ledger, now int64) error {
		_, d := l.ChangeBudget(now, scope, unit, func(b *ledger.Budget) *ledger.Denial {
			b.Status = ledger.BudgetStatus(status)
			return nil
		})
		return failed(d)
	})
}

// Balance is a budget at one moment; see Server.Balance. It keeps
// Remaining = Allocated - Spent - Reserved - Debt.
type Balance struct {
	Allocated, Remaining, Reserved, Spent, Debt, OverdraftLimit int64
	OverLimit                                                   bool
	Status                                                      BudgetStatus
}

// Balance returns what a budget holds now.
func (s *Server) Balance(scope string, unit gen.UnitEnum) (Balance, error) {
	var out Balance
	err := s.change(func(l *ledger.Ledger, now int64) error {
		b, d := l.Budget(now, "", scope, unit)
		if d != nil {
			return failed(d)
		}
		out = Balance{
			Allocated: b.Allocated, Remaining: b.Remaining(), Reserved: b.Reserved, Spent: b.Spent, Debt: b.Debt,
			OverdraftLimit: b.OverdraftLimit, OverLimit: b.OverLimit(), Status: BudgetStatus(b.Status),
		}
		return nil
	})
	return out, err
}

// Reservation is a reservation at one moment; see Server.Reservation.
type Reservation struct {
	ID, Tenant, ScopePath string
	Status                gen.ReservationStatus
	Unit                  gen.UnitEnum
	// Reserved is what is or was held, Committed what was charged.
	Reserved, Committed  int64
	CreatedAt, ExpiresAt time.Time
	// Extensions is how often the expiry was moved; replays do not count.
	Extensions int
}

// Reservation returns a reservation in any state, expired ones too.
func (s *Server) Reservation(id string) (Reservation, error) {
	var out Reservation
	err := s.change(func(l *ledger.Ledger, now int64) error {
		r, d := l.Inspect(now, id)
		if d != nil {
			return failed(d)
		}
		out = Reservation{
			ID: r.ID, Tenant: r.Tenant(), ScopePath: r.Path, Status: r.Status, Unit: r.Unit,
			Reserved: r.Estimate, Committed: r.Committed,
			CreatedAt: time.UnixMilli(r.CreatedAt), ExpiresAt: time.UnixMilli(r.ExpiresAt), Extensions: int(r.Extensions),
		}
		return nil
	})
	return out, err
}
