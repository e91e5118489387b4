package mockserver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestSnapshotAndRestore(t *testing.T) {
	w := acme(t, plenty, mockserver.Budget{Scope: childScope, Allocated: 500})
	id := w.heldInChild("k", 10, `"ttl_ms":10000`)
	w.extend(id, "x", 1000).ok()
	w.event("e", 3).created()
	w.Inject(mockserver.Fault{Operation: mockserver.GetReservation, Nth: 2, Status: 500})
	w.get(id).ok()
	snap := w.Snapshot()
	listed := w.list("").raw

	for range 2 {
		assert.Equal(t, 500, w.get(id).status, "the fault counts on from where it was")
		w.extend(id, "x2", 5000).ok()
		w.commit(id, "c", 7).ok()
		later := w.held("later", 20)
		require.NoError(t, w.AddTenant(mockserver.Tenant{ID: "globex", Keys: []string{"globex-key"}}))
		require.NoError(t, w.SetBudgetStatus(parentScope, usd, mockserver.BudgetFrozen))
		w.Advance(time.Hour)

		w.Restore(snap)
		assert.Equal(t, epoch, w.Now())
		assert.Equal(t, listed, w.list("").raw)
		w.commit(later, "c", 1).fails(404, gen.ErrorCodeNotFound)
		w.leaves(parentScope, left{remaining: 1_000_000 - 13, spent: 3})
		w.leaves(childScope, left{remaining: 490})
		w.as("globex-key").list("").fails(401, gen.ErrorCodeUnauthorized)
		assert.Equal(t, at(11_000), w.extend(id, "x", 1000).ok().int("expires_at_ms"), "replays are part of it")
		assert.Equal(t, at(18_000), w.extend(id, "x2", 7000).ok().int("expires_at_ms"), "and later answers are not")
		w.event("e", 3).created()
		assert.NotEqual(t, later, w.held("later", 20), "an id never comes twice")
		w.Restore(snap)
	}
	w.Advance(16*time.Second + time.Millisecond)
	assert.EqualValues(t, 0, w.balance(childScope).Reserved, "what was held expires in the restored world")
}

func TestSnapshotsThatCannotBeRestored(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	assert.PanicsWithValue(t, "mockserver: there is no snapshot to restore, it is nil", func() { w.Restore(nil) })
	other := acme(t, plenty).Snapshot()
	assert.PanicsWithValue(t, "mockserver: the snapshot to restore is of another server", func() { w.Restore(other) })
	assert.Panics(t, func() { w.Restore(new(mockserver.Snapshot)) })
	w.commit(id, "c", 1).ok() // and the server is as it was
}

func TestReset(t *testing.T) {
	w := newWorld(t, mockserver.WithFault(mockserver.Fault{Operation: mockserver.CreateReservation, Status: 503}))
	body := spendBody("k", "estimate", `{"tenant":"demo"}`, 5)
	for range 2 {
		assert.Equal(t, 503, w.call("POST", "/v1/reservations", body).status)
		w.call("POST", "/v1/reservations", body).ok()
		w.Inject(mockserver.Fault{Status: 500, Count: -1})
		w.Advance(time.Minute)
		w.Reset()
		assert.Empty(t, w.Requests())
		assert.Equal(t, mockserver.Counters{
			Requests: map[mockserver.Operation]map[int]int{}, Tenants: 1, Budgets: 1, Reservations: map[gen.ReservationStatus]int{},
		}, w.Counters())
		assert.Equal(t, epoch, w.Now())
	}
}

func TestSeedAddsAllOrNothing(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	require.Error(t, w.Seed([]byte("tenants: [{id: globex, keys: [globex-key]}, {id: acme}]")))
	require.Error(t, w.Seed([]byte("tenants: [{id: globex, keys: [globex-key]}]\nfaults: [{kind: explode}]")))
	require.Error(t, w.Seed([]byte("clock: {virtual: false}")))
	w.as("globex-key").list("").fails(401, gen.ErrorCodeUnauthorized)
	require.NoError(t, w.Seed([]byte("tenants: [{id: globex, keys: [globex-key], budgets: [{scope: 'tenant:globex', allocated: 9}]}]\nfaults: [{status: 500}]")))
	assert.Equal(t, 500, w.as("globex-key").list("").status)
	w.as("globex-key").list("").ok()
	w.commit(id, "c", 1).ok()
}

