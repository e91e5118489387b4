package settlement_test

import (
	"context"
	"errors"
	"net/http"
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

func TestLostCommitResponseIsSentAgainWithTheSameKeyAndBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Kind: mockserver.FaultResponseLost})
		var n notes
		x := w.begin(w.settler(n.option()), w.reserve(42))
		result, err := x.Settle(t.Context())
		require.Error(t, err)
		assert.Equal(t, settlement.Pending, result.Disposition)
		assert.Equal(t, client.Transient, client.OutcomeOf(err))
		assert.EqualValues(t, 42, w.spent(), "the server took it, and nobody knows")

		time.Sleep(time.Second)
		assert.Equal(t, []settlement.Disposition{settlement.Committed}, n.dispositions())
		sent := w.wire.bodies("/commit")
		require.Len(t, sent, 2)
		assert.Equal(t, sent[0], sent[1])
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())
		assert.Equal(t, 2, x.Result().Attempts)
	})
}

func TestInvalidSuccessStaysAmbiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Body: `{"status":"COMMITTED"}`})
		x := w.begin(w.settler(), w.reserve(42))
		result, err := x.Settle(t.Context())
		require.Error(t, err)
		assert.Equal(t, settlement.Pending, result.Disposition)
		assert.Nil(t, result.Commit)
		assert.Equal(t, client.Ambiguous, client.OutcomeOf(err))
		assert.Equal(t, "commit", w.onDisk(result.ReservationID)["mode"])

		time.Sleep(time.Second)
		assert.Equal(t, settlement.Committed, x.Result().Disposition)
		sent := w.wire.bodies("/commit")
		require.Len(t, sent, 2)
		assert.Equal(t, sent[0], sent[1])
		assert.EqualValues(t, 42, w.spent())
	})
}

// Other SDKs park a spend after 15 seconds of outage until their process ends.
func TestSpendIsSettledAfterAnOutageOfHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		var n notes
		x := w.unsettled(w.settler(n.option()), spend)
		time.Sleep(3 * time.Hour)
		assert.Equal(t, settlement.Pending, x.Result().Disposition)
		assert.Empty(t, n.results(), "nothing has ended")
		w.wire.set(nil)
		time.Sleep(31 * time.Second)
		assert.Equal(t, settlement.RecoveredByEvent, x.Result().Disposition, "the reservation is long over")
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())
	})
}

func TestWaitsBetweenAttemptsDoubleUpToTheirCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		// Without a journal there is no rescan, only the waits of the spend itself.
		w.unsettled(w.settler(settlement.WithoutJournal()), spend)
		time.Sleep(5 * time.Minute)

		at := w.wire.times()
		require.Greater(t, len(at), 12)
		most := 500 * time.Millisecond
		different := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			wait := at[i].Sub(at[i-1])
			assert.LessOrEqual(t, wait, most, "wait %d", i)
			assert.GreaterOrEqual(t, wait, most/2, "wait %d", i)
			different[wait] = true
			most = min(2*most, 30*time.Second)
		}
		assert.Greater(t, len(different), len(at)/2, "left to chance")
	})
}

func TestBackoffFollowsTheClientsPolicyButKnowsNoLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		c := w.client(client.WithRetry(client.RetryPolicy{MaxAttempts: 2, InitialDelay: 4 * time.Second, Multiplier: 1, MaxDelay: time.Minute}))
		w.unsettled(w.settlerOf(c, settlement.WithoutJournal()), spend)
		time.Sleep(time.Minute)
		assert.InDelta(t, 20, len(w.wire.times()), 5)
	})
}

// Refused credentials help nobody by being sent again soon, but the spend waits
// for better ones.
func TestRefusedCredentialsAreTriedAgainAtTheRescan(t *testing.T) {
	for name, refuse := range map[string]func(*http.Request) (*http.Response, error){
		"401":          always(401, refusal(gen.ErrorCodeUnauthorized)),
		"403":          always(403, refusal(gen.ErrorCodeForbidden)),
		"403, no body": always(403, ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				spend := w.reserve(42)
				w.wire.set(refuse)
				x := w.begin(w.settler(settlement.WithRescan(10*time.Minute)), spend)
				result, _ := x.Settle(t.Context())
				assert.Equal(t, settlement.Pending, result.Disposition)
				time.Sleep(4 * time.Minute)
				assert.Len(t, w.wire.times(), 1)
				w.wire.set(nil)
				time.Sleep(6 * time.Minute)
				assert.True(t, x.Result().Settled())
				assert.EqualValues(t, 42, w.spent())
			})
		})
	}
}

