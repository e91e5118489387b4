package mockserver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestHeadersOfAnAnswer(t *testing.T) {
	w := acme(t, plenty)
	for name, r := range map[string]*reply{
		"success": w.reserve("k", 1),
		"denial":  w.reserve("k2", 1e7),
		"unknown": w.call("GET", "/v1/nowhere", ""),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "acme", r.header.Get("X-Cycles-Tenant"))
			assert.Equal(t, "-1", r.header.Get("X-RateLimit-Remaining"))
			assert.Equal(t, "0", r.header.Get("X-RateLimit-Reset"))
			assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		})
	}
	r := w.as("wrong").call("GET", "/v1/balances?tenant=acme", "")
	assert.Equal(t, 401, r.status)
	assert.Empty(t, r.header.Values("X-Cycles-Tenant"))
	assert.Empty(t, r.header.Values("X-RateLimit-Remaining"))
	assert.Equal(t, "GET, POST", w.call("DELETE", "/v1/reservations", "").header.Get("Allow"))
}

func TestTraceID(t *testing.T) {
	const (
		a    = "4bf92f3577b34da6a3ce929d0e0e4736"
		b    = "0123456789abcdef0123456789abcdef"
		zero = "00000000000000000000000000000000"
		span = "00f067aa0ba902b7"
	)
	for name, c := range map[string]struct {
		header []string
		want   string // "" is a new one
	}{
		"traceparent":                   {[]string{"traceparent", "00-" + a + "-" + span + "-01"}, a},
		"not sampled":                   {[]string{"traceparent", "00-" + a + "-" + span + "-00"}, a},
		"own header":                    {[]string{"X-Cycles-Trace-Id", b}, b},
		"both, traceparent wins":        {[]string{"X-Cycles-Trace-Id", b, "traceparent", "00-" + a + "-" + span + "-01"}, a},
		"malformed traceparent":         {[]string{"X-Cycles-Trace-Id", b, "traceparent", "00-" + a + "-01"}, b},
		"other version":                 {[]string{"X-Cycles-Trace-Id", b, "traceparent", "01-" + a + "-" + span + "-01"}, b},
		"zero trace":                    {[]string{"X-Cycles-Trace-Id", b, "traceparent", "00-" + zero + "-" + span + "-01"}, b},
		"zero span":                     {[]string{"X-Cycles-Trace-Id", b, "traceparent", "00-" + a + "-0000000000000000-01"}, b},
		"upper case is malformed":       {[]string{"X-Cycles-Trace-Id", strings.ToUpper(a), "traceparent", "00-" + strings.ToUpper(a) + "-" + span + "-01"}, ""},
		"both malformed":                {[]string{"X-Cycles-Trace-Id", zero, "traceparent", "garbage"}, ""},
		"none":                          {nil, ""},
		"flags that are no hexadecimal": {[]string{"traceparent", "00-" + a + "-" + span + "-0x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			r := w.call("GET", "/v1/balances?tenant=acme", "", c.header...).ok()
			got := r.header.Get("X-Cycles-Trace-Id")
			if c.want != "" {
				assert.Equal(t, c.want, got)
				return
			}
			assert.Regexp(t, `^[0-9a-f]{32}$`, got)
			assert.NotContains(t, []string{a, b, zero}, got)
		})
	}
}

func TestDryRunEvaluatesAndChangesNothing(t *testing.T) {
	w := acme(t, plenty)
	w.held("k", 100)
	r := w.reserve("dry", 50, `"dry_run":true`).ok()
	assert.Equal(t, "ALLOW", r.str("decision"))
	assert.EqualValues(t, 50, r.int("reserved.amount"))
	assert.EqualValues(t, 100, r.int("balances.0.reserved.amount"), "the current balance")
	for _, member := range []string{"reservation_id", "expires_at_ms", "remaining_ttl_ms"} {
		assert.Nil(t, r.at(member), member)
	}
	assert.EqualValues(t, 100, w.balance("tenant:acme").Reserved)
	assert.Equal(t, r.raw, w.reserve("dry", 50, `"dry_run":true`).ok().raw)
	w.reserve("dry", 50).fails(409, gen.ErrorCodeIdempotencyMismatch)

	denied := w.reserve("dry2", 1e7, `"dry_run":true`).ok()
	assert.Equal(t, "DENY", denied.str("decision"))
	assert.Equal(t, []any{"tenant:acme"}, denied.at("affected_scopes"))
	assert.Nil(t, denied.at("reserved"))
	nothing := w.call("POST", "/v1/reservations", spendBody("dry3", "estimate", `{"agent":"x"}`, 1, `"dry_run":true`)).ok()
	assert.Equal(t, "BUDGET_NOT_FOUND", nothing.str("reason_code"))
}

