//go:build soak

package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// TestSoakShortLeasesOverABadNetwork keeps 500 leases of 8 s for a minute of real
// time over real connections. One attempt in ten fails, with a 503 or with a
// connection that breaks after the extend was applied, and never two of one lease
// in a row. That is what the package promises to survive.
func TestSoakShortLeasesOverABadNetwork(t *testing.T) {
	const (
		leases  = 500
		ttl     = 8_000
		minute  = time.Minute
		mostExt = 100 // more extends than a lease makes in that time
	)
	rng := rand.New(rand.NewPCG(8, 500))
	srv := mockserver.Start(t,
		mockserver.WithJournalSize(10*leases*mostExt),
		mockserver.WithTenant(mockserver.Tenant{ID: mockserver.DefaultTenant, Keys: []string{mockserver.DefaultAPIKey}, Policy: mockserver.Policy{
			MaxLead: ttl * time.Millisecond, MaxExtensions: mockserver.UnlimitedExtensions,
		}}),
		mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Unit: gen.UnitEnumTokens, Allocated: 100 * leases}))
	c, err := client.New(srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey))
	require.NoError(t, err)
	m, err := NewManager(c)
	require.NoError(t, err)

	tenant := mockserver.DefaultTenant
	kept := make([]*Lease, leases)
	for i := range kept {
		req := reserve(ttl)
		req.Subject.Tenant = &tenant
		kept[i], err = m.Acquire(t.Context(), req)
		require.NoError(t, err)
		kinds := []mockserver.Fault{{Status: 503}, {Kind: mockserver.FaultResponseLost}}
		for nth := 1 + rng.IntN(10); nth < mostExt; nth += 2 + rng.IntN(17) { // every tenth on average
			fault := kinds[rng.IntN(len(kinds))]
			fault.Operation, fault.ReservationID, fault.Nth = mockserver.ExtendReservation, kept[i].ID(), nth
			srv.Inject(fault)
		}
	}
	end := time.After(minute)
	for _, l := range kept {
		select {
		case <-l.Done():
			t.Errorf("%s: %v", l.ID(), l.Err())
		case <-end:
			end = closedTimeChan()
		}
	}
	stats := m.Stats()
	t.Logf("%+v", stats)
	for _, l := range kept {
		assert.NoError(t, l.Err())
		assert.False(t, isClosed(l.Lost()), "%s lapsed", l.ID())
		_, err := l.Commit(t.Context(), tokens(1))
		assert.NoError(t, err, "%s is not ACTIVE any more", l.ID())
	}
	require.NoError(t, m.Close(t.Context()))

	applied, failed, attempts, lastFailed := map[string]int{}, 0, 0, map[string]bool{}
	for _, r := range srv.Requests(mockserver.Match{Operation: mockserver.ExtendReservation}) {
		attempts++
		if r.Applied {
			applied[r.ReservationID+" "+r.IdempotencyKey]++
		}
		bad := r.Status != 200
		if bad {
			failed++
			assert.False(t, lastFailed[r.ReservationID], "the faults of %s were in a row", r.ReservationID)
		}
		lastFailed[r.ReservationID] = bad
	}
	for key, n := range applied {
		assert.Equal(t, 1, n, "%s was applied more than once", key)
	}
	share := float64(failed) / float64(attempts)
	assert.InDelta(t, 0.1, share, 0.04, fmt.Sprintf("%d of %d failed", failed, attempts))
	assert.Greater(t, attempts, leases*10)
}

// closedTimeChan is a timer that has fired for good.
func closedTimeChan() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}