// The first 4xx that explains nothing may be a proxy starting up; after that it
// is not asked again so soon.
func TestUnexplainedRefusalIsRetriedOnceSoonAndThenSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(404, "<html>"))
		x := w.unsettled(w.settler(settlement.WithRescan(10*time.Minute)), spend)
		time.Sleep(4 * time.Minute)
		assert.Len(t, w.wire.times(), 2)
		assert.Equal(t, map[string]int{".json": 1}, w.files())
		w.wire.set(nil)
		time.Sleep(7 * time.Minute)
		assert.True(t, x.Result().Settled())
	})
}

func TestNothingIsEverReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.settler()
		for _, refuse := range []func(*http.Request) (*http.Response, error){
			down, always(401, ""), always(400, refusal(gen.ErrorCodeUnitMismatch)), always(409, refusal(gen.ErrorCodeReservationFinalized)),
		} {
			spend := w.reserve(42)
			w.wire.set(refuse)
			w.unsettled(s, spend)
		}
		w.wire.set(nil)
		time.Sleep(time.Hour)
		assert.Empty(t, w.requests(mockserver.ReleaseReservation))
	})
}

func TestSpendWithoutAJournalIsRetriedFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		s := w.settler(settlement.WithoutJournal())
		x := w.begin(s, spend)
		result, err := x.Settle(t.Context())
		require.Error(t, err)
		assert.False(t, result.Journaled)
		require.NoError(t, result.JournalErr)
		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, settlement.Status{Pending: 1, Unjournaled: 1}, status)
		time.Sleep(20 * time.Second)
		w.wire.set(nil)
		time.Sleep(time.Minute)
		assert.True(t, x.Result().Settled())
		assert.Empty(t, w.files())
	})
}

// A second call while the background is trying waits for its turn and gets that
// one's result.
func TestSettleDuringABackgroundAttemptSendsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Status: 503})
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Nth: 2, Delay: 3 * time.Second})
		x := w.unsettled(w.settler(), w.reserve(42))
		time.Sleep(time.Second) // the background's attempt is under way
		result, err := x.Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, result.Attempts)
		assert.Len(t, w.wire.times(), 2)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = x.Settle(ctx)
		assert.NoError(t, err, "decided is decided")
	})
}

func TestSettleWhoseTurnDoesNotComeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 4 * time.Second})
		x := w.begin(w.settler(), w.reserve(42))
		go func() { _, _ = x.Settle(context.Background()) }()
		synctest.Wait()
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		result, err := x.Settle(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, settlement.Pending, result.Disposition)
		time.Sleep(4 * time.Second)
		assert.True(t, x.Result().Settled())
	})
}

// Another process settles the record while this one waits for its next attempt.
func TestRecordTakenByAnotherProcessIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(403, ""))
		var n notes
		mine := w.settler(n.option(), settlement.WithRescan(time.Hour))
		x := w.unsettled(mine, spend)

		w.wire.set(nil)
		other := w.settler(settlement.WithoutBackground())
		require.NoError(t, w.flush(other, time.Minute))
		assert.EqualValues(t, 42, w.spent())

		time.Sleep(2 * time.Hour)
		assert.Equal(t, []settlement.Disposition{settlement.HandedOver}, n.dispositions())
		assert.ErrorIs(t, x.Result().Err, settlement.ErrTakenElsewhere)
		assert.Len(t, w.requests(mockserver.CommitReservation), 1)

		// Who wants to know asks, and the server replays its answer.
		result, err := x.Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, result.Disposition)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())
	})
}

// Two spends of one reservation: the journal's is the one that may already be
// in the ledger.
func TestSecondSpendOfAReservationIsRefusedWhileTheFirstIsPending(t *testing.T) {
	w := newWorld(t)
	spend := w.reserve(42)
	w.wire.set(down)
	s := w.settler(settlement.WithoutBackground())
	first, err := w.begin(s, spend).Settle(t.Context())
	require.Error(t, err)
	w.wire.set(nil)
	second, err := w.begin(s, spend).Settle(t.Context())
	assert.ErrorIs(t, err, settlement.ErrOtherSpend)
	assert.Equal(t, settlement.Rejected, second.Disposition)
	assert.Zero(t, second.Attempts)

	// The same key is the same spend: a process that starts anew goes on with it.
	spend.Commit.IdempotencyKey = first.IdempotencyKey
	again, err := w.begin(w.settler(settlement.WithoutBackground()), spend).Settle(t.Context())
	require.NoError(t, err)
	assert.Equal(t, settlement.Committed, again.Disposition)
	assert.Empty(t, w.files())
}

func TestErrorsOfTheCauseCanBeFound(t *testing.T) {
	w := newWorld(t)
	spend := w.reserve(42)
	w.wire.set(always(409, refusal(gen.ErrorCodeBudgetExceeded)))
	_, err := w.begin(w.settler(), spend).Settle(t.Context())
	assert.ErrorIs(t, err, client.ErrBudgetExceeded)
	var refused *client.Error
	require.True(t, errors.As(err, &refused))
	assert.Equal(t, spend.ReservationID, refused.ReservationID)
}
