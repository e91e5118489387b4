package mockserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// without drops the one member of an answer that a replay may change.
func without(t *testing.T, r *reply, member string) string {
	t.Helper()
	delete(r.doc, member)
	b, err := json.Marshal(r.doc)
	require.NoError(t, err)
	return string(b)
}

func TestReplayOfACreate(t *testing.T) {
	w := acme(t, plenty)
	first := w.reserve("k", 10, `"ttl_ms":10000`)
	id := first.str("reservation_id")
	w.Advance(4 * time.Second)
	w.extend(id, "x", 60_000).ok()
	w.reserve("other", 100).ok()

	again := w.reserve("k", 10, `"ttl_ms":10000`).ok()
	assert.EqualValues(t, 6_000, again.int("remaining_ttl_ms"), "from the original expiry, which the extend moved")
	assert.Equal(t, without(t, first, "remaining_ttl_ms"), without(t, again, "remaining_ttl_ms"))
	assert.NotEqual(t, first.header.Get("X-Request-Id"), again.header.Get("X-Request-Id"))
	assert.EqualValues(t, 110, w.balance("tenant:acme").Reserved, "a replay holds nothing")

	w.Advance(time.Minute)
	assert.EqualValues(t, 0, w.reserve("k", 10, `"ttl_ms":10000`).ok().int("remaining_ttl_ms"), "never below 0")
}

func TestReplayOfACreateWhoseReservationHasEnded(t *testing.T) {
	ends := map[string]func(w *world, id string){
		"committed": func(w *world, id string) { w.commit(id, "c", 5).ok() },
		"released":  func(w *world, id string) { w.release(id, "r").ok() },
		"expired":   func(w *world, id string) { w.Advance(time.Hour) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			first := w.reserve("k", 10)
			end(w, first.str("reservation_id"))
			again := w.reserve("k", 10).ok()
			assert.EqualValues(t, 0, again.int("remaining_ttl_ms"))
			assert.Equal(t, without(t, first, "remaining_ttl_ms"), without(t, again, "remaining_ttl_ms"))
		})
	}
}

func TestReplayOfAnExtend(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":10000`)
	first := w.extend(id, "x1", 10_000).ok()
	w.Advance(3 * time.Second)
	w.extend(id, "x2", 10_000).ok()

	again := w.extend(id, "x1", 10_000).ok()
	assert.Equal(t, at(20_000), again.int("expires_at_ms"))
	assert.EqualValues(t, 17_000, again.int("remaining_ttl_ms"))
	assert.Equal(t, without(t, first, "remaining_ttl_ms"), without(t, again, "remaining_ttl_ms"))
	assert.Equal(t, at(30_000), w.get(id).ok().int("expires_at_ms"), "applied once each")

	w.commit(id, "c", 5).ok()
	again = w.extend(id, "x1", 10_000).ok()
	assert.EqualValues(t, 0, again.int("remaining_ttl_ms"), "no longer active")
	assert.Equal(t, at(20_000), again.int("expires_at_ms"))
	w.extend(id, "x3", 10_000).fails(409, gen.ErrorCodeReservationFinalized)
}

func TestReplayOfAnExtendLongAfterItsExpiry(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":10000`)
	w.extend(id, "x1", 1_000).ok()
	w.extend(id, "x2", 60_000).ok()
	w.Advance(30 * time.Second)
	again := w.extend(id, "x1", 1_000).ok()
	assert.Equal(t, at(11_000), again.int("expires_at_ms"))
	assert.Equal(t, at(71_000), w.get(id).ok().int("expires_at_ms"), "not applied again")
}

func TestReplayOfASettlement(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	first := w.commit(id, "c", 4)
	w.reserve("other", 100).ok()
	w.Advance(time.Hour)
	assert.Equal(t, first.raw, w.commit(id, "c", 4).ok().raw)
	w.commit(id, "c", 5).fails(409, gen.ErrorCodeIdempotencyMismatch)
	w.commit(id, "another key", 4).fails(409, gen.ErrorCodeReservationFinalized)
	w.release(id, "c").fails(409, gen.ErrorCodeReservationFinalized)
	assert.EqualValues(t, 4, w.balance("tenant:acme").Spent)

	id = w.held("k2", 10)
	first = w.release(id, "r")
	assert.Equal(t, first.raw, w.release(id, "r").ok().raw)
	w.call("POST", "/v1/reservations/"+id+"/release", `{"idempotency_key":"r","reason":"other"}`).
		fails(409, gen.ErrorCodeIdempotencyMismatch)
}

