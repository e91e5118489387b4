package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Admin makes fixtures through the governance-admin routes: tenants, keys,
// budgets and policies of its own for every run, which stay behind afterwards.
//
// What those routes have no way for is left out: a closed budget of an open
// tenant and a tenant record that cannot be read, and where the server does not
// bring it about, a budget in debt that is not over-limit (or is) and a closed
// tenant whose key still works.
type Admin struct {
	// BaseURL is where the admin routes are, without /v1.
	BaseURL string
	// RuntimeURL is where the protocol is served, needed to bring a budget into
	// debt. Empty means BaseURL.
	RuntimeURL string
	// Key is sent as X-Admin-API-Key.
	Key string
	// Client carries the requests; nil means http.DefaultClient.
	Client *http.Client

	mu       sync.Mutex
	run      string
	requests int
}

// Provision makes the tenants and everything that the routes allow.
func (a *Admin) Provision(ctx context.Context, want Wanted) (*Provisioned, error) {
	a.mu.Lock()
	a.run = want.Run
	a.mu.Unlock()
	made := &Provisioned{AdminKey: a.Key}
	var err error
	if made.A, err = a.tenant(ctx, want.Run+"-a", nil); err != nil {
		return nil, err
	}
	if made.B, err = a.tenant(ctx, want.Run+"-b", nil); err != nil {
		return nil, err
	}
	specs := make(map[Kind]Spec)
	for _, s := range Catalogue() {
		specs[s.Kind] = s
	}
	for _, w := range want.Fixtures {
		f, err := a.fixture(ctx, made, specs[w.Kind], w.ID)
		if err != nil {
			return nil, fmt.Errorf("fixture %s: %w", w.ID, err)
		}
		if f != nil {
			made.Fixtures = append(made.Fixtures, f)
		}
	}
	return made, nil
}

// fixture makes one fixture, or none when the routes have no way.
func (a *Admin) fixture(ctx context.Context, made *Provisioned, spec Spec, id string) (*Fixture, error) {
	switch spec.Kind {
	case ClosedBudget, CorruptTenant:
		return nil, nil
	}
	f := &Fixture{Kind: spec.Kind, ID: id, Limit: spec.Limit}
	var err error
	if f.Tenant, err = a.owner(ctx, made, spec, id); err != nil {
		return nil, err
	}
	if spec.Kind == RevokedKey {
		return f, nil
	}
	f.Budgets = Layout(f.Tenant, spec, id)
	if spec.Kind == Unbudgeted {
		return f, nil
	}
	for i, b := range f.Budgets {
		over, err := a.budget(ctx, b, spec.Budgets[i])
		var refused *adminError
		if spec.Kind == Tenantless && errors.As(err, &refused) {
			return nil, nil // the server has no such scopes
		}
		if err != nil || over != (spec.Kind == OverLimit || spec.Kind == Reconcilable) {
			return nil, err
		}
	}
	switch spec.Kind {
	case Frozen:
		return f, a.FreezeBudget(ctx, f.Budgets[0])
	case Capped:
		return f, a.caps(ctx, f.Budgets[0])
	case ClosedTenant:
		if err := a.CloseTenant(ctx, f.Tenant); err != nil {
			return nil, err
		}
		works, err := a.works(ctx, f.Tenant)
		if !works {
			return nil, err
		}
	}
	return f, nil
}

// owner is the tenant of a fixture: one of the two, or one of its own where the
// fixture is about the tenant.
func (a *Admin) owner(ctx context.Context, made *Provisioned, spec Spec, id string) (Tenant, error) {
	name := a.run + "-" + id
	switch spec.Kind {
	case FundedB:
		return made.B, nil
	case ClosedTenant, ClosableTenant:
		return a.tenant(ctx, name, nil)
	case MaxExtensions:
		return a.tenant(ctx, name, map[string]any{"max_reservation_extensions": spec.Limit})
	case TTLCeiling:
		return a.tenant(ctx, name, map[string]any{"max_reservation_ttl_ms": spec.Limit})
	case RevokedKey:
		key, id, err := a.key(ctx, made.A.ID)
		if err != nil {
			return Tenant{}, err
		}
		return Tenant{ID: made.A.ID, APIKey: key}, a.do(ctx, http.MethodDelete, "/v1/admin/api-keys/"+url.PathEscape(id), nil, nil)
	default:
		return made.A, nil
	}
}

func (a *Admin) tenant(ctx context.Context, id string, settings map[string]any) (Tenant, error) {
	body := map[string]any{"tenant_id": id, "name": id}
	for k, v := range settings {
		body[k] = v
	}
	if err := a.do(ctx, http.MethodPost, "/v1/admin/tenants", body, nil); err != nil {
		return Tenant{}, err
	}
	key, _, err := a.key(ctx, id)
	return Tenant{ID: id, APIKey: key}, err
}

func (a *Admin) key(ctx context.Context, tenant string) (secret, id string, err error) {
	var made struct {
		ID     string `json:"key_id"`
		Secret string `json:"key_secret"`
	}
	err = a.do(ctx, http.MethodPost, "/v1/admin/api-keys", map[string]any{
		"tenant_id": tenant, "name": "conformance",
		"permissions": []string{"reservations:create", "reservations:commit", "reservations:release", "reservations:extend", "reservations:list", "balances:read"},
	}, &made)
	if err == nil && made.Secret == "" {
		err = errors.New("the answer to a new API key has no key_secret")
	}
	return made.Secret, made.ID, err
}

