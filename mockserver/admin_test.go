package mockserver_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// admin is the holder of the admin key on an empty server.
func admin(t *testing.T) *world {
	w := newWorld(t, mockserver.WithoutDefaults())
	w.key = ""
	return w
}

func (w *world) adm(method, path, body string) *reply {
	w.t.Helper()
	return w.call(method, "/v1/admin/"+path, body, "X-Admin-API-Key", mockserver.DefaultAdminKey)
}

func (r *reply) is(status int) *reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, r.raw)
	return r
}

const budgetQuery = "?scope=tenant:acme-corp&unit=USD_MICROCENTS"

// provisioned is the quickstart's tenant with a budget of 1000.
func provisioned(t *testing.T) *world {
	w := admin(t)
	w.adm("POST", "tenants", `{"tenant_id":"acme-corp","name":"Acme"}`).is(201)
	w.adm("POST", "budgets", `{"tenant_id":"acme-corp","scope":"tenant:acme-corp","unit":"USD_MICROCENTS","allocated":{"unit":"USD_MICROCENTS","amount":1000},"overdraft_limit":{"unit":"USD_MICROCENTS","amount":100}}`).is(201)
	return w
}

func TestTheQuickstartSequence(t *testing.T) {
	w := admin(t)
	r := w.adm("POST", "tenants", `{"tenant_id":"acme-corp","name":"Acme Corporation"}`).is(201)
	assert.Equal(t, "ACTIVE", r.str("status"))
	k := w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"quickstart","permissions":["reservations:create","reservations:commit","balances:read"]}`).is(201)
	secret := k.str("key_secret")
	assert.True(t, strings.HasPrefix(secret, "cyc_live_"))
	assert.Equal(t, secret[:14], k.str("key_prefix"))
	w.key = secret
	b := w.call("POST", "/v1/admin/budgets", `{"scope":"tenant:acme-corp","unit":"USD_MICROCENTS","allocated":{"unit":"USD_MICROCENTS","amount":100000000}}`).is(201)
	assert.EqualValues(t, 100_000_000, b.int("remaining.amount"))
	id := w.call("POST", "/v1/reservations", `{"idempotency_key":"q1","subject":{"tenant":"acme-corp"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":500000},"ttl_ms":30000}`).ok().str("reservation_id")
	assert.Equal(t, "COMMITTED", w.commit(id, "q2", 350_000).ok().str("status"))
}

func TestAdminTenants(t *testing.T) {
	w := admin(t)
	w.adm("POST", "tenants", `{"tenant_id":"acme","name":"Acme","parent_tenant_id":null,"unknown":{"to":"us"},"metadata":{"a":1},"max_reservation_extensions":0,"max_reservation_ttl_ms":2000,"default_commit_overage_policy":"REJECT"}`).is(201)
	again := w.adm("POST", "tenants", `{"tenant_id":"acme","name":"Acme"}`).is(200)
	assert.EqualValues(t, 1, again.int("metadata.a"))
	assert.Equal(t, "REJECT", again.str("default_commit_overage_policy"))
	for _, body := range []string{`{"tenant_id":"ab","name":"x"}`, `{"tenant_id":"Acme","name":"x"}`, `{"tenant_id":"a b c","name":"x"}`, `{"name":"x"}`, `{"tenant_id":"abc"}`, `{"tenant_id":"abc","name":"x","max_reservation_extensions":-1}`, `[]`} {
		w.adm("POST", "tenants", body).fails(400, gen.ErrorCodeInvalidRequest)
	}
	w.adm("POST", "tenants", `{"tenant_id":"globex","name":"Globex"}`).is(201)
	l := w.adm("GET", "tenants?limit=1", "").ok()
	assert.Equal(t, "acme", l.str("tenants.0.tenant_id"))
	assert.Equal(t, true, l.at("has_more"))
	l = w.adm("GET", "tenants?limit=1&cursor="+url.QueryEscape(l.str("next_cursor")), "").ok()
	assert.Equal(t, "globex", l.str("tenants.0.tenant_id"))
	assert.Equal(t, false, l.at("has_more"))
	assert.Nil(t, l.at("next_cursor"))
	w.adm("GET", "tenants?cursor=x", "").fails(400, gen.ErrorCodeInvalidRequest)

	p := w.adm("PATCH", "tenants/acme", `{"name":"New","default_reservation_ttl_ms":1500}`).ok()
	assert.Equal(t, "New", p.str("name"))
	assert.EqualValues(t, 1500, p.int("default_reservation_ttl_ms"))
	assert.EqualValues(t, 2000, p.int("max_reservation_ttl_ms"))
	w.adm("PATCH", "tenants/acme", `{"status":"GONE"}`).fails(400, gen.ErrorCodeInvalidRequest)
	w.adm("PATCH", "tenants/nobody", `{"name":"x"}`).fails(404, gen.ErrorCodeNotFound)
	w.adm("GET", "tenants/nobody", "").fails(404, gen.ErrorCodeNotFound)
	assert.Equal(t, "CLOSED", w.adm("PATCH", "tenants/acme", `{"status":"CLOSED"}`).ok().str("status"))
	w.adm("PATCH", "tenants/acme", `{"status":"ACTIVE"}`).is(409)
	assert.Equal(t, "CLOSED", w.adm("GET", "tenants/acme", "").ok().str("status"))
}

func TestAdminTenantSettingsRuleItsReservations(t *testing.T) {
	w := provisioned(t)
	w.adm("PATCH", "tenants/acme-corp", `{"default_reservation_ttl_ms":1500,"max_reservation_extensions":0,"default_commit_overage_policy":"REJECT"}`).ok()
	w.key = w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"k"}`).is(201).str("key_secret")
	r := w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"acme-corp"}`, 10)).ok()
	assert.EqualValues(t, 1500, r.int("remaining_ttl_ms"))
	w.extend(r.str("reservation_id"), "x", 1).fails(409, gen.ErrorCodeMaxExtensionsExceeded)
	w.commit(r.str("reservation_id"), "c", 11).fails(409, gen.ErrorCodeBudgetExceeded)
}

