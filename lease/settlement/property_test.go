package settlement_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// misfortune answers requests as a drawn sequence says, and properly after that.
type misfortune struct {
	w   *world
	rnd *rand.Rand

	mu   sync.Mutex
	left int
	log  []string
}

// A 410 comes from the server alone: only a reservation that is really over may
// turn a commit into an event.
var misfortunes = []struct {
	name string
	// applied: the request reached the ledger before it went wrong.
	applied bool
	answer  func(*http.Request, *rand.Rand) (*http.Response, error)
}{
	{"never arrived", false, fail},
	{"answer lost", true, fail},
	{"500", false, refuse(500, "")},
	{"500 after it was applied", true, refuse(500, "")},
	{"503 page", false, refuse(503, "<html>")},
	{"401", false, refuse(401, refusal(gen.ErrorCodeUnauthorized))},
	{"403", false, refuse(403, "")},
	{"unexplained 404", false, refuse(404, "")},
	{"empty 2xx", true, refuse(200, "")},
	{"2xx that proves nothing", true, refuse(201, `{"status":"APPLIED"}`)},
	{"202", false, refuse(202, `{}`)},
	{"throttled", false, func(r *http.Request, rnd *rand.Rand) (*http.Response, error) {
		return answer(r, 429, "", "Retry-After", strconv.Itoa(rnd.IntN(200))), nil
	}},
	{"throttled without a time", false, refuse(429, "")},
	{"timeout", false, func(r *http.Request, _ *rand.Rand) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}},
	{"timeout after it was applied", true, func(r *http.Request, _ *rand.Rand) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}},
}

func (m *misfortune) story() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

func fail(*http.Request, *rand.Rand) (*http.Response, error) { return nil, errDown }

func refuse(status int, body string) func(*http.Request, *rand.Rand) (*http.Response, error) {
	return func(r *http.Request, _ *rand.Rand) (*http.Response, error) { return answer(r, status, body), nil }
}

func (m *misfortune) intercept(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	if m.left == 0 {
		m.mu.Unlock()
		return nil, nil
	}
	m.left--
	what := misfortunes[m.rnd.IntN(len(misfortunes))]
	m.log = append(m.log, what.name)
	seed := rand.New(rand.NewPCG(m.rnd.Uint64(), 0))
	m.mu.Unlock()
	if what.applied {
		resp, err := m.w.srv.Transport().RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return what.answer(r, seed)
}

// settleThrough sends one spend through a drawn misfortune, with restarts, a
// second process and the end of the reservation at drawn times.
func settleThrough(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t)
		m := &misfortune{w: w, rnd: rand.New(rand.NewPCG(seed, 8)), left: rnd.IntN(9)}
		spend := w.reserve(42)
		w.wire.set(m.intercept)
		story := func() string { return fmt.Sprintf("seed %d: %v", seed, m.story()) }

		s := w.settler(settlement.WithRescan(5 * time.Minute))
		if rnd.IntN(3) == 0 {
			w.settler(settlement.WithRescan(5 * time.Minute)) // another process on the same journal
		}
		if rnd.IntN(4) == 0 {
			time.Sleep(ttl + grace + time.Millisecond)
		}
		x := w.begin(s, spend)
		_, _ = x.Settle(t.Context())
		for range rnd.IntN(6) {
			time.Sleep(time.Duration(rnd.Int64N(int64(20 * time.Second))))
			require.LessOrEqual(t, w.spent(), int64(42), story())
			switch rnd.IntN(3) {
			case 0:
				stop(t, s)
				s = w.settler(settlement.WithRescan(5 * time.Minute))
			case 1:
				_, _ = x.Settle(t.Context())
			}
		}
		time.Sleep(time.Hour)
		require.EqualValues(t, 42, w.spent(), story())
		applied := 0
		for _, r := range w.srv.Requests() {
			if r.Applied && r.Idempotency == mockserver.VerdictFresh && r.Operation != mockserver.CreateReservation {
				applied++
			}
		}
		require.Equal(t, 1, applied, story())
		require.Empty(t, w.files(), story())
		require.Empty(t, w.requests(mockserver.ReleaseReservation), story())
	})
}

func TestAnyMisfortuneChargesOnceWhenTheServerAnswersInTheEnd(t *testing.T) {
	for seed := range uint64(120) {
		settleThrough(t, seed)
	}
}
