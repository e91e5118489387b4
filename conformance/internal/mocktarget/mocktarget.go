// Package mocktarget makes the module's own mock server a target with every
// fixture. The command and tests use it; the suite itself must not, or a fault
// of the mock could hide one of the suite.
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

// AdminKey is the admin key that servers of New have.
const AdminKey = "conformance-admin-key"

// New starts a mock in memory and makes it a target, on a virtual clock or on
// real time. The options go to the server.
func New(virtual bool, opts ...mockserver.Option) target.Target {
	opts = append([]mockserver.Option{mockserver.WithoutDefaults(), mockserver.WithAdminKey(AdminKey), mockserver.WithJournalSize(0)}, opts...)
	if virtual {
		opts = append(opts, mockserver.WithVirtualTime(time.Now().Truncate(time.Millisecond)))
	}
	srv := mockserver.New(opts...)
	t := Of(srv)
	if virtual {
		t.Clock = clock{srv}
	}
	return t
}

// Of makes a target of a server that runs on real time.
func Of(srv *mockserver.Server) target.Target {
	return target.Target{
		Name: "cycles-mock", Version: "in memory",
		Transport: srv.Transport(), AdminKey: AdminKey,
		Provisioner: provisioner{srv, &target.Admin{BaseURL: srv.URL(), Key: AdminKey, Client: srv.Client()}},
	}
}

// clock is the server's virtual clock.
type clock struct{ srv *mockserver.Server }

func (c clock) Now(context.Context) (time.Time, error) { return c.srv.Now(), nil }

func (c clock) Advance(_ context.Context, d time.Duration) error {
	c.srv.Advance(d)
	return nil
}

// provisioner makes fixtures through the server's Go API, and debt is repaid
// through its admin routes.
type provisioner struct {
	srv   *mockserver.Server
	admin *target.Admin
}

func (p provisioner) Provision(_ context.Context, want target.Wanted) (*target.Provisioned, error) {
	made := &target.Provisioned{A: tenant(want.Run + "-a"), B: tenant(want.Run + "-b")}
	for _, t := range []target.Tenant{made.A, made.B} {
		if err := p.srv.AddTenant(mockserver.Tenant{ID: t.ID, Keys: []string{t.APIKey}, Policy: roomy}); err != nil {
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
		if f != nil {
			made.Fixtures = append(made.Fixtures, f)
		}
	}
	return made, nil
}

// roomy lets reservations live as long as the protocol lets one ask for.
var roomy = mockserver.Policy{MaxTTL: 24 * time.Hour}

func tenant(id string) target.Tenant { return target.Tenant{ID: id, APIKey: "cyc_live_" + id} }

func (p provisioner) fixture(made *target.Provisioned, spec target.Spec, id, run string) (*target.Fixture, error) {
	f := &target.Fixture{Kind: spec.Kind, ID: id, Limit: spec.Limit, Tenant: made.A}
	own := func(policy mockserver.Policy) error {
		f.Tenant = tenant(run + "-" + id)
		return p.srv.AddTenant(mockserver.Tenant{ID: f.Tenant.ID, Keys: []string{f.Tenant.APIKey}, Policy: policy})
	}
	var err error
	switch spec.Kind {
	case target.CorruptTenant:
		return nil, nil // the mock keeps its records in order
	case target.FundedB:
		f.Tenant = made.B
	case target.ClosedTenant, target.ClosableTenant:
		err = own(roomy)
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
	f.Budgets = target.Layout(f.Tenant, spec, id)
	if spec.Kind == target.Unbudgeted {
		return f, nil
	}
	for i, b := range f.Budgets {
		if err := p.srv.AddBudget(budget(b, spec.Budgets[i])); err != nil {
			return nil, err
		}
	}
	switch spec.Kind {
	case target.ClosedTenant:
		err = p.srv.SetTenantStatus(f.Tenant.ID, mockserver.TenantClosed)
	case target.Capped:
		err = p.srv.AddScopePolicy(mockserver.ScopePolicy{
			Tenant: f.Tenant.ID, Name: "conformance-caps", Pattern: f.Budgets[0].ScopePath() + "/*", Caps: caps(),
		})
	}
	return f, err
}

func budget(b *target.Budget, look target.BudgetSpec) mockserver.Budget {
	return mockserver.Budget{
		Scope: b.ScopePath(), Tenant: b.Tenant.ID, Unit: gen.UnitEnum(b.Unit),
		// Debt lowers what remains; the fixture is to have Allocated left.
		Allocated: look.Allocated + look.Debt, OverdraftLimit: look.OverdraftLimit, Debt: look.Debt,
		Status: mockserver.BudgetStatus(look.Status),
	}
}

func caps() *gen.Caps {
	tokens := int64(1000)
	return &gen.Caps{MaxTokens: &tokens, ToolDenylist: []string{"shell"}}
}

// Can is Controller's.
func (p provisioner) Can(ability target.Kind) bool { return p.admin.Can(ability) }

// CloseTenant is Controller's.
func (p provisioner) CloseTenant(_ context.Context, t target.Tenant) error {
	return p.srv.SetTenantStatus(t.ID, mockserver.TenantClosed)
}

// FreezeBudget is Controller's.
func (p provisioner) FreezeBudget(_ context.Context, b *target.Budget) error {
	return p.srv.SetBudgetStatus(b.ScopePath(), gen.UnitEnum(b.Unit), mockserver.BudgetFrozen)
}

// UnfreezeBudget is Controller's.
func (p provisioner) UnfreezeBudget(_ context.Context, b *target.Budget) error {
	return p.srv.SetBudgetStatus(b.ScopePath(), gen.UnitEnum(b.Unit), mockserver.BudgetActive)
}

// RepayDebt is Controller's. Funding is a matter of the admin routes.
func (p provisioner) RepayDebt(ctx context.Context, b *target.Budget, amount int64) error {
	return p.admin.RepayDebt(ctx, b, amount)
}
