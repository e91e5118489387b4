package target_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// all asks for one fixture of every kind.
func all() target.Wanted {
	w := target.Wanted{Run: "cf1"}
	for _, spec := range target.Catalogue() {
		if !spec.Ability {
			w.Fixtures = append(w.Fixtures, target.Want{Kind: spec.Kind, ID: string(spec.Kind)})
		}
	}
	return w
}

func provisioned(t *testing.T) (*mockserver.Server, *target.Admin, *target.Provisioned) {
	t.Helper()
	srv := mockserver.New(mockserver.WithoutDefaults())
	a := &target.Admin{BaseURL: srv.URL(), Key: mockserver.DefaultAdminKey, Client: srv.Client()}
	made, err := a.Provision(t.Context(), all())
	require.NoError(t, err)
	return srv, a, made
}

func fixture(t *testing.T, made *target.Provisioned, kind target.Kind) *target.Fixture {
	t.Helper()
	i := slices.IndexFunc(made.Fixtures, func(f *target.Fixture) bool { return f.Kind == kind })
	require.GreaterOrEqual(t, i, 0, "%s was not made", kind)
	return made.Fixtures[i]
}

func TestAdminRoutesMakeBudgetsAsTheCatalogueSays(t *testing.T) {
	srv, _, made := provisioned(t)
	assert.Equal(t, "cf1-a", made.A.ID)
	assert.Equal(t, "cf1-b", made.B.ID)
	for _, spec := range target.Catalogue() {
		if spec.Ability || spec.Kind == target.ClosedBudget || spec.Kind == target.CorruptTenant || spec.Kind == target.Unbudgeted {
			continue
		}
		f := fixture(t, made, spec.Kind)
		require.Len(t, f.Budgets, len(spec.Budgets))
		for i, look := range spec.Budgets {
			b := f.Budgets[i]
			got, err := srv.Balance(b.ScopePath(), gen.UnitEnum(b.Unit))
			require.NoError(t, err, "%s", spec.Kind)
			assert.Equal(t, look.Allocated, got.Remaining, "%s remaining", spec.Kind)
			assert.Equal(t, look.Debt, got.Debt, "%s debt", spec.Kind)
			assert.Equal(t, look.OverdraftLimit, got.OverdraftLimit, "%s limit", spec.Kind)
			assert.Equal(t, spec.Kind == target.OverLimit || spec.Kind == target.Reconcilable, got.OverLimit, "%s over-limit", spec.Kind)
			want := mockserver.BudgetStatus(look.Status)
			if want == "" {
				want = mockserver.BudgetActive
			}
			if spec.Kind == target.ClosedTenant {
				want = mockserver.BudgetClosed
			}
			assert.Equal(t, want, got.Status, "%s status", spec.Kind)
		}
	}
}

// post sends a request of the protocol and returns the status and the body.
func post(t *testing.T, srv *mockserver.Server, by target.Tenant, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Cycles-API-Key", by.APIKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(got)
}

func create(t *testing.T, srv *mockserver.Server, f *target.Fixture) (int, string) {
	t.Helper()
	b := f.Budgets[0]
	return post(t, srv, f.Tenant, "/v1/reservations", `{"idempotency_key":"`+f.ID+`","ttl_ms":60000,"subject":{"tenant":"`+b.Subject["tenant"]+`","workspace":"`+b.Subject["workspace"]+
		`","agent":"x"},"action":{"kind":"k","name":"n"},"estimate":{"unit":"`+b.Unit+`","amount":1}}`)
}

func TestAdminRoutesMakeTenantsAndKeysAsTheCatalogueSays(t *testing.T) {
	srv, _, made := provisioned(t)
	for kind, want := range map[target.Kind]string{
		target.Funded:       `"decision":"ALLOW"`,
		target.FundedB:      `"decision":"ALLOW"`,
		target.Capped:       `"decision":"ALLOW_WITH_CAPS"`,
		target.Frozen:       `"error":"BUDGET_FROZEN"`,
		target.Indebted:     `"error":"DEBT_OUTSTANDING"`,
		target.OverLimit:    `"error":"OVERDRAFT_LIMIT_EXCEEDED"`,
		target.Unbudgeted:   `"error":"NOT_FOUND"`,
		target.ClosedTenant: `"error":"TENANT_CLOSED"`,
		target.TTLCeiling:   `"remaining_ttl_ms":5000`,
	} {
		_, body := create(t, srv, fixture(t, made, kind))
		assert.Contains(t, body, want, "%s", kind)
	}
	status, _ := post(t, srv, fixture(t, made, target.RevokedKey).Tenant, "/v1/reservations", "{}")
	assert.Equal(t, http.StatusUnauthorized, status)
	assert.NotEqual(t, made.A.ID, fixture(t, made, target.ClosableTenant).Tenant.ID)
}

func TestAdminRoutesChangeFixtures(t *testing.T) {
	srv, a, made := provisioned(t)
	for _, ability := range []target.Kind{target.CanCloseTenant, target.CanFreeze, target.CanRepayDebt} {
		assert.True(t, a.Can(ability))
	}
	f := fixture(t, made, target.Funded)
	require.NoError(t, a.FreezeBudget(t.Context(), f.Budgets[0]))
	_, body := create(t, srv, f)
	assert.Contains(t, body, "BUDGET_FROZEN")
	require.NoError(t, a.UnfreezeBudget(t.Context(), f.Budgets[0]))
	_, body = create(t, srv, f)
	assert.Contains(t, body, "ALLOW")

	debtor := fixture(t, made, target.OverLimit)
	require.NoError(t, a.RepayDebt(t.Context(), debtor.Budgets[0], 45))
	b, err := srv.Balance(debtor.Budgets[0].ScopePath(), gen.UnitEnum(debtor.Budgets[0].Unit))
	require.NoError(t, err)
	assert.Equal(t, int64(5), b.Debt)
	assert.False(t, b.OverLimit)

	closing := fixture(t, made, target.ClosableTenant)
	require.NoError(t, a.CloseTenant(t.Context(), closing.Tenant))
	_, body = create(t, srv, closing)
	assert.Contains(t, body, "TENANT_CLOSED")
}

func TestTwoRunsOnOneServerDoNotMeet(t *testing.T) {
	_, a, first := provisioned(t)
	second, err := a.Provision(t.Context(), target.Wanted{Run: "cf2", Fixtures: all().Fixtures})
	require.NoError(t, err)
	taken := map[string]bool{}
	for _, f := range slices.Concat(first.Fixtures, second.Fixtures) {
		for _, b := range f.Budgets {
			key := b.ScopePath() + b.Unit
			assert.False(t, taken[key], key)
			taken[key] = true
		}
	}
}

func TestRefusalByTheAdminRoutesSaysWhatWasAskedWithoutTheKey(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "no admin: "+r.Header.Get("X-Admin-API-Key"))
	}))
	defer srv.Close()
	_, err := (&target.Admin{BaseURL: srv.URL, Key: "top-secret"}).Provision(t.Context(), all())
	require.ErrorContains(t, err, "POST /v1/admin/tenants was answered 403 no admin")
	assert.NotContains(t, err.Error(), "top-secret")

	_, err = (&target.Admin{BaseURL: "http://127.0.0.1:1", Key: "k"}).Provision(t.Context(), all())
	assert.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&target.Admin{BaseURL: srv.URL, Key: "k"}).Provision(ctx, all())
	assert.ErrorIs(t, err, context.Canceled)
}