func TestDecide(t *testing.T) {
	w := acme(t, plenty)
	r := w.call("POST", "/v1/decide", reserveBody("d", 10)).ok()
	assert.Equal(t, "ALLOW", r.str("decision"))
	assert.Equal(t, []any{"tenant:acme"}, r.at("affected_scopes"))
	w.held("k", 1e6)
	assert.Equal(t, r.raw, w.call("POST", "/v1/decide", reserveBody("d", 10)).ok().raw, "a replay is what was")
	assert.Equal(t, "BUDGET_EXCEEDED", w.call("POST", "/v1/decide", reserveBody("d2", 10)).ok().str("reason_code"))
	w.call("POST", "/v1/decide", reserveBody("d", 11)).fails(409, gen.ErrorCodeIdempotencyMismatch)
	w.call("POST", "/v1/decide", strings.Replace(reserveBody("d3", 1), "USD_MICROCENTS", "CREDITS", 1)).fails(400, gen.ErrorCodeUnitMismatch)
}

func TestUnitMismatchTellsTheUnits(t *testing.T) {
	w := acme(t, plenty)
	for _, r := range []*reply{
		w.call("POST", "/v1/reservations", strings.Replace(reserveBody("k", 1), "USD_MICROCENTS", "TOKENS", 1)),
		w.call("POST", "/v1/events", strings.Replace(spendBody("e", "actual", `{"tenant":"acme"}`, 1), "USD_MICROCENTS", "TOKENS", 1)),
		w.call("POST", "/v1/reservations/"+w.held("h", 1)+"/commit", inTokens),
	} {
		r.fails(400, gen.ErrorCodeUnitMismatch)
		assert.Equal(t, "tenant:acme", r.str("details.scope"))
		assert.Equal(t, "TOKENS", r.str("details.requested_unit"))
		assert.Equal(t, []any{"USD_MICROCENTS"}, r.at("details.expected_units"))
	}
}

func TestABudgetInTheUnitAtAnyLevelIsEnough(t *testing.T) {
	w := acme(t, plenty, mockserver.Budget{Scope: childScope, Unit: gen.UnitEnumTokens, Allocated: 10})
	body := strings.Replace(spendBody("k", "estimate", inChild, 1), "USD_MICROCENTS", "TOKENS", 1)
	r := w.call("POST", "/v1/reservations", body).ok()
	assert.Equal(t, []any{parentScope, childScope}, r.at("affected_scopes"))
	assert.Len(t, r.at("balances"), 1)
}

func TestEventReplayIs201AndIgnoresTheClientsTime(t *testing.T) {
	w := acme(t, plenty)
	first := w.event("e", 10, `"client_time_ms":1`).created()
	assert.Equal(t, "APPLIED", first.str("status"))
	assert.Equal(t, first.raw, w.event("e", 10, `"client_time_ms":2`).created().raw)
	assert.Equal(t, first.raw, w.event("e", 10).created().raw)
	w.event("e", 11).fails(409, gen.ErrorCodeIdempotencyMismatch)
	assert.EqualValues(t, 10, w.balance("tenant:acme").Spent)
}

func TestScopesOfASubject(t *testing.T) {
	for name, c := range map[string]struct {
		subject string
		scopes  []any
	}{
		"gaps are skipped": {`{"tenant":"acme","agent":"Bot"}`, []any{"tenant:acme", "tenant:acme/agent:bot"}},
		"all levels": {`{"toolset":"t","agent":"a","workflow":"f","app":"p","workspace":"w","tenant":"acme"}`, []any{
			"tenant:acme", "tenant:acme/workspace:w", "tenant:acme/workspace:w/app:p", "tenant:acme/workspace:w/app:p/workflow:f",
			"tenant:acme/workspace:w/app:p/workflow:f/agent:a", "tenant:acme/workspace:w/app:p/workflow:f/agent:a/toolset:t",
		}},
		"dimensions change nothing": {`{"tenant":"acme","dimensions":{"team":"x"}}`, []any{"tenant:acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			r := w.call("POST", "/v1/reservations", spendBody("k", "estimate", c.subject, 1)).ok()
			assert.Equal(t, c.scopes, r.at("affected_scopes"))
			assert.Equal(t, c.scopes[len(c.scopes)-1], r.at("scope_path"))
		})
	}
}

func TestASubjectWithoutATenantStaysWithinTheKeysTenant(t *testing.T) {
	w := crowded(t)
	require.NoError(t, w.AddBudget(mockserver.Budget{Tenant: "acme", Scope: "workspace:shared", Allocated: 100}))
	body := spendBody("k", "estimate", `{"workspace":"shared"}`, 1)
	r := w.call("POST", "/v1/reservations", body).ok()
	assert.Equal(t, "workspace:shared", r.str("scope_path"))
	w.as("globex-key").call("POST", "/v1/reservations", body).fails(404, gen.ErrorCodeNotFound)
}

