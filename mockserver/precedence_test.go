package mockserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// Each row breaks two rules at once, neighbours in the chain
//
//	401 > 404 route > 405 > 415 > 413 > 400 body and parameters > 400 key header
//	> 404 reservation > 403 > replay, 409 mismatch > TENANT_CLOSED
//	> 410 and 409 state > 400 unit > 410 clock > extension budget, budget
//
// and the first of them is answered.

// crowded is a server in which everything can go wrong.
func crowded(t *testing.T) *world {
	w := acmeWith(t, mockserver.Policy{MaxExtensions: 1}, plenty)
	require.NoError(t, w.AddTenant(mockserver.Tenant{ID: "globex", Keys: []string{"globex-key"}}))
	require.NoError(t, w.AddBudget(mockserver.Budget{Scope: "tenant:globex", Allocated: 1000}))
	return w
}

func (w *world) close() {
	w.t.Helper()
	require.NoError(w.t, w.SetTenantStatus("acme", mockserver.TenantClosed))
}

const (
	notJSON   = `{"idempotency_key":`
	inTokens  = `{"idempotency_key":"c2","actual":{"unit":"TOKENS","amount":1}}`
	ofGlobex  = `{"tenant":"globex"}`
	unknownID = "01890000-0000-7000-8000-000000000000"
)