func TestSamePayloadInAnotherSpelling(t *testing.T) {
	w := acme(t, plenty)
	id := w.reserve("k", 1_000, `"metadata":{"a":1,"b":[1.50,{"c":"é"}]}`).ok().str("reservation_id")
	other := `{ "metadata" : {"b":[15e-1,{"c":"\u00e9"}],"a":1.0}, "estimate":{"amount":1e3,"unit":"USD_MICROCENTS"},
		"action":{"name":"m","kind":"llm.completion"}, "subject":{"tenant":"acme"}, "idempotency_key":"\u006b" }`
	assert.Equal(t, id, w.call("POST", "/v1/reservations", other).ok().str("reservation_id"))
}

func TestAnotherPayloadUnderTheSameKey(t *testing.T) {
	w := acme(t, plenty)
	w.reserve("k", 10, `"metadata":{"n":9007199254740993}`).ok()
	for name, body := range map[string]string{
		"amount":          reserveBody("k", 11, `"metadata":{"n":9007199254740993}`),
		"metadata":        reserveBody("k", 10, `"metadata":{"n":9007199254740992}`),
		"one more member": reserveBody("k", 10, `"metadata":{"n":9007199254740993}`, `"ttl_ms":60000`),
		"dry run":         reserveBody("k", 10, `"metadata":{"n":9007199254740993}`, `"dry_run":true`),
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{w.Server, t, w.key}
			w.call("POST", "/v1/reservations", body).fails(409, gen.ErrorCodeIdempotencyMismatch)
		})
	}
	assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
}

func TestAFailureIsNotRemembered(t *testing.T) {
	w := acme(t, mockserver.Budget{Scope: "tenant:acme", Allocated: 100})
	w.reserve("k", 101).fails(409, gen.ErrorCodeBudgetExceeded)
	id := w.held("k", 100, `"overage_policy":"REJECT"`)
	w.commit(id, "c", 101).fails(409, gen.ErrorCodeBudgetExceeded)
	w.commit(id, "c", 100).ok()
}

func TestTheSameKeyOnAnotherOperationOrReservationIsAnotherKey(t *testing.T) {
	w := acme(t, plenty)
	a, b := w.held("k", 10), w.held("k2", 10)
	w.extend(a, "k", 1_000).ok()
	w.extend(b, "k", 2_000).ok()
	w.commit(a, "k", 1).ok()
	w.commit(b, "k", 2).ok()
}

func TestTheSameKeyOfAnotherTenantIsAnotherKey(t *testing.T) {
	w := acme(t, plenty)
	require.NoError(t, w.AddTenant(mockserver.Tenant{ID: "globex", Keys: []string{"globex-key"}}))
	require.NoError(t, w.AddBudget(mockserver.Budget{Scope: "tenant:globex", Allocated: 100}))
	id := w.held("k", 10)
	other := w.as("globex-key").call("POST", "/v1/reservations", strings.ReplaceAll(reserveBody("k", 20), "acme", "globex")).ok()
	assert.NotEqual(t, id, other.str("reservation_id"))
}

func TestConcurrentCallsWithOneKeyApplyOnceAndAllGetTheAnswer(t *testing.T) {
	w := acme(t, plenty)
	const callers = 32
	ids := make([]string, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { ids[i] = w.held("k", 10) })
	}
	wg.Wait()
	for _, id := range ids {
		assert.Equal(t, ids[0], id)
	}
	assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	for range callers {
		wg.Go(func() { w.extend(ids[0], "x", 1_000).ok() })
	}
	wg.Wait()
	assert.Equal(t, at(61_000), w.get(ids[0]).ok().int("expires_at_ms"))
	for range callers {
		wg.Go(func() { w.commit(ids[0], "c", 4).ok() })
	}
	wg.Wait()
	assert.EqualValues(t, 4, w.balance("tenant:acme").Spent)
}

func TestKeyInTheHeader(t *testing.T) {
	w := acme(t, plenty)
	w.call("POST", "/v1/reservations", reserveBody("k", 10), "X-Idempotency-Key", "other").fails(400, gen.ErrorCodeInvalidRequest)
	assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
	for _, values := range [][]string{{""}, {"k", "other"}} {
		r := httptest.NewRequest("POST", "/v1/reservations", strings.NewReader(reserveBody("k", 10)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Cycles-Api-Key": {w.key}, "X-Idempotency-Key": values}
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, r)
		assert.Equal(t, 400, answer.Code, values)
	}
	w.call("POST", "/v1/reservations", reserveBody("k", 10), "X-Idempotency-Key", "k").ok()
	w.call("POST", "/v1/reservations", strings.Replace(reserveBody("k", 10), `"idempotency_key":"k",`, "", 1), "X-Idempotency-Key", "k").
		fails(400, gen.ErrorCodeInvalidRequest)
}
