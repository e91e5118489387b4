package checks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/attest"
	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/mocktarget"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// place is a server of its own for one check, with the fixtures that the check
// needs and a virtual clock. Nothing else runs there, so a check is seen alone.
type place struct {
	srv     *mockserver.Server
	corrupt *mocktarget.Corruption
	wrap    defects.Wrap // nil for a server that is right
	handler http.Handler
	policy  mockserver.Policy
	watched func(*suite.Answer)
}

// capped is the cap of the capped fixture.
var capped int64 = 500

func newPlace(t testing.TB, policy mockserver.Policy, wrap defects.Wrap, opts ...mockserver.Option) *place {
	opts = append([]mockserver.Option{
		mockserver.WithoutDefaults(),
		mockserver.WithJournalSize(0),
		mockserver.WithVirtualTime(time.UnixMilli(1_800_000_000_000)),
		mockserver.WithTenant(mockserver.Tenant{ID: "a", Keys: []string{"key-of-a"}, Policy: policy}),
		mockserver.WithTenant(mockserver.Tenant{ID: "b", Keys: []string{"key-of-b"}, Policy: policy}),
		mockserver.WithScopePolicy(mockserver.ScopePolicy{
			Tenant: "a", Pattern: "tenant:a/workspace:" + string(target.Capped) + "/*", Caps: &gen.Caps{MaxTokens: &capped},
		}),
	}, opts...)
	srv := mockserver.New(opts...)
	return &place{srv: srv, corrupt: &mocktarget.Corruption{Next: srv}, wrap: wrap, policy: policy}
}

// serving is the server as the check needs it. Evidence costs a signature for
// each answer, so it is kept only where it is looked at.
func (p *place) serving(c suite.Check) http.Handler {
	h := http.Handler(p.corrupt)
	if slices.Contains(c.Ops, suite.Evidence) || slices.Contains(c.Ops, suite.JWKS) || slices.Contains(c.Needs, target.Evidence) {
		h = attest.New(h, p.srv.Now, false)
	}
	if p.wrap != nil {
		h = inTurn(p.wrap(h))
	}
	return h
}

