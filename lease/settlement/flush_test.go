package settlement_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestFlushTriesNowAndReturnsWhenAllIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, second := w.reserve(1), w.reserve(2)
		left := w.reserve(4)
		w.leave("left_by_another.json", w.record(left, "key", "commit", time.Now()))
		w.wire.set(always(403, ""))
		s := w.settler(settlement.WithRescan(time.Hour))
		for _, spend := range []settlement.Spend{first, second} {
			w.unsettled(s, spend)
		}
		w.wire.set(nil)
		start := time.Now()
		require.NoError(t, w.flush(s, time.Minute))
		assert.Less(t, time.Since(start), time.Second)
		assert.EqualValues(t, 7, w.spent())
		assert.Empty(t, w.files())
		require.NoError(t, w.flush(s, time.Minute), "nothing to do")
	})
}

// What comes while a sweep is under way is not in its list.
func TestFlushDuringASweepWaitsForTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 3 * time.Second})
		w.leave("first.json", w.record(w.reserve(1), "a", "commit", time.Now()))
		s := w.settler(settlement.WithRescan(time.Hour))
		time.Sleep(time.Second)
		w.leave("second.json", w.record(w.reserve(2), "b", "commit", time.Now()))
		require.NoError(t, w.flush(s, time.Minute))
		assert.EqualValues(t, 3, w.spent())
	})
}

func TestFlushEndsWithItsContextAndLeavesTheRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(1)
		w.leave("left_by_another.json", w.record(w.reserve(2), "key", "commit", time.Now()))
		w.wire.set(down)
		s := w.settler()
		w.unsettled(s, spend)
		before := w.onDisk(spend.ReservationID)
		start := time.Now()
		err := w.flush(s, 10*time.Second)
		assert.Equal(t, 10*time.Second, time.Since(start))
		var left *settlement.LeftError
		require.ErrorAs(t, err, &left)
		assert.Equal(t, 2, left.Kept)
		assert.Zero(t, left.Lost)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, before, w.onDisk(spend.ReservationID))
		assert.Equal(t, map[string]int{".json": 2}, w.files())
	})
}

// What another process is just replaying is not settled yet either.
func TestFlushWaitsForTheSweepOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 3 * time.Second})
		w.leave("left.json", w.record(w.reserve(42), "key", "commit", time.Now()))
		w.settler()
		time.Sleep(time.Second)
		require.NoError(t, w.flush(w.settler(settlement.WithoutBackground()), time.Minute))
		assert.EqualValues(t, 42, w.spent())
		assert.Len(t, w.wire.times(), 1)
	})
}

func TestFlushWaitsForRecordsOfOthersAsForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("left.json", w.record(w.reserve(42), "key", "commit", time.Now()))
		w.wire.set(down)
		s := w.settler()
		time.AfterFunc(20*time.Second, func() { w.wire.set(nil) })
		start := time.Now()
		require.NoError(t, w.flush(s, 2*time.Minute))
		assert.Greater(t, time.Since(start), 20*time.Second)
		assert.EqualValues(t, 42, w.spent())
	})
}

func TestCloseGivesPendingSpendsALastChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(401, ""))
		s := w.settler(settlement.WithFlushTimeout(10*time.Second), settlement.WithRescan(time.Hour))
		x := w.unsettled(s, spend)
		w.wire.set(nil)
		require.NoError(t, s.Close(t.Context()))
		assert.True(t, x.Result().Settled())
		require.NoError(t, s.Close(t.Context()), "twice is fine")
	})
}

// The ordinary waits are too long for the little time that Close has.
func TestCloseTriesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		s := w.settler(settlement.WithFlushTimeout(10 * time.Second))
		x := w.unsettled(s, spend)
		time.Sleep(time.Minute)
		time.AfterFunc(8900*time.Millisecond, func() { w.wire.set(nil) })
		require.NoError(t, s.Close(t.Context()))
		assert.True(t, x.Result().Settled())
	})
}

func TestCloseIsBoundedAndSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		kept, lost := w.reserve(1), w.reserve(2)
		hang := func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
		w.wire.set(hang)
		for _, c := range []struct {
			spend      settlement.Spend
			opts       []settlement.Option
			kept, lost int
		}{
			{kept, nil, 1, 0},
			{lost, []settlement.Option{settlement.WithoutJournal()}, 0, 1},
		} {
			s := w.settler(append(c.opts, settlement.WithFlushTimeout(7*time.Second))...)
			_, err := w.begin(s, c.spend).Settle(t.Context())
			require.Error(t, err)
			start := time.Now()
			var left *settlement.LeftError
			require.ErrorAs(t, s.Close(t.Context()), &left)
			assert.Equal(t, 7*time.Second, time.Since(start))
			assert.Equal(t, settlement.LeftError{Kept: c.kept, Lost: c.lost}, *left)
			assert.NotEmpty(t, left.Error())
		}
		assert.Equal(t, map[string]int{".json": 1}, w.files(), "no claim, no temporary file")
	})
}

func TestClosedSettlerStillSettlesOnDemandAndNothingByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		s := w.settler()
		require.NoError(t, s.Close(t.Context()))
		w.wire.set(down)
		x := w.unsettled(s, spend)
		w.wire.set(nil)
		time.Sleep(time.Hour)
		assert.Len(t, w.wire.times(), 1)
		var left *settlement.LeftError
		require.ErrorAs(t, s.Flush(t.Context()), &left)
		assert.Equal(t, 1, left.Kept)
		result, err := x.Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, settlement.RecoveredByEvent, result.Disposition)
	})
}

func TestWithoutBackgroundOnlyWhatIsAskedForHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("left_by_another.json", w.record(w.reserve(2), "key", "commit", time.Now()))
		spend := w.reserve(1)
		w.wire.set(down)
		s := w.settler(settlement.WithoutBackground())
		w.unsettled(s, spend)
		w.wire.set(nil)
		time.Sleep(time.Hour)
		assert.Len(t, w.wire.times(), 1)
		require.NoError(t, w.flush(s, time.Minute))
		assert.EqualValues(t, 3, w.spent())
		time.Sleep(time.Hour)
		assert.Empty(t, w.files())
	})
}