func TestAdminKeys(t *testing.T) {
	w := provisioned(t)
	expires := epoch.Add(time.Minute).UTC().Format(time.RFC3339)
	k := w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"one","permissions":["p"],"scope_filter":["tenant:acme-corp"],"expires_at":"`+expires+`","metadata":{}}`).is(201)
	secret, id := k.str("key_secret"), k.str("key_id")
	l := w.adm("GET", "api-keys?tenant_id=acme-corp", "").ok()
	assert.Equal(t, id, l.str("keys.0.key_id"))
	assert.NotContains(t, l.raw, secret)
	holder := w.as(secret)
	who := holder.call("GET", "/v1/auth/introspect", "").ok()
	assert.Equal(t, "acme-corp", who.str("tenant_id"))
	assert.Equal(t, []any{"p"}, who.at("permissions"))
	assert.Equal(t, "admin", w.call("GET", "/v1/auth/introspect", "", "X-Admin-API-Key", mockserver.DefaultAdminKey).ok().str("auth_type"))
	w.Advance(time.Minute)
	holder.call("GET", "/v1/auth/introspect", "").ok()
	w.Advance(time.Millisecond)
	holder.call("GET", "/v1/auth/introspect", "").fails(401, gen.ErrorCodeUnauthorized)

	k = w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"two"}`).is(201)
	holder = w.as(k.str("key_secret"))
	holder.call("GET", "/v1/auth/introspect", "").ok()
	assert.Equal(t, "REVOKED", w.adm("DELETE", "api-keys/"+k.str("key_id"), "").ok().str("status"))
	holder.call("GET", "/v1/auth/introspect", "").fails(401, gen.ErrorCodeUnauthorized)
	w.adm("DELETE", "api-keys/nobody", "").fails(404, gen.ErrorCodeNotFound)
	w.adm("POST", "api-keys", `{"tenant_id":"nobody","name":"x"}`).fails(404, gen.ErrorCodeNotFound)
	w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"x","expires_at":"soon"}`).fails(400, gen.ErrorCodeInvalidRequest)
}

func TestAdminBudgets(t *testing.T) {
	w := provisioned(t)
	create := func(w *world, extra string) *reply {
		return w.call("POST", "/v1/admin/budgets", `{"scope":"tenant:acme-corp/agent:bot","unit":"TOKENS","allocated":{"unit":"TOKENS","amount":5}`+extra+`}`, adminHeader(w)...)
	}
	create(w, "").fails(400, gen.ErrorCodeInvalidRequest) // no tenant named
	create(w, `,"tenant_id":"nobody"`).fails(403, gen.ErrorCodeForbidden)
	b := create(w, `,"tenant_id":"acme-corp","rollover_policy":"NONE","metadata":{"a":1}`).is(201)
	assert.Equal(t, "tenant:acme-corp/agent:bot", b.str("scope"))
	assert.Equal(t, "ACTIVE", b.str("status"))
	create(w, `,"tenant_id":"acme-corp"`).is(409)
	w.adm("POST", "tenants", `{"tenant_id":"globex","name":"Globex"}`).is(201)
	other := w.as(w.adm("POST", "api-keys", `{"tenant_id":"globex","name":"k"}`).is(201).str("key_secret"))
	create(other, "").fails(403, gen.ErrorCodeForbidden)
	create(other, `,"tenant_id":"acme-corp"`).fails(403, gen.ErrorCodeForbidden)
	other.call("GET", "/v1/admin/budgets/lookup"+budgetQuery, "").fails(404, gen.ErrorCodeNotFound)
	assert.Len(t, other.call("GET", "/v1/admin/budgets", "").ok().at("ledgers"), 0)

	l := w.adm("GET", "budgets?limit=1", "").ok()
	assert.Equal(t, "tenant:acme-corp", l.str("ledgers.0.scope"))
	l = w.adm("GET", "budgets?tenant_id=acme-corp&cursor="+url.QueryEscape(l.str("next_cursor")), "").ok()
	assert.Equal(t, "tenant:acme-corp/agent:bot", l.str("ledgers.0.scope"))
	assert.EqualValues(t, 5, w.adm("GET", "budgets/lookup?scope=tenant:acme-corp/agent:bot&unit=TOKENS", "").ok().int("allocated.amount"))
	for _, q := range []string{"", "?scope=tenant:acme-corp", "?scope=tenant:acme-corp&unit=EUR", "?scope=tenant&unit=TOKENS"} {
		w.adm("GET", "budgets/lookup"+q, "").fails(400, gen.ErrorCodeInvalidRequest)
	}
	w.adm("GET", "budgets/lookup?scope=tenant:acme-corp&unit=TOKENS", "").fails(404, gen.ErrorCodeNotFound)
	for _, scope := range []string{"acme", "agent:x/tenant:acme-corp", "tenant:acme-corp/agent:", "tenant:acme-corp//agent:x", "tenant:a/tenant:b", ""} {
		w.adm("POST", "budgets", fmt.Sprintf(`{"tenant_id":"acme-corp","scope":%q,"unit":"TOKENS","allocated":{"unit":"TOKENS","amount":5}}`, scope)).fails(400, gen.ErrorCodeInvalidRequest)
	}
	w.adm("POST", "budgets", `{"tenant_id":"acme-corp","scope":"tenant:acme-corp","unit":"CREDITS","allocated":{"unit":"TOKENS","amount":5}}`).fails(400, gen.ErrorCodeUnitMismatch)

	p := w.adm("PATCH", "budgets"+budgetQuery, `{"overdraft_limit":{"unit":"USD_MICROCENTS","amount":7},"commit_overage_policy":"REJECT","metadata":{"b":2}}`).ok()
	assert.EqualValues(t, 7, p.int("overdraft_limit.amount"))
	assert.EqualValues(t, 2, p.int("metadata.b"))
	w.adm("PATCH", "budgets"+budgetQuery, `{"overdraft_limit":{"unit":"TOKENS","amount":7}}`).fails(400, gen.ErrorCodeUnitMismatch)

	assert.Equal(t, "FROZEN", w.adm("POST", "budgets/freeze"+budgetQuery, `{"reason":"audit"}`).ok().str("status"))
	assert.Equal(t, "FROZEN", w.adm("POST", "budgets/freeze"+budgetQuery, "").ok().str("status"))
	w.adm("POST", "budgets/fund"+budgetQuery+"&tenant_id=acme-corp", `{"operation":"CREDIT","amount":{"unit":"USD_MICROCENTS","amount":1}}`).fails(409, gen.ErrorCodeBudgetFrozen)
	assert.Equal(t, "ACTIVE", w.adm("POST", "budgets/unfreeze"+budgetQuery, "").ok().str("status"))
	w.adm("PATCH", "tenants/acme-corp", `{"status":"CLOSED"}`).ok()
	assert.Equal(t, "CLOSED", w.adm("GET", "budgets/lookup"+budgetQuery, "").ok().str("status"))
	w.adm("POST", "budgets/freeze"+budgetQuery, "").is(409)
	create(w, `,"tenant_id":"acme-corp"`).fails(409, gen.ErrorCodeTenantClosed)
}

// adminHeader is the admin key for whoever has no other.
func adminHeader(w *world) []string {
	if w.key != "" {
		return nil
	}
	return []string{"X-Admin-API-Key", mockserver.DefaultAdminKey}
}

func TestFunding(t *testing.T) {
	type row struct{ allocated, remaining, spent, debt int64 }
	for name, c := range map[string]struct {
		start mockserver.Budget
		body  string
		want  row
		over  bool
	}{
		"credit":                       {mockserver.Budget{Allocated: 100, Spent: 30}, `"operation":"CREDIT"`, row{150, 120, 30, 0}, false},
		"credit repays debt first":     {mockserver.Budget{Allocated: 100, Spent: 100, Debt: 20, OverdraftLimit: 100}, `"operation":"CREDIT"`, row{150, 30, 120, 0}, false},
		"credit below the debt":        {mockserver.Budget{Allocated: 100, Spent: 100, Debt: 80, OverdraftLimit: 100}, `"operation":"CREDIT"`, row{150, -30, 150, 30}, false},
		"credit leaves it over":        {mockserver.Budget{Spent: 0, Debt: 80, OverdraftLimit: 10}, `"operation":"CREDIT"`, row{50, -30, 50, 30}, true},
		"credit clears a capped scope": {mockserver.Budget{Allocated: 100, Spent: 100, OverLimit: true}, `"operation":"CREDIT"`, row{150, 50, 100, 0}, false},
		"debit":                        {mockserver.Budget{Allocated: 100, Spent: 30}, `"operation":"DEBIT"`, row{50, 20, 30, 0}, false},
		"reset":                        {mockserver.Budget{Allocated: 100, Spent: 80}, `"operation":"RESET"`, row{50, -30, 80, 0}, false},
		"reset spent":                  {mockserver.Budget{Allocated: 100, Spent: 80, Debt: 5, OverdraftLimit: 9}, `"operation":"RESET_SPENT"`, row{50, 45, 0, 5}, false},
		"reset spent to a value":       {mockserver.Budget{Allocated: 100, Spent: 80}, `"operation":"RESET_SPENT","spent":{"unit":"USD_MICROCENTS","amount":7}`, row{50, 43, 7, 0}, false},
		"repay debt":                   {mockserver.Budget{Allocated: 100, Spent: 100, Debt: 80, OverdraftLimit: 10}, `"operation":"REPAY_DEBT"`, row{100, -30, 100, 30}, true},
		"repay more than the debt":     {mockserver.Budget{Allocated: 100, Spent: 100, Debt: 20}, `"operation":"REPAY_DEBT"`, row{100, 0, 100, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.start.Scope = "tenant:acme"
			w := acme(t, c.start)
			before := w.balance("tenant:acme")
			path := "/v1/admin/budgets/fund?scope=tenant:acme&unit=USD_MICROCENTS"
			body := `{` + c.body + `,"amount":{"unit":"USD_MICROCENTS","amount":50},"reason":"r","idempotency_key":"f"}`
			r := w.call("POST", path, body).ok()
			b := w.balance("tenant:acme")
			assert.Equal(t, c.want, row{b.Allocated, b.Remaining, b.Spent, b.Debt})
			assert.Equal(t, c.over, b.OverLimit)
			assert.Equal(t, before.Remaining, r.int("previous_remaining.amount"))
			assert.Equal(t, b.Remaining, r.int("new_remaining.amount"))
			assert.Equal(t, b.Spent, r.int("new_spent.amount"))
			assert.Equal(t, r.raw, w.call("POST", path, body).ok().raw, "a repeat gets the first answer")
			assert.Equal(t, b, w.balance("tenant:acme"))
		})
	}
}

func TestFundingThatIsRefused(t *testing.T) {
	w := acme(t, mockserver.Budget{Scope: "tenant:acme", Allocated: 100, Spent: 60})
	path := "/v1/admin/budgets/fund?scope=tenant:acme&unit=USD_MICROCENTS"
	for body, want := range map[string]struct {
		status int
		code   gen.ErrorCode
	}{
		`{"operation":"DEBIT","amount":{"unit":"USD_MICROCENTS","amount":41}}`:                   {409, gen.ErrorCodeBudgetExceeded},
		`{"operation":"CREDIT","amount":{"unit":"USD_MICROCENTS","amount":9223372036854775807}}`: {400, gen.ErrorCodeInvalidRequest},
		`{"operation":"CREDIT","amount":{"unit":"TOKENS","amount":1}}`:                           {400, gen.ErrorCodeUnitMismatch},
		`{"operation":"GIVE","amount":{"unit":"USD_MICROCENTS","amount":1}}`:                     {400, gen.ErrorCodeInvalidRequest},
		`{"amount":{"unit":"USD_MICROCENTS","amount":1}}`:                                        {400, gen.ErrorCodeInvalidRequest},
	} {
		before := w.balance("tenant:acme")
		w.call("POST", path, body).fails(want.status, want.code)
		assert.Equal(t, before, w.balance("tenant:acme"))
	}
	w.key = ""
	w.call("POST", path, `{"operation":"CREDIT","amount":{"unit":"USD_MICROCENTS","amount":1}}`, "X-Admin-API-Key", mockserver.DefaultAdminKey).
		fails(400, gen.ErrorCodeInvalidRequest) // no tenant_id
}

func TestAdminPolicies(t *testing.T) {
	w := provisioned(t)
	p := w.adm("POST", "policies", `{"tenant_id":"acme-corp","name":"p","scope_pattern":"tenant:acme-corp/*","priority":3,"caps":{"max_tokens":7,"tool_allowlist":["a"]},"reservation_ttl_override":{"default_ttl_ms":2000,"max_extensions":1},"commit_overage_policy":"REJECT"}`).is(201)
	assert.EqualValues(t, 7, p.int("caps.max_tokens"))
	assert.Nil(t, p.at("reservation_ttl_override.max_ttl_ms"))
	l := w.adm("GET", "policies?tenant_id=acme-corp", "").ok()
	assert.Equal(t, p.str("policy_id"), l.str("policies.0.policy_id"))
	w.key = w.adm("POST", "api-keys", `{"tenant_id":"acme-corp","name":"k"}`).is(201).str("key_secret")
	r := w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"acme-corp","agent":"x"}`, 1)).ok()
	assert.Equal(t, "ALLOW_WITH_CAPS", r.str("decision"))
	assert.EqualValues(t, 2000, r.int("remaining_ttl_ms"))
	for _, body := range []string{
		`{"name":"p"}`, `{"name":"p","scope_pattern":"nonsense"}`, `{"name":"p","scope_pattern":"tenant:acme-corp","caps":{"max_tokens":-1}}`,
		`{"name":"p","scope_pattern":"tenant:acme-corp","caps":{"unknown":1}}`, `{"name":"p","scope_pattern":"tenant:acme-corp","reservation_ttl_override":{"max_ttl_ms":1}}`,
	} {
		w.call("POST", "/v1/admin/policies", body).fails(400, gen.ErrorCodeInvalidRequest)
	}
	w.call("POST", "/v1/admin/policies", `{"name":"p","scope_pattern":"tenant:globex/*"}`).fails(403, gen.ErrorCodeForbidden)
}