func TestPrecedenceOfTheRequest(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		key                string
		status             int
		code               gen.ErrorCode
	}{
		"no key on an unknown path":      {"GET", "/v1/nowhere", "", nil, "", 401, gen.ErrorCodeUnauthorized},
		"no key with a wrong method":     {"PUT", "/v1/reservations", "", nil, "", 401, gen.ErrorCodeUnauthorized},
		"no key with a broken body":      {"POST", "/v1/reservations", notJSON, nil, "", 401, gen.ErrorCodeUnauthorized},
		"a key nobody has":               {"POST", "/v1/reservations", reserveBody("k", 1), nil, "stolen", 401, gen.ErrorCodeUnauthorized},
		"unknown path, wrong media":      {"POST", "/v1/nowhere", "x", []string{"Content-Type", "text/plain"}, "acme-key", 404, gen.ErrorCodeNotFound},
		"trailing slash":                 {"POST", "/v1/reservations/", "{}", nil, "acme-key", 404, gen.ErrorCodeNotFound},
		"doubled slash":                  {"POST", "/v1//reservations", "{}", nil, "acme-key", 404, gen.ErrorCodeNotFound},
		"dot segments":                   {"POST", "/v1/x/../reservations", "{}", nil, "acme-key", 404, gen.ErrorCodeNotFound},
		"wrong method, wrong media":      {"PUT", "/v1/reservations", "x", []string{"Content-Type", "text/plain"}, "acme-key", 405, gen.ErrorCodeInvalidRequest},
		"wrong media, broken body":       {"POST", "/v1/reservations", notJSON, []string{"Content-Type", "text/plain"}, "acme-key", 415, gen.ErrorCodeInvalidRequest},
		"no media, broken body":          {"POST", "/v1/reservations", notJSON, []string{"Content-Type", ""}, "acme-key", 415, gen.ErrorCodeInvalidRequest},
		"broken body, foreign header":    {"POST", "/v1/reservations", notJSON, []string{"X-Idempotency-Key", "other"}, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"too large and broken":           {"POST", "/v1/reservations", strings.Repeat("{", 1<<20+1), nil, "acme-key", 413, gen.ErrorCodeInvalidRequest},
		"invalid body, foreign tenant":   {"POST", "/v1/reservations", spendBody("k", "estimate", ofGlobex, -1), nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"key header, foreign tenant":     {"POST", "/v1/reservations", spendBody("k", "estimate", ofGlobex, 1), []string{"X-Idempotency-Key", "other"}, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"invalid body, no reservation":   {"POST", "/v1/reservations/" + unknownID + "/commit", `{"idempotency_key":"k"}`, nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"key header, no reservation":     {"POST", "/v1/reservations/" + unknownID + "/commit", commitBody("k", 1), []string{"X-Idempotency-Key", "other"}, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"id too long":                    {"POST", "/v1/reservations/" + strings.Repeat("r", 129) + "/commit", commitBody("k", 1), nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"longest id":                     {"POST", "/v1/reservations/" + strings.Repeat("r", 128) + "/commit", commitBody("k", 1), nil, "acme-key", 404, gen.ErrorCodeNotFound},
		"list: filter, foreign tenant":   {"GET", "/v1/reservations?status=GONE&tenant=globex", "", nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"list: foreign tenant, cursor":   {"GET", "/v1/reservations?cursor=garbage&tenant=globex", "", nil, "acme-key", 403, gen.ErrorCodeForbidden},
		"balances: limit, no filter":     {"GET", "/v1/balances?limit=0", "", nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"balances: limit, foreign":       {"GET", "/v1/balances?tenant=globex&limit=0", "", nil, "acme-key", 400, gen.ErrorCodeInvalidRequest},
		"balances: foreign tenant":       {"GET", "/v1/balances?tenant=globex", "", nil, "acme-key", 403, gen.ErrorCodeForbidden},
		"evidence needs no key":          {"GET", "/v1/evidence/short", "", nil, "", 400, gen.ErrorCodeInvalidRequest},
		"evidence that never was":        {"GET", "/v1/evidence/" + strings.Repeat("a", 64), "", nil, "", 404, gen.ErrorCodeNotFound},
		"key set needs no key":           {"GET", "/v1/.well-known/cycles-jwks.json", "", nil, "", 404, gen.ErrorCodeNotFound},
		"admin key wins over a good key": {"GET", "/v1/reservations?tenant=acme", "", []string{"X-Admin-API-Key", "wrong"}, "acme-key", 401, gen.ErrorCodeUnauthorized},
		"admin list without a tenant":    {"GET", "/v1/reservations", "", []string{"X-Admin-API-Key", mockserver.DefaultAdminKey}, "", 400, gen.ErrorCodeInvalidRequest},
		"admin key opens no commit":      {"POST", "/v1/reservations/x/commit", commitBody("k", 1), []string{"X-Admin-API-Key", mockserver.DefaultAdminKey}, "", 401, gen.ErrorCodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			w := crowded(t)
			w.t = t
			r := w.as(c.key).call(c.method, c.path, c.body, c.header...)
			r.fails(c.status, c.code)
			assert.Zero(t, w.balance("tenant:acme").Reserved)
		})
	}
}

func TestPrecedenceOfAReserve(t *testing.T) {
	reserve := func(w *world, body string) *reply { return w.call("POST", "/v1/reservations", body) }
	for name, c := range map[string]struct {
		setUp  func(w *world)
		body   string
		status int
		code   gen.ErrorCode // "" succeeds
	}{
		"foreign tenant, mismatch":  {func(w *world) { w.held("k", 1) }, spendBody("k", "estimate", ofGlobex, 1), 403, gen.ErrorCodeForbidden},
		"foreign tenant, closed":    {func(w *world) { w.close() }, spendBody("k", "estimate", ofGlobex, 1), 403, gen.ErrorCodeForbidden},
		"mismatch, closed":          {func(w *world) { w.held("k", 1); w.close() }, reserveBody("k", 2), 409, gen.ErrorCodeIdempotencyMismatch},
		"replay, closed":            {func(w *world) { w.held("k", 1); w.close() }, reserveBody("k", 1), 200, ""},
		"replay, budget gone":       {func(w *world) { w.held("k", 1e6) }, reserveBody("k", 1e6), 200, ""},
		"closed, wrong unit":        {func(w *world) { w.close() }, strings.Replace(reserveBody("k", 1), "USD_MICROCENTS", "TOKENS", 1), 409, gen.ErrorCodeTenantClosed},
		"closed, budget exceeded":   {func(w *world) { w.close() }, reserveBody("k", 2e6), 409, gen.ErrorCodeTenantClosed},
		"malformed record":          {func(w *world) { malform(w) }, reserveBody("k", 1), 500, gen.ErrorCodeInternalError},
		"malformed record, dry run": {func(w *world) { malform(w) }, reserveBody("k", 1, `"dry_run":true`), 500, gen.ErrorCodeInternalError},
		"wrong unit, frozen":        {func(w *world) { freeze(w) }, strings.Replace(reserveBody("k", 1), "USD_MICROCENTS", "TOKENS", 1), 400, gen.ErrorCodeUnitMismatch},
		"frozen, budget exceeded":   {func(w *world) { freeze(w) }, reserveBody("k", 2e6), 409, gen.ErrorCodeBudgetFrozen},
		"nothing budgeted":          {func(*world) {}, spendBody("k", "estimate", `{"workspace":"w"}`, 1), 404, gen.ErrorCodeNotFound},
		"wrong unit on a dry run":   {func(*world) {}, strings.Replace(reserveBody("k", 1, `"dry_run":true`), "USD_MICROCENTS", "TOKENS", 1), 400, gen.ErrorCodeUnitMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := crowded(t)
			c.setUp(w)
			if c.code == "" {
				reserve(w, c.body).ok()
				return
			}
			reserve(w, c.body).fails(c.status, c.code)
		})
	}
}

func malform(w *world) {
	w.t.Helper()
	require.NoError(w.t, w.SetTenantStatus("acme", mockserver.TenantMalformed))
}

func freeze(w *world) {
	w.t.Helper()
	require.NoError(w.t, w.SetBudgetStatus("tenant:acme", usd, mockserver.BudgetFrozen))
}

func TestPrecedenceOnAReservation(t *testing.T) {
	commit := func(w *world, id, body string) *reply {
		return w.call("POST", "/v1/reservations/"+id+"/commit", body)
	}
	extend := func(w *world, id, body string) *reply {
		return w.call("POST", "/v1/reservations/"+id+"/extend", body)
	}
	expire := func(w *world) { w.Advance(time.Hour) }
	for name, c := range map[string]struct {
		setUp  func(w *world, id string)
		do     func(w *world, id, body string) *reply
		body   string
		status int
		code   gen.ErrorCode // "" succeeds
	}{
		"replay, closed":              {func(w *world, id string) { w.commit(id, "c", 5).ok(); w.close() }, commit, commitBody("c", 5), 200, ""},
		"replay of an extend, closed": {func(w *world, id string) { w.extend(id, "x", 5).ok(); w.close() }, extend, extendBody("x", 5), 200, ""},
		"mismatch, closed":            {func(w *world, id string) { w.commit(id, "c", 5).ok(); w.close() }, commit, commitBody("c", 6), 409, gen.ErrorCodeIdempotencyMismatch},
		"mismatch, wrong unit":        {func(w *world, id string) { w.commit(id, "c2", 5).ok() }, commit, inTokens, 409, gen.ErrorCodeIdempotencyMismatch},
		"closed, finalized":           {func(w *world, id string) { w.commit(id, "c", 5).ok(); w.close() }, commit, commitBody("c2", 5), 409, gen.ErrorCodeTenantClosed},
		"closed, expired":             {func(w *world, _ string) { expire(w); w.close() }, commit, commitBody("c2", 5), 409, gen.ErrorCodeTenantClosed},
		"closed, expired, extend":     {func(w *world, _ string) { expire(w); w.close() }, extend, extendBody("x", 5), 409, gen.ErrorCodeTenantClosed},
		"finalized, wrong unit":       {func(w *world, id string) { w.release(id, "r").ok() }, commit, inTokens, 409, gen.ErrorCodeReservationFinalized},
		"finalized long ago":          {func(w *world, id string) { w.release(id, "r").ok(); expire(w) }, commit, commitBody("c", 1), 409, gen.ErrorCodeReservationFinalized},
		"expired, wrong unit":         {func(w *world, _ string) { expire(w) }, commit, inTokens, 410, gen.ErrorCodeReservationExpired},
		"wrong unit, above estimate":  {func(*world, string) {}, commit, strings.Replace(inTokens, `"amount":1`, `"amount":99`, 1), 400, gen.ErrorCodeUnitMismatch},
		"late extend, budget used up": {func(w *world, id string) { w.extend(id, "x", 1).ok(); w.Advance(61 * time.Second) }, extend, extendBody("x2", 5), 410, gen.ErrorCodeReservationExpired},
		"finalized, budget used up":   {func(w *world, id string) { w.extend(id, "x", 1).ok(); w.commit(id, "c", 1).ok() }, extend, extendBody("x2", 5), 409, gen.ErrorCodeReservationFinalized},
	} {
		t.Run(name, func(t *testing.T) {
			w := crowded(t)
			id := w.held("k", 10, reject)
			c.setUp(w, id)
			if c.code == "" {
				c.do(w, id, c.body).ok()
				return
			}
			c.do(w, id, c.body).fails(c.status, c.code)
		})
	}
}

func TestAReservationOfAnotherTenant(t *testing.T) {
	w := crowded(t)
	id := w.held("k", 10)
	w.commit(id, "c", 5).ok()
	other := w.as("globex-key")
	other.commit(id, "c", 5).fails(403, gen.ErrorCodeForbidden) // not even the replay
	other.release(id, "r").fails(403, gen.ErrorCodeForbidden)
	other.extend(id, "x", 5).fails(403, gen.ErrorCodeForbidden)
	other.get(id).fails(403, gen.ErrorCodeForbidden)
	other.get(unknownID).fails(404, gen.ErrorCodeNotFound)
}

func TestARefusalForAnotherTenantNamesBoth(t *testing.T) {
	w := crowded(t)
	id := w.as("globex-key").call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"globex"}`, 1)).ok().str("reservation_id")
	for _, r := range []*reply{
		w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"globex"}`, 1)),
		w.call("POST", "/v1/events", spendBody("k", "actual", `{"tenant":"globex"}`, 1)),
		w.call("POST", "/v1/decide", spendBody("k", "estimate", `{"tenant":"globex"}`, 1)),
		w.call("GET", "/v1/reservations?tenant=globex", ""),
		w.call("GET", "/v1/balances?tenant=globex", ""),
	} {
		message := r.fails(403, gen.ErrorCodeForbidden).str("message")
		assert.Regexp(t, `tenant is "globex", but the API key acts for tenant acme$`, message)
	}
	message := w.get(id).fails(403, gen.ErrorCodeForbidden).str("message")
	assert.Contains(t, message, "acme")
	assert.NotContains(t, message, "globex", "whose it is, is not the caller's to know")
}

func TestTheAdminMayReadAndReleaseAnyReservation(t *testing.T) {
	w := crowded(t)
	id := w.held("k", 10)
	admin := []string{"X-Admin-API-Key", mockserver.DefaultAdminKey}
	w.key = ""
	r := w.call("GET", "/v1/reservations/"+id, "", admin...).ok()
	assert.Empty(t, r.header.Get("X-Cycles-Tenant"))
	w.call("GET", "/v1/reservations?tenant=acme", "", admin...).ok()
	r = w.call("POST", "/v1/reservations/"+id+"/release", `{"idempotency_key":"r","reason":"[INCIDENT_FORCE_RELEASE]"}`, admin...).ok()
	assert.EqualValues(t, 10, r.int("released.amount"))
	assert.Zero(t, w.balance("tenant:acme").Reserved)
}

func TestAClosedTenantEvaluatesToDenyAndReadsGoOn(t *testing.T) {
	w := crowded(t)
	id := w.held("k", 10)
	w.close()
	for _, r := range []*reply{
		w.reserve("dry", 1, `"dry_run":true`).ok(),
		w.call("POST", "/v1/decide", reserveBody("d", 1)).ok(),
	} {
		assert.Equal(t, "DENY", r.str("decision"))
		assert.Equal(t, "TENANT_CLOSED", r.str("reason_code"))
	}
	w.event("e", 1).fails(409, gen.ErrorCodeTenantClosed)
	w.release(id, "r").fails(409, gen.ErrorCodeTenantClosed)
	w.get(id).ok()
	assert.Len(t, w.call("GET", "/v1/reservations", "").ok().at("reservations"), 1)
	assert.Len(t, w.call("GET", "/v1/balances?tenant=acme", "").ok().at("balances"), 1)
}

func TestKeysThatAreNoLongerGood(t *testing.T) {
	w := crowded(t)
	require.NoError(t, w.AddKey("acme", "second"))
	w.as("second").call("GET", "/v1/balances?tenant=acme", "").ok()
	require.NoError(t, w.RevokeKey("second"))
	w.as("second").call("GET", "/v1/balances?tenant=acme", "").fails(401, gen.ErrorCodeUnauthorized)
	require.NoError(t, w.SetTenantStatus("acme", mockserver.TenantSuspended))
	w.call("GET", "/v1/balances?tenant=acme", "").fails(401, gen.ErrorCodeUnauthorized)
	require.NoError(t, w.SetTenantStatus("acme", mockserver.TenantActive))
	w.call("GET", "/v1/balances?tenant=acme", "").ok()
}