// budget makes a budget that looks as spec says, and tells whether it is
// over-limit. Debt comes about by an event beyond what is there; setting the
// allocation afterwards keeps the debt.
func (a *Admin) budget(ctx context.Context, b *Budget, spec BudgetSpec) (overLimit bool, err error) {
	allocated, limit := spec.Allocated, spec.OverdraftLimit
	if spec.Debt > 0 {
		allocated, limit = 0, spec.Debt
	}
	err = a.do(ctx, http.MethodPost, "/v1/admin/budgets", map[string]any{
		"tenant_id": b.Tenant.ID, "scope": b.ScopePath(), "unit": b.Unit,
		"allocated":       map[string]any{"unit": b.Unit, "amount": allocated},
		"overdraft_limit": map[string]any{"unit": b.Unit, "amount": limit},
	}, nil)
	if err != nil || spec.Debt == 0 {
		return false, err
	}
	if err := a.overdraw(ctx, b, spec.Debt); err != nil {
		return false, err
	}
	if err := a.fund(ctx, b, "RESET", spec.Allocated+spec.Debt); err != nil {
		return false, err
	}
	var now struct {
		OverLimit bool `json:"is_over_limit"`
	}
	err = a.do(ctx, http.MethodPatch, "/v1/admin/budgets"+query(b), map[string]any{
		"overdraft_limit": map[string]any{"unit": b.Unit, "amount": spec.OverdraftLimit},
	}, &now)
	return now.OverLimit, err
}

func (a *Admin) overdraw(ctx context.Context, b *Budget, amount int64) error {
	body := map[string]any{
		"idempotency_key": a.serial(), "subject": b.Subject, "overage_policy": "ALLOW_WITH_OVERDRAFT",
		"action": map[string]any{"kind": "conformance.setup", "name": "overdraw"},
		"actual": map[string]any{"unit": b.Unit, "amount": amount},
	}
	_, err := a.send(ctx, cmp.Or(a.RuntimeURL, a.BaseURL), http.MethodPost, "/v1/events", http.Header{"X-Cycles-Api-Key": {b.Tenant.APIKey}}, body)
	return err
}

func (a *Admin) caps(ctx context.Context, b *Budget) error {
	return a.do(ctx, http.MethodPost, "/v1/admin/policies", map[string]any{
		"tenant_id": b.Tenant.ID, "name": "conformance-caps", "scope_pattern": b.ScopePath() + "/*",
		"caps": map[string]any{"max_tokens": 1000, "tool_denylist": []string{"shell"}},
	}, nil)
}

// works tells whether the tenant's key is still taken.
func (a *Admin) works(ctx context.Context, tenant Tenant) (bool, error) {
	_, err := a.send(ctx, cmp.Or(a.RuntimeURL, a.BaseURL), http.MethodPost, "/v1/reservations", http.Header{"X-Cycles-Api-Key": {tenant.APIKey}}, map[string]any{})
	var refused *adminError
	if errors.As(err, &refused) {
		return refused.status != http.StatusUnauthorized, nil
	}
	return err == nil, err
}

// Can is Controller's: the admin routes can do all of it.
func (a *Admin) Can(ability Kind) bool {
	return ability == CanCloseTenant || ability == CanFreeze || ability == CanRepayDebt
}

// CloseTenant is Controller's.
func (a *Admin) CloseTenant(ctx context.Context, tenant Tenant) error {
	return a.do(ctx, http.MethodPatch, "/v1/admin/tenants/"+url.PathEscape(tenant.ID), map[string]any{"status": "CLOSED"}, nil)
}

// FreezeBudget is Controller's.
func (a *Admin) FreezeBudget(ctx context.Context, b *Budget) error {
	return a.do(ctx, http.MethodPost, "/v1/admin/budgets/freeze"+query(b), map[string]any{"reason": "conformance"}, nil)
}

// UnfreezeBudget is Controller's.
func (a *Admin) UnfreezeBudget(ctx context.Context, b *Budget) error {
	return a.do(ctx, http.MethodPost, "/v1/admin/budgets/unfreeze"+query(b), map[string]any{"reason": "conformance"}, nil)
}

// RepayDebt is Controller's.
func (a *Admin) RepayDebt(ctx context.Context, b *Budget, amount int64) error {
	return a.fund(ctx, b, "REPAY_DEBT", amount)
}

func (a *Admin) fund(ctx context.Context, b *Budget, operation string, amount int64) error {
	return a.do(ctx, http.MethodPost, "/v1/admin/budgets/fund"+query(b), map[string]any{
		"operation": operation, "idempotency_key": a.serial(), "reason": "conformance",
		"amount": map[string]any{"unit": b.Unit, "amount": amount},
	}, nil)
}

// serial is an idempotency key.
func (a *Admin) serial() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	return fmt.Sprintf("%s-setup-%d", a.run, a.requests)
}

func query(b *Budget) string {
	return "?" + url.Values{"scope": {b.ScopePath()}, "unit": {b.Unit}, "tenant_id": {b.Tenant.ID}}.Encode()
}

// adminError is a refusal by the admin routes.
type adminError struct {
	call   string
	status int
	body   string
}

func (e *adminError) Error() string {
	return fmt.Sprintf("%s was answered %d %s", e.call, e.status, e.body)
}

func (a *Admin) do(ctx context.Context, method, path string, body, answer any) error {
	got, err := a.send(ctx, a.BaseURL, method, path, http.Header{"X-Admin-Api-Key": {a.Key}}, body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(got, answer)
}

func (a *Admin) send(ctx context.Context, base, method, path string, header http.Header, body any) ([]byte, error) {
	payload := []byte(nil)
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	client := a.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode > 299 {
		call, _, _ := strings.Cut(path, "?")
		body := strings.ReplaceAll(string(got[:min(len(got), 300)]), a.Key, "***")
		return nil, &adminError{call: method + " " + call, status: resp.StatusCode, body: body}
	}
	return got, nil
}