func TestAdminRoutesWantTheAdminKey(t *testing.T) {
	w := acme(t, plenty)
	for _, path := range []string{"/v1/admin/tenants", "/v1/admin/api-keys"} {
		w.call("GET", path, "").fails(401, gen.ErrorCodeUnauthorized)
		w.call("GET", path, "", "X-Admin-API-Key", "wrong").fails(401, gen.ErrorCodeUnauthorized)
	}
	w.call("POST", "/v1/admin/budgets/freeze?scope=tenant:acme&unit=USD_MICROCENTS", "").fails(401, gen.ErrorCodeUnauthorized)
	closed := newWorld(t, mockserver.WithAdminKey(""))
	closed.call("GET", "/v1/admin/tenants", "", "X-Admin-API-Key", " ").fails(401, gen.ErrorCodeUnauthorized)
	own := newWorld(t, mockserver.WithAdminKey("own"))
	own.call("GET", "/v1/admin/tenants", "", "X-Admin-API-Key", "own").ok()
}

func TestHealthNeedsNoKeyAndIsNotRemembered(t *testing.T) {
	w := admin(t)
	for _, path := range []string{"/healthz", "/actuator/health/readiness", "/actuator/health/liveness"} {
		assert.Equal(t, "UP", w.call("GET", path, "").ok().str("status"))
	}
	assert.Empty(t, w.Requests())
}