func TestProvisioningAtRunTimeIsAllOrNothing(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	require.Error(t, w.AddTenant(mockserver.Tenant{ID: "globex", Keys: []string{"globex-key", "acme-key"}}))
	w.as("globex-key").list("").fails(401, gen.ErrorCodeUnauthorized)
	require.Error(t, w.AddTenant(mockserver.Tenant{ID: "globex", Policy: mockserver.Policy{MaxLead: -1}}))
	require.NoError(t, w.AddTenant(mockserver.Tenant{ID: "globex", Keys: []string{"globex-key"}, Status: mockserver.TenantSuspended}))
	w.as("globex-key").list("").fails(401, gen.ErrorCodeUnauthorized)
	for _, err := range []error{
		w.SetTenantStatus("nobody", mockserver.TenantActive), w.SetTenantStatus("acme", "OPEN"),
		w.SetPolicy("nobody", mockserver.Policy{}), w.SetPolicy("acme", mockserver.Policy{MaxTTL: 1}),
		w.AddKey("nobody", "x"), w.AddKey("acme", " "), w.RevokeKey("nobody"),
		w.AddBudget(plenty), w.AddBudget(mockserver.Budget{Scope: "agent:x"}),
		w.SetBudgetStatus("tenant:nobody", usd, mockserver.BudgetFrozen), w.SetBudgetStatus("tenant:acme", usd, "ICY"),
		w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "x"}), w.AddScopePolicy(mockserver.ScopePolicy{Pattern: "tenant:acme", MaxTTL: 1}),
	} {
		assert.Error(t, err)
	}
	assert.Equal(t, []string{"acme", "globex"}, w.Tenants())
	_, err := w.Balance("tenant:nobody", usd)
	require.Error(t, err)
	_, err = w.Reservation("nobody")
	require.Error(t, err)
	w.commit(id, "c", 1).ok()
}

func TestReservationForATest(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":2000`)
	w.extend(id, "x", 1000).ok()
	w.extend(id, "x", 1000).ok()
	r, err := w.Reservation(id)
	require.NoError(t, err)
	assert.Equal(t, mockserver.Reservation{
		ID: id, Tenant: "acme", ScopePath: "tenant:acme", Status: gen.ReservationStatusActive, Unit: usd, Reserved: 10,
		CreatedAt: epoch, ExpiresAt: epoch.Add(3 * time.Second), Extensions: 1,
	}, r)
	w.Advance(time.Minute)
	r, err = w.Reservation(id)
	require.NoError(t, err)
	assert.Equal(t, gen.ReservationStatusExpired, r.Status)
}

func TestCounters(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	w.held("k", 10)
	w.held("x", 10)
	w.reserve("k", 11).fails(409, gen.ErrorCodeIdempotencyMismatch)
	w.commit(id, "c", 1).ok()
	w.event("e", 1).created()
	w.call("GET", "/v1/nowhere", "")
	w.call("DELETE", "/v1/reservations", "")
	w.Inject(mockserver.Fault{Kind: mockserver.FaultReset})
	_, err := w.send("GET", "/v1/reservations/"+id, "")
	require.Error(t, err)
	assert.Equal(t, mockserver.Counters{
		Requests: map[mockserver.Operation]map[int]int{
			mockserver.CreateReservation: {200: 3, 409: 1}, mockserver.CommitReservation: {200: 1},
			mockserver.CreateEvent: {201: 1}, mockserver.GetReservation: {0: 1},
		},
		Unmatched: 2, Replays: 1, Mismatches: 1, Faults: 1, Tenants: 1, Budgets: 1, Events: 1,
		Reservations: map[gen.ReservationStatus]int{gen.ReservationStatusActive: 1, gen.ReservationStatusCommitted: 1},
	}, w.Counters())
	unmatched := w.Requests(mockserver.Match{Unmatched: true})
	require.Len(t, unmatched, 2)
	assert.Equal(t, "/v1/nowhere", unmatched[0].Path)
	assert.Equal(t, 405, unmatched[1].Status)
}

