package mocktarget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// provisioner makes fixtures through the server's Go API, which can do what
// the admin routes cannot; changes during a check go through the admin routes.
type provisioner struct {
	target.Admin
	srv        *mockserver.Server
	corruption *Corruption
	legacy     bool
}

func (p *provisioner) Provision(_ context.Context, want target.Wanted) (*target.Provisioned, error) {
	made := &target.Provisioned{A: tenant(want.Run + "-a"), B: tenant(want.Run + "-b")}
	for _, t := range []target.Tenant{made.A, made.B} {
		if err := p.add(t, mockserver.Policy{}); err != nil {
			return nil, err
		}
	}
	specs := make(map[target.Kind]target.Spec)
	for _, s := range target.Catalogue() {
		specs[s.Kind] = s
	}
	for _, w := range want.Fixtures {
		f, err := p.fixture(made, specs[w.Kind], w.ID, want.Run)
		if err != nil {
			return nil, fmt.Errorf("fixture %s: %w", w.ID, err)
		}
		made.Fixtures = append(made.Fixtures, f)
	}
	return made, nil
}

func tenant(id string) target.Tenant { return target.Tenant{ID: id, APIKey: "cyc_live_" + id} }

func (p *provisioner) add(t target.Tenant, policy mockserver.Policy) error {
	policy.Legacy = p.legacy
	return p.srv.AddTenant(mockserver.Tenant{ID: t.ID, Keys: []string{t.APIKey}, Policy: policy})
}

func (p *provisioner) fixture(made *target.Provisioned, spec target.Spec, id, run string) (*target.Fixture, error) {
	f := &target.Fixture{Kind: spec.Kind, ID: id, Limit: spec.Limit, Tenant: made.A}
	own := func(policy mockserver.Policy) error {
		f.Tenant = tenant(run + "-" + id)
		return p.add(f.Tenant, policy)
	}
	var err error
	switch spec.Kind {
	case target.FundedB:
		f.Tenant = made.B
	case target.ClosedTenant, target.ClosableTenant:
		err = own(mockserver.Policy{})
	case target.CorruptTenant:
		err = own(mockserver.Policy{})
		p.corruption.Befall(f.Tenant.APIKey)
	case target.MaxExtensions:
		err = own(mockserver.Policy{MaxExtensions: int(spec.Limit)})
	case target.TTLCeiling:
		err = own(mockserver.Policy{MaxTTL: time.Duration(spec.Limit) * time.Millisecond})
	case target.RevokedKey:
		f.Tenant.APIKey = "cyc_live_" + run + "-revoked"
		err = errors.Join(p.srv.AddKey(f.Tenant.ID, f.Tenant.APIKey), p.srv.RevokeKey(f.Tenant.APIKey))
	}
	if err != nil {
		return nil, err
	}
	return f, p.fund(f, spec, id)
}

// fund gives a fixture its budgets and brings it into its state.
func (p *provisioner) fund(f *target.Fixture, spec target.Spec, id string) error {
	f.Budgets = target.Layout(f.Tenant, spec, id)
	if spec.Kind == target.Unbudgeted {
		return nil
	}
	for i, b := range f.Budgets {
		look := spec.Budgets[i]
		err := p.srv.AddBudget(mockserver.Budget{
			Scope: b.ScopePath(), Tenant: b.Tenant.ID, Unit: gen.UnitEnum(b.Unit),
			// Debt lowers what remains; the fixture is to have Allocated left.
			Allocated: look.Allocated + look.Debt, OverdraftLimit: look.OverdraftLimit, Debt: look.Debt,
			Status: mockserver.BudgetStatus(look.Status),
		})
		if err != nil {
			return err
		}
	}
	switch spec.Kind {
	case target.ClosedTenant:
		return p.srv.SetTenantStatus(f.Tenant.ID, mockserver.TenantClosed)
	case target.Capped:
		tokens := int64(1000)
		return p.srv.AddScopePolicy(mockserver.ScopePolicy{
			Tenant: f.Tenant.ID, Name: "conformance-caps", Pattern: f.Budgets[0].ScopePath() + "/*",
			Caps: &gen.Caps{MaxTokens: &tokens, ToolDenylist: []string{"shell"}},
		})
	}
	return nil
}