func TestGetShowsWhatWasSent(t *testing.T) {
	w := acme(t, plenty)
	subject := `{"tenant":"acme","agent":"Bot","dimensions":{"team":"Blue","é":"x"}}`
	body := spendBody("k", "estimate", subject, 10, `"metadata":{"n":9007199254740993,"deep":[{"a":1.50}]}`)
	body = strings.Replace(body, `"name":"m"`, `"name":"m","tags":["prod","x"]`, 1)
	id := w.call("POST", "/v1/reservations", body).ok().str("reservation_id")
	r := w.get(id).ok()
	assert.Equal(t, "ACTIVE", r.str("status"))
	assert.Equal(t, "k", r.str("idempotency_key"))
	assert.Equal(t, "Bot", r.str("subject.agent"))
	assert.Equal(t, "Blue", r.str("subject.dimensions.team"))
	assert.Equal(t, []any{"prod", "x"}, r.at("action.tags"))
	assert.Contains(t, r.raw, `"n":9007199254740993`)
	assert.Equal(t, at(0), r.int("created_at_ms"))
	assert.Nil(t, r.at("finalized_at_ms"))
	assert.Nil(t, r.at("committed"))
	assert.NotContains(t, r.raw, "null")

	w.Advance(1_000_000)
	w.call("POST", "/v1/reservations/"+id+"/commit", commitBody("c", 4, `"metadata":{"done":true}`)).ok()
	r = w.get(id).ok()
	assert.Equal(t, "COMMITTED", r.str("status"))
	assert.EqualValues(t, 4, r.int("committed.amount"))
	assert.Equal(t, at(1), r.int("finalized_at_ms"))
	assert.Equal(t, true, r.at("committed_metadata.done"))
}

func TestCaps(t *testing.T) {
	tokens := int64(100)
	fewer := int64(10)
	w := acme(t, plenty,
		mockserver.Budget{Scope: "tenant:acme/agent:own", Allocated: 100, Caps: &gen.Caps{MaxTokens: &tokens}})
	require.NoError(t, w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "tenant:acme/agent:*", Caps: &gen.Caps{MaxTokens: &fewer}}))
	require.NoError(t, w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "tenant:acme/agent:bot", Caps: &gen.Caps{MaxTokens: &tokens}}))
	// As literal as the one before, and later.
	require.NoError(t, w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "tenant:acme/agent:bot", Caps: &gen.Caps{MaxTokens: &fewer}}))
	require.NoError(t, w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "tenant:acme/workspace:w/*", Priority: 5, Caps: &gen.Caps{ToolDenylist: []string{"shell"}}}))
	for subject, want := range map[string]any{
		`{"tenant":"acme","agent":"bot"}`:                 float64(100), // the literal pattern
		`{"tenant":"acme","agent":"other"}`:               float64(10),
		`{"tenant":"acme","agent":"own"}`:                 float64(10), // the policy goes before the budget
		`{"tenant":"acme"}`:                               nil,
		`{"tenant":"acme","agent":"bot","toolset":"x"}`:   nil,
		`{"tenant":"acme","workspace":"w","agent":"bot"}`: "shell",
		`{"tenant":"acme","workspace":"w"}`:               "shell",
	} {
		r := w.call("POST", "/v1/reservations", spendBody(subject, "estimate", subject, 1)).ok()
		switch want := want.(type) {
		case nil:
			assert.Equal(t, "ALLOW", r.str("decision"), subject)
			assert.Nil(t, r.at("caps"), subject)
		case string:
			assert.Equal(t, want, r.str("caps.tool_denylist.0"), subject)
		case float64:
			assert.Equal(t, "ALLOW_WITH_CAPS", r.str("decision"), subject)
			assert.EqualValues(t, want, r.int("caps.max_tokens"), subject)
		}
	}
}

func TestLeaseOverridesOfAScopePolicy(t *testing.T) {
	w := acme(t, plenty)
	require.NoError(t, w.AddScopePolicy(mockserver.ScopePolicy{
		Pattern: "tenant:acme/agent:*", DefaultTTL: 2e9, MaxTTL: 3e9, MaxExtensions: mockserver.NoExtensions,
	}))
	bot := `{"tenant":"acme","agent":"bot"}`
	r := w.call("POST", "/v1/reservations", spendBody("a", "estimate", bot, 1)).ok()
	assert.EqualValues(t, 2_000, r.int("remaining_ttl_ms"))
	assert.EqualValues(t, 3_000, w.call("POST", "/v1/reservations", spendBody("b", "estimate", bot, 1, `"ttl_ms":60000`)).ok().int("remaining_ttl_ms"))
	w.extend(r.str("reservation_id"), "x", 1).fails(409, gen.ErrorCodeMaxExtensionsExceeded)
}