// inTurn serves one request at a time, so that what a broken server remembers
// does not depend on who came first.
func inTurn(next http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// execute runs a check there.
func (p *place) execute(t testing.TB, c suite.Check) suite.Result {
	p.handler = p.serving(c)
	env := suite.Env{
		Backend:    p,
		Prefix:     "p",
		A:          target.Tenant{ID: "a", APIKey: "key-of-a"},
		B:          target.Tenant{ID: "b", APIKey: "key-of-b"},
		AdminKey:   mockserver.DefaultAdminKey,
		Fixtures:   map[target.Kind]*target.Fixture{},
		Controller: p,
		Legacy:     p.policy.Legacy,
	}
	for _, spec := range target.Catalogue() {
		for _, kind := range c.Needs {
			if kind == spec.Kind && !spec.Ability {
				env.Fixtures[kind] = p.provide(t, spec)
			}
		}
	}
	return suite.Execute(t.Context(), &c, env)
}

// owner is the tenant of a fixture. Kinds that are about tenants have one of
// their own; its status is set when its budgets are there.
func (p *place) owner(t testing.TB, spec target.Spec) (tenant target.Tenant, status mockserver.TenantStatus) {
	policy := p.policy
	switch spec.Kind {
	case target.FundedB:
		return target.Tenant{ID: "b", APIKey: "key-of-b"}, ""
	case target.RevokedKey:
		return target.Tenant{ID: "a", APIKey: "revoked-key-of-a"}, ""
	case target.ClosedTenant:
		status = mockserver.TenantClosed
	case target.CorruptTenant:
		p.corrupt.Befall("key-of-" + string(spec.Kind))
	case target.MaxExtensions:
		policy.MaxExtensions = int(spec.Limit)
	case target.TTLCeiling:
		policy.MaxTTL = time.Duration(spec.Limit) * time.Millisecond
	case target.ClosableTenant:
	default:
		return target.Tenant{ID: "a", APIKey: "key-of-a"}, ""
	}
	id := string(spec.Kind)
	require.NoError(t, p.srv.AddTenant(mockserver.Tenant{ID: id, Keys: []string{"key-of-" + id}, Policy: policy}))
	return target.Tenant{ID: id, APIKey: "key-of-" + id}, status
}

// provide makes a fixture of the kind.
func (p *place) provide(t testing.TB, spec target.Spec) *target.Fixture {
	tenant, status := p.owner(t, spec)
	f := &target.Fixture{Kind: spec.Kind, ID: string(spec.Kind), Tenant: tenant, Limit: spec.Limit}
	f.Budgets = target.Layout(tenant, spec, f.ID)
	for i, b := range f.Budgets {
		if spec.Kind == target.Unbudgeted {
			break
		}
		want := spec.Budgets[i]
		require.NoError(t, p.srv.AddBudget(mockserver.Budget{
			Scope: b.ScopePath(), Tenant: tenant.ID, Unit: gen.UnitEnum(b.Unit), Allocated: want.Allocated + want.Debt,
			OverdraftLimit: want.OverdraftLimit, Debt: want.Debt, Status: mockserver.BudgetStatus(want.Status),
		}))
	}
	if status != "" {
		require.NoError(t, p.srv.SetTenantStatus(tenant.ID, status))
	}
	return f
}

func (p *place) Do(ctx context.Context, r *suite.Request) (*suite.Answer, error) {
	body, err := r.Payload()
	if err != nil {
		return nil, err
	}
	path := r.Path
	if len(r.Query) > 0 {
		path += "?" + r.Query.Encode()
	}
	in := httptest.NewRequestWithContext(ctx, r.Method, path, bytes.NewReader(body))
	in.Header = r.Header.Clone()
	w := httptest.NewRecorder()
	a := &suite.Answer{Request: r, Sent: p.srv.Now()}
	p.handler.ServeHTTP(w, in)
	a.Received = p.srv.Now()
	a.Status, a.Header, a.Body = w.Code, w.Header(), w.Body.Bytes()
	a.Decode()
	if p.watched != nil {
		p.watched(a)
	}
	return a, nil
}

func (p *place) Now() time.Time { return p.srv.Now() }

func (p *place) Wait(_ context.Context, until time.Time) error {
	if d := until.Sub(p.srv.Now()); d > 0 {
		p.srv.Advance(d)
	}
	return nil
}

func (p *place) Can(target.Kind) bool { return true }

func (p *place) CloseTenant(_ context.Context, tenant target.Tenant) error {
	return p.srv.SetTenantStatus(tenant.ID, mockserver.TenantClosed)
}

func (p *place) FreezeBudget(_ context.Context, b *target.Budget) error {
	return p.srv.SetBudgetStatus(b.ScopePath(), gen.UnitEnum(b.Unit), mockserver.BudgetFrozen)
}

func (p *place) UnfreezeBudget(_ context.Context, b *target.Budget) error {
	return p.srv.SetBudgetStatus(b.ScopePath(), gen.UnitEnum(b.Unit), mockserver.BudgetActive)
}

// RepayDebt goes through the operator's plane.
func (p *place) RepayDebt(ctx context.Context, b *target.Budget, amount int64) error {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost,
		"/v1/admin/budgets/fund?scope="+b.ScopePath()+"&unit="+b.Unit+"&tenant_id="+b.Tenant.ID,
		bytes.NewBufferString(fmt.Sprintf(`{"operation":"REPAY_DEBT","amount":{"unit":%q,"amount":%d}}`, b.Unit, amount)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Admin-API-Key", mockserver.DefaultAdminKey)
	w := httptest.NewRecorder()
	p.srv.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return errors.New(w.Body.String())
	}
	return nil
}
