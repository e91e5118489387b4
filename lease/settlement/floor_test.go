package settlement_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func throttle(after string) mockserver.Fault {
	return mockserver.Fault{Operation: mockserver.CommitReservation, Status: 429, RetryAfter: after}
}

// setFloor puts a not_before_ms into a record that has none.
func setFloor(t *testing.T, record string, at time.Time) string {
	t.Helper()
	const none = `"not_before_ms":null`
	require.Contains(t, record, none)
	return strings.Replace(record, none, `"not_before_ms":`+strconv.FormatInt(at.UnixMilli(), 10), 1)
}

func TestRetryAfterIsAFloorUnderTheNextAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		after       string
		least, most time.Duration
	}{
		"longer than the own wait":     {"20", 20 * time.Second, 20*time.Second + time.Millisecond},
		"longer than the longest wait": {"45", 45 * time.Second, 45*time.Second + time.Millisecond},
		"shorter than the own wait":    {"0", 250 * time.Millisecond, 500 * time.Millisecond},
		"absent":                       {"", 250 * time.Millisecond, 500 * time.Millisecond},
		"a date":                       {"Wed, 21 Oct 2015 07:28:00 GMT", 250 * time.Millisecond, 500 * time.Millisecond},
		"negative":                     {"-5", 250 * time.Millisecond, 500 * time.Millisecond},
		"beyond an hour":               {"86400", time.Hour, time.Hour + time.Millisecond},
		"beyond all measure":           {"9223372036", time.Hour, time.Hour + time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.srv.Inject(throttle(c.after))
				x := w.begin(w.settler(), w.reserve(42))
				result, err := x.Settle(t.Context())
				require.Error(t, err)
				assert.Equal(t, settlement.Pending, result.Disposition)
				time.Sleep(2 * time.Hour)
				at := w.wire.times()
				require.GreaterOrEqual(t, len(at), 2)
				assert.GreaterOrEqual(t, at[1].Sub(at[0]), c.least)
				assert.LessOrEqual(t, at[1].Sub(at[0]), c.most)
				assert.True(t, x.Result().Settled())
			})
		})
	}
}

func TestFloorIsWrittenToDiskWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(throttle("20"))
		spend := w.reserve(42)
		w.unsettled(w.settler(), spend)
		assert.EqualValues(t, time.Now().Add(20*time.Second).UnixMilli(), w.onDisk(spend.ReservationID)["not_before_ms"])
	})
}

func TestSettleBeforeTheFloorSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(throttle("20"))
		s := w.settler()
		x := w.begin(s, w.reserve(42))
		_, throttled := x.Settle(t.Context())
		require.Error(t, throttled)
		time.Sleep(19 * time.Second)
		_, err := x.Settle(t.Context())
		assert.Equal(t, throttled, err, "nothing new")
		require.Error(t, w.flush(s, time.Second-time.Millisecond), "a flush does not break it either")
		assert.Len(t, w.wire.times(), 1)
		time.Sleep(2 * time.Millisecond)
		assert.True(t, x.Result().Settled())
	})
}

func TestFloorSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.srv.Inject(throttle("30"))
		spend := w.reserve(42)
		first := w.settler()
		w.unsettled(first, spend)
		throttledAt := time.Now()
		time.Sleep(5 * time.Second)
		stop(t, first)

		w.settler(settlement.WithRescan(time.Hour))
		time.Sleep(24*time.Second + 900*time.Millisecond)
		assert.Len(t, w.wire.times(), 1)
		time.Sleep(time.Second)
		at := w.wire.times()
		require.Len(t, at, 2, "and not at the next rescan only")
		assert.GreaterOrEqual(t, at[1].Sub(throttledAt), 30*time.Second)
		assert.EqualValues(t, 42, w.spent())
	})
}

// A floor from a clock that ran ahead costs an hour and not a year, once.
func TestFloorFarInTheFutureIsFollowedForAnHourOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.leave("left.json", setFloor(t, w.record(spend, "key", "event", time.Now()), time.Now().AddDate(1, 0, 0)))
		w.settler()
		time.Sleep(time.Hour - time.Second)
		assert.Empty(t, w.wire.times())
		time.Sleep(2 * time.Second)
		assert.EqualValues(t, 42, w.spent())
	})
}

func TestFloorInThePastIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("left.json", setFloor(t, w.record(w.reserve(42), "key", "commit", time.Now()), time.UnixMilli(0)))
		w.settler()
		time.Sleep(time.Second)
		assert.EqualValues(t, 42, w.spent())
	})
}

// One record that may not be sent yet does not keep the others.
func TestFloorOfOneRecordDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("a.json", setFloor(t, w.record(w.reserve(1), "a", "commit", time.Now()), time.Now().Add(30*time.Second)))
		w.leave("b.json", w.record(w.reserve(2), "b", "commit", time.Now()))
		w.settler()
		time.Sleep(time.Second)
		assert.EqualValues(t, 2, w.spent())
		time.Sleep(30 * time.Second)
		assert.EqualValues(t, 3, w.spent())
	})
}

func TestRetryAfterOnAnEventIsKeptToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CreateEvent, Status: 429, RetryAfter: strconv.Itoa(90)})
		x := w.unsettled(w.settler(), spend)
		switched := w.onDisk(spend.ReservationID)["recorded_at_ms"]
		time.Sleep(89 * time.Second)
		assert.Equal(t, settlement.Pending, x.Result().Disposition)
		assert.Equal(t, switched, w.onDisk(spend.ReservationID)["recorded_at_ms"], "the age counts from the switch")
		time.Sleep(2 * time.Second)
		assert.Equal(t, settlement.RecoveredByEvent, x.Result().Disposition)
	})
}
