package lease

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// ledgerWorld is a real ledger in memory with a journal beside it. While down is
// set, commits and events reach nobody.
type ledgerWorld struct {
	t      *testing.T
	srv    *mockserver.Server
	client *client.Client
	dir    string

	mu   sync.Mutex
	down bool
}

func newLedgerWorld(t *testing.T) *ledgerWorld {
	w := &ledgerWorld{t: t, srv: mockserver.New(), dir: t.TempDir()}
	tenant := mockserver.DefaultTenant
	w.client = newClient(t, w, client.WithAPIKey(mockserver.DefaultAPIKey), client.WithSubject(gen.Subject{Tenant: &tenant}))
	return w
}

func (w *ledgerWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	lost := w.down && (filepath.Base(r.URL.Path) == "commit" || filepath.Base(r.URL.Path) == "events")
	w.mu.Unlock()
	if lost {
		return nil, errors.New("connection refused")
	}
	return w.srv.Transport().RoundTrip(r)
}

func (w *ledgerWorld) setDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

// process is a manager as a process has it; end stops it as its death does.
func (w *ledgerWorld) process(opts ...Option) (m *Manager, end func()) {
	w.t.Helper()
	opts = append([]Option{WithJournal(w.dir), WithSettlement(settlement.WithoutSync(), settlement.WithFlushTimeout(0))}, opts...)
	m, err := NewManager(w.client, opts...)
	require.NoError(w.t, err)
	end = func() {
		if err := m.Close(context.Background()); !errors.As(err, new(*settlement.LeftError)) {
			require.NoError(w.t, err)
		}
	}
	w.t.Cleanup(end)
	return m, end
}

func microcents(n int64) gen.Amount { return gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: n} }

func (w *ledgerWorld) request() gen.ReservationCreateRequest {
	return gen.ReservationCreateRequest{Action: gen.Action{Kind: "k", Name: "n"}, Estimate: microcents(100)}
}

func (w *ledgerWorld) spent() int64 {
	w.t.Helper()
	b, err := w.srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
	require.NoError(w.t, err)
	return b.Spent
}

func (w *ledgerWorld) journal() []settlement.Entry {
	w.t.Helper()
	list, err := settlement.List(w.dir)
	require.NoError(w.t, err)
	return list
}

func TestRunThatCannotBeSettledIsSettledByTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, end := w.process()
		w.setDown(true)
		value, res, err := Run(t.Context(), m, w.request(), func(context.Context, *Lease) (int, Usage, error) {
			return 7, Usage{Actual: microcents(42)}, nil
		})
		assert.Equal(t, 7, value)
		assert.Equal(t, settlement.Pending, res.Disposition)
		assert.True(t, res.Journaled)
		require.ErrorAs(t, err, new(*settlement.Error))
		end()
		require.Len(t, w.journal(), 1)
		assert.Equal(t, microcents(42), *w.journal()[0].Actual)

		time.Sleep(10 * time.Minute) // the reservation runs out meanwhile
		w.setDown(false)
		w.process()
		time.Sleep(time.Second)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.journal())
	})
}

func TestPendingCommitOfALeaseIsSettledInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, _ := w.process()
		l, err := m.Acquire(t.Context(), w.request())
		require.NoError(t, err)
		w.setDown(true)
		_, err = l.Commit(t.Context(), microcents(42))
		require.Error(t, err)
		w.setDown(false)
		require.NoError(t, m.Settler().Flush(t.Context()))
		res, err := l.Commit(t.Context(), microcents(42))
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.srv.Requests(mockserver.Match{Operation: mockserver.ReleaseReservation}))
	})
}

func TestStreamThatEndsWithItsContextIsJournaled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, end := w.process()
		ctx, cancel := context.WithCancel(t.Context())
		s, err := m.OpenStream(ctx, w.request())
		require.NoError(t, err)
		require.NoError(t, s.Add(30))
		require.NoError(t, s.Add(12))
		w.setDown(true)
		cancel()
		synctest.Wait()
		end()
		require.Len(t, w.journal(), 1)
		w.setDown(false)
		w.process()
		time.Sleep(time.Second)
		assert.EqualValues(t, 42, w.spent())
	})
}

func TestCloseGivesPendingCommitsALastChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, _ := w.process(WithSettlement(settlement.WithFlushTimeout(5 * time.Second)))
		l, err := m.Acquire(t.Context(), w.request())
		require.NoError(t, err)
		w.setDown(true)
		_, err = l.Commit(t.Context(), microcents(42))
		require.Error(t, err)
		time.AfterFunc(3*time.Second, func() { w.setDown(false) })
		require.NoError(t, m.Close(t.Context()))
		assert.EqualValues(t, 42, w.spent())
	})
}

func TestCloseSaysWhatStaysPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, _ := w.process()
		l, err := m.Acquire(t.Context(), w.request())
		require.NoError(t, err)
		w.setDown(true)
		_, err = l.Commit(t.Context(), microcents(42))
		require.Error(t, err)
		var left *settlement.LeftError
		require.ErrorAs(t, m.Close(t.Context()), &left)
		assert.Equal(t, settlement.LeftError{Kept: 1}, *left)
	})
}

func TestJournalThatCannotBeOpenedIsRefused(t *testing.T) {
	w := newLedgerWorld(t)
	file := filepath.Join(w.dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := NewManager(w.client, WithJournal(file))
	assert.ErrorAs(t, err, new(*settlement.JournalError))
}

// Without a known actual nothing is sent: no commit, no event, and no record
// that could become one later.
func TestWorkWithoutAKnownActualSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		m, end := w.process()
		_, res, err := Run(t.Context(), m, w.request(), func(context.Context, *Lease) (int, Usage, error) {
			return 0, Usage{}, errWork
		})
		require.ErrorIs(t, err, errWork)
		assert.Equal(t, settlement.Released, res.Disposition)
		assert.Panics(t, func() {
			_, _, _ = Run(t.Context(), m, w.request(), func(context.Context, *Lease) (int, Usage, error) { panic("boom") })
		})
		// And a process that dies while it works leaves a reservation that runs out.
		_, err = m.Acquire(t.Context(), w.request())
		require.NoError(t, err)
		end()
		assert.Empty(t, w.journal())
		w.process()
		time.Sleep(time.Hour)
		assert.Empty(t, w.srv.Requests(mockserver.Match{Operation: mockserver.CommitReservation}))
		assert.Empty(t, w.srv.Requests(mockserver.Match{Operation: mockserver.CreateEvent}))
		assert.Zero(t, w.spent())
	})
}

// The spend is known to have happened, so a report that cannot be sent as it is
// costs what is wrong with it and not the spend.
func TestRunCommitsThoughTheReportedUsageCannotBeSent(t *testing.T) {
	estimate := map[string]any{"actual_source": "estimate"}
	for name, c := range map[string]struct {
		usage    Usage
		spent    int64
		metadata map[string]any
	}{
		"metadata that JSON cannot hold": {Usage{Actual: microcents(42), Metadata: map[string]any{"f": func() {}}}, 42, nil},
		"negative metrics":               {Usage{Actual: microcents(42), Metrics: &gen.StandardMetrics{TokensInput: ptr(int64(-1))}}, 42, nil},
		"negative amount":                {Usage{Actual: microcents(-1)}, 100, estimate},
		"another unit":                   {Usage{Actual: tokens(42)}, 100, estimate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLedgerWorld(t)
				m, _ := w.process()
				for _, workErr := range []error{nil, errWork} {
					_, res, err := Run(t.Context(), m, w.request(), func(_ context.Context, l *Lease) (int, Usage, error) {
						return 0, c.usage, workErr
					})
					var bad *client.RequestError
					require.ErrorAs(t, err, &bad)
					assert.Equal(t, settlement.Committed, res.Disposition)
					assert.Equal(t, workErr != nil, errors.Is(err, errWork))
					detail, err := w.client.GetReservation(t.Context(), res.ReservationID)
					require.NoError(t, err)
					assert.Equal(t, c.metadata, detail.CommittedMetadata)
				}
				assert.Equal(t, 2*c.spent, w.spent())
				assert.Empty(t, w.srv.Requests(mockserver.Match{Operation: mockserver.ReleaseReservation}))
			})
		})
	}
}

// The network fails under the heartbeat: it is told with reservation, key and
// what follows, and the work is not disturbed.
func TestHeartbeatTransportFailureIsReportedAndTheWorkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLedgerWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.ExtendReservation, Kind: mockserver.FaultReset})
		var mu sync.Mutex
		var failures []Event
		m, _ := w.process(WithObserver(ObserverFunc(func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Step == StepFailure {
				failures = append(failures, e)
			}
		})))
		_, res, err := Run(t.Context(), m, w.request(), func(ctx context.Context, l *Lease) (int, Usage, error) {
			time.Sleep(2 * time.Minute)
			assert.NoError(t, ctx.Err())
			return 0, Usage{Actual: microcents(42)}, nil
		})
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, failures, 1)
		failure := failures[0]
		assert.Equal(t, res.ReservationID, failure.ReservationID)
		assert.NotEmpty(t, failure.IdempotencyKey)
		assert.Equal(t, client.Transient, failure.Outcome)
		assert.ErrorAs(t, failure.Err, new(*client.TransportError))
		assert.Equal(t, DispositionRetry, failure.Disposition)
	})
}
