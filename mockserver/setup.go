package mockserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// fresh builds the ledger that the options describe.
func (s *Server) fresh(now int64) (*ledger.Ledger, error) {
	l := ledger.New(rand.Uint32())
	return l, s.cfg.contents.fill(l, now)
}

// fill provisions a ledger. Status comes last: nothing can be added to a closed
// tenant.
func (c *contents) fill(l *ledger.Ledger, now int64) error {
	for _, t := range c.tenants {
		if err := addTenant(l, now, t); err != nil {
			return err
		}
	}
	for _, b := range c.budgets {
		if err := addBudget(l, now, b); err != nil {
			return err
		}
	}
	for _, p := range c.policies {
		if err := addPolicy(l, now, p); err != nil {
			return err
		}
	}
	for _, t := range c.tenants {
		if t.Status != "" {
			if err := setTenantStatus(l, now, t.ID, t.Status); err != nil {
				return err
			}
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
	err := known("tenant status", status, []TenantStatus{TenantActive, TenantSuspended, TenantClosed, TenantMalformed})
	if err != nil {
		return fmt.Errorf("mockserver: tenant %s: %w", id, err)
	}
	_, d := l.ChangeTenant(now, id, func(t *ledger.Tenant) { t.Status = ledger.TenantStatus(status) })
	return failed(d)
}

func addBudget(l *ledger.Ledger, now int64, b Budget) error {
	if b.Unit == "" {
		b.Unit = gen.UnitEnumUSDMicrocents
	}
	if b.Status == "" {
		b.Status = BudgetActive
	}
	if err := known("budget status", b.Status, budgetStatuses); err != nil {
		return fmt.Errorf("mockserver: budget %s: %w", b.Scope, err)
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

func addPolicy(l *ledger.Ledger, now int64, p ScopePolicy) error {
	var ttl, ceiling, extensions int64
	err := errors.Join(
		milliseconds(&ttl, "DefaultTTL", p.DefaultTTL),
		milliseconds(&ceiling, "MaxTTL", p.MaxTTL),
		setExtensions(&extensions, p.MaxExtensions),
	)
	if err != nil {
		return fmt.Errorf("mockserver: scope policy %s: %w", p.Pattern, err)
	}
	out := ledger.ScopePolicy{Tenant: p.Tenant, Name: p.Name, Pattern: p.Pattern, Priority: int64(p.Priority), Caps: p.Caps}
	if ttl != 0 {
		out.DefaultTTL = &ttl
	}
	if ceiling != 0 {
		out.MaxTTL = &ceiling
	}
	if p.MaxExtensions != 0 {
		out.MaxExtensions = &extensions
	}
	_, d := l.AddPolicy(now, out)
	return failed(d)
}

var budgetStatuses = []BudgetStatus{BudgetActive, BudgetFrozen, BudgetClosed}

// resolve fills in the defaults.
func (p Policy) resolve() (ledger.Policy, error) {
	out := ledger.DefaultPolicy()
	out.Legacy = p.Legacy
	if p.Overage != "" {
		out.Overage = p.Overage
	}
	err := errors.Join(
		milliseconds(&out.DefaultTTL, "DefaultTTL", p.DefaultTTL),
		milliseconds(&out.MaxTTL, "MaxTTL", p.MaxTTL),
		milliseconds(&out.MaxGrant, "MaxGrant", p.MaxGrant),
		milliseconds(&out.MaxLead, "MaxLead", p.MaxLead),
		setExtensions(&out.MaxExtensions, p.MaxExtensions),
		known("overage policy", out.Overage, overagePolicies),
	)
	return out, err
}

// milliseconds sets to from d, unless d is 0.
func milliseconds(to *int64, name string, d time.Duration) error {
	if d < 0 || d%time.Millisecond != 0 {
		return fmt.Errorf("%s has to be a whole number of milliseconds, at least 0", name)
	}
	if d > 0 {
		*to = d.Milliseconds()
	}
	return nil
}

func setExtensions(to *int64, n int) error {
	switch {
	case n == NoExtensions:
		*to = 0
	case n < 0:
		return errors.New("MaxExtensions has to be at least 0, or NoExtensions")
	case n > 0:
		*to = int64(n)
	}
	return nil
}

func known[T ~string](what string, v T, values []T) error {
	if !slices.Contains(values, v) {
		return fmt.Errorf("there is no %s %q", what, v)
	}
	return nil
}