func TestTheRingKeepsTheLastRequests(t *testing.T) {
	w := acme(t, plenty)
	small := newWorld(t, mockserver.WithJournalSize(3))
	none := newWorld(t, mockserver.WithJournalSize(0))
	for i := range 5 {
		for _, w := range []*world{w, small, none} {
			w.call("GET", fmt.Sprintf("/v1/%d", i), "")
		}
	}
	paths := func(w *world) (out []string) {
		for _, r := range w.Requests() {
			out = append(out, fmt.Sprint(r.Seq, r.Path))
		}
		return out
	}
	assert.Len(t, paths(w), 5)
	assert.Equal(t, []string{"3/v1/2", "4/v1/3", "5/v1/4"}, paths(small))
	assert.Empty(t, paths(none))
	assert.Equal(t, 5, none.Counters().Unmatched)
}

func TestWhatIsRememberedOfARequest(t *testing.T) {
	w := acme(t, plenty)
	w.Advance(time.Second)
	r := w.call("POST", "/v1/reservations?a=b", reserveBody("k", 1), "X-Custom", "v", "Authorization", "Bearer secret", "X-Admin-API-Key", "secret").ok()
	got := w.Requests(mockserver.Match{ReservationID: r.str("reservation_id")})
	require.Len(t, got, 1)
	g := got[0]
	assert.Equal(t, mockserver.CreateReservation, g.Operation)
	assert.Equal(t, "POST /v1/reservations", g.Route)
	assert.Equal(t, "a=b", g.Query)
	assert.Equal(t, reserveBody("k", 1), string(g.Body))
	assert.Equal(t, r.raw, string(g.Answer))
	assert.Equal(t, 200, g.Status)
	assert.Equal(t, "acme", g.Tenant)
	assert.Equal(t, "k", g.IdempotencyKey)
	assert.Equal(t, mockserver.VerdictFresh, g.Idempotency)
	assert.True(t, g.Applied)
	assert.Equal(t, epoch.Add(time.Second), g.Received)
	assert.Equal(t, r.header.Get("X-Request-Id"), g.RequestID)
	assert.Equal(t, r.header.Get("X-Cycles-Trace-Id"), g.TraceID)
	assert.Equal(t, "v", g.Header.Get("X-Custom"))
	for _, name := range []string{"X-Cycles-API-Key", "Authorization", "X-Admin-API-Key"} {
		assert.Equal(t, "REDACTED", g.Header.Get(name))
	}
	w.reserve("k2", 1e9).fails(409, gen.ErrorCodeBudgetExceeded)
	g = w.Requests(mockserver.Match{IdempotencyKey: "k2"})[0]
	assert.False(t, g.Applied)
	assert.Equal(t, mockserver.VerdictFresh, g.Idempotency)
}

func TestWaitForRequests(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 3 {
			w.extend(id, fmt.Sprint(i), 10)
		}
	})
	got, err := w.WaitForRequests(t.Context(), 3, mockserver.Match{Operation: mockserver.ExtendReservation})
	require.NoError(t, err)
	assert.Len(t, got, 3)
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err = w.WaitForRequests(ctx, 9, mockserver.Match{ReservationID: id})
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, err.Error(), "4 of 9")
	assert.Len(t, got, 4)
}

func TestTwoServersShareNothing(t *testing.T) {
	a, b := acme(t, plenty), acme(t, plenty)
	id := a.held("k", 10)
	a.Inject(mockserver.Fault{Status: 500, Count: -1})
	a.Advance(time.Hour)
	require.NoError(t, a.SetTenantStatus("acme", mockserver.TenantSuspended))
	b.get(id).fails(404, gen.ErrorCodeNotFound)
	other := b.held("k", 20)
	assert.NotEqual(t, id, other)
	assert.Equal(t, epoch, b.Now())
	assert.EqualValues(t, 20, b.balance("tenant:acme").Reserved)
	assert.Len(t, b.Requests(), 2)
}
