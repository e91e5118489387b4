package mockserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// provision builds the state that the options describe.
func (s *Server) provision() error {
	if s.clock.now().Before(time.UnixMilli(0)) {
		return errors.New("mockserver: virtual time cannot start before 1970")
	}
	s.ledger = ledger.New(rand.Uint32())
	now := s.nowMs()
	for _, t := range s.cfg.tenants {
		if err := addTenant(s.ledger, now, t); err != nil {
			return err
		}
	}
	for _, b := range s.cfg.budgets {
		if err := addBudget(s.ledger, now, b); err != nil {
			return err
		}
	}
	for _, t := range s.cfg.tenants {
		if t.Status != "" {
			if err := setTenantStatus(s.ledger, now, t.ID, t.Status); err != nil {
				return err
			}
		}
	}
	for _, f := range s.cfg.faults {
		if _, err := s.faults.inject(f); err != nil {
			return err
		}
	}
	return nil
}

// failed makes an error of what the ledger refused, nil of nothing.
func failed(d *ledger.Denial) error {
	if d == nil {
		return nil
	}
	return fmt.Errorf("mockserver: %s", d.Message)
}

func addTenant(l *ledger.Ledger, now int64, t Tenant) error {
	policy, err := t.Policy.resolve()
	if err != nil {
		return fmt.Errorf("mockserver: tenant %s: %w", t.ID, err)
	}
	if d := l.AddTenant(now, ledger.Tenant{ID: t.ID, Name: t.Name, Policy: policy}); d != nil {
		return failed(d)
	}
	for _, key := range t.Keys {
		if _, d := l.AddKey(now, ledger.Key{Tenant: t.ID, Secret: key}); d != nil {
			return failed(d)
		}
	}
	return nil
}

func setTenantStatus(l *ledger.Ledger, now int64, id string, status TenantStatus) error {
	_, d := l.ChangeTenant(now, id, func(t *ledger.Tenant) { t.Status = ledger.TenantStatus(status) })
	return failed(d)
}

func addBudget(l *ledger.Ledger, now int64, b Budget) error {
	if b.Unit == "" {
		b.Unit = gen.UnitEnumUSDMicrocents
	}
	_, d := l.AddBudget(now, ledger.Budget{
		Tenant:         b.Tenant,
		Scope:          b.Scope,
		Unit:           b.Unit,
		Status:         ledger.BudgetStatus(b.Status),
		Row:            ledger.Row{Allocated: b.Allocated, Spent: b.Spent, Debt: b.Debt},
		OverdraftLimit: b.OverdraftLimit,
		Capped:         b.OverLimit,
		Caps:           b.Caps,
	})
	return failed(d)
}

// resolve fills in the defaults.
func (p Policy) resolve() (ledger.Policy, error) {
	out := ledger.DefaultPolicy()
	for _, d := range [...]struct {
		name string
		from time.Duration
		to   *int64
	}{
		{"DefaultTTL", p.DefaultTTL, &out.DefaultTTL},
		{"MaxTTL", p.MaxTTL, &out.MaxTTL},
		{"MaxGrant", p.MaxGrant, &out.MaxGrant},
		{"MaxLead", p.MaxLead, &out.MaxLead},
	} {
		switch {
		case d.from < 0 || d.from%time.Millisecond != 0:
			return ledger.Policy{}, fmt.Errorf("%s has to be a whole number of milliseconds, at least 0", d.name)
		case d.from > 0:
			*d.to = d.from.Milliseconds()
		}
	}
	switch {
	case p.MaxExtensions == NoExtensions:
		out.MaxExtensions = 0
	case p.MaxExtensions < 0:
		return ledger.Policy{}, errors.New("MaxExtensions has to be at least 0, or NoExtensions")
	case p.MaxExtensions > 0:
		out.MaxExtensions = int64(p.MaxExtensions)
	}
	if p.Overage != "" {
		out.Overage = p.Overage
	}
	out.Legacy = p.Legacy
	return out, nil
}
