package lease

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func throttled(at, retryAfter time.Duration) failure {
	return failure{at: at, class: failedThrottled, retryAfter: retryAfter, hasRetryAfter: true}
}

func TestRecoveryWaitsTheLeastOfItsThreeBounds(t *testing.T) {
	tests := []struct {
		situation    string
		remaining    int64
		at           time.Duration
		wait, window time.Duration
	}{
		{"never more than 30 s", 200_000, 0, 30 * time.Second, 192 * time.Second},
		{"exactly 30 s", 120_000, 0, 30 * time.Second, 112 * time.Second},
		{"a quarter of the lead", 60_000, 45 * time.Second, 3750 * time.Millisecond, 7 * time.Second},
		{"a quarter, rounded down", 60_000, 48750 * time.Millisecond, 2812 * time.Millisecond, 3250 * time.Millisecond},
		{"the elapsed rounded up", 60_000, 45*time.Second + 1, 3749 * time.Millisecond, 6999 * time.Millisecond},
		{"the window", 60_000, 51562 * time.Millisecond, 438 * time.Millisecond, 438 * time.Millisecond},
		{"a window of a millisecond", 60_000, 51999 * time.Millisecond, time.Millisecond, time.Millisecond},
		{"no window: at once", 60_000, 52 * time.Second, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			for _, class := range []failureClass{failedTransient, failedAmbiguous} {
				s, _ := started(7*time.Second, tt.remaining)
				d := s.fail(failure{at: tt.at, class: class})
				requireExtend(t, d, tt.wait, keySame)
				assert.Equal(t, tt.window, d.retryWindow)
			}
		})
	}
}

func TestNegativeWindowStopsHoweverSmall(t *testing.T) {
	for _, at := range []time.Duration{52*time.Second + 1, 52001 * time.Millisecond, time.Hour, math.MaxInt64, -1} {
		s, _ := started(7*time.Second, 60000)
		d := s.fail(transient(at))
		requireStop(t, d, StopRetryWindow)
		assert.Negative(t, d.retryWindow, "not clamped")
	}
}

func TestRecoveryIsRecomputedFromTheLastSuccess(t *testing.T) {
	s, d := started(7*time.Second, 60000)
	now := d.delay
	for _, want := range []time.Duration{3750, 2812, 438} {
		requireExtend(t, s.dispatch(now), 0, keySameUnless(now == d.delay))
		f := s.fail(transient(now))
		requireExtend(t, f, want*time.Millisecond, keySame)
		now += f.delay
	}
	requireExtend(t, s.dispatch(now), 0, keySame)
	d = s.succeed(proved(now+20*time.Millisecond, 20*time.Millisecond, 60000))
	requireExtend(t, d, 44980*time.Millisecond, keyFresh)
	// The next streak knows nothing of the one before.
	requireExtend(t, s.fail(transient(now+d.delay)), 3755*time.Millisecond, keySame)
}

func keySameUnless(first bool) keyRule {
	if first {
		return keyFresh
	}
	return keySame
}

func TestZeroWindowAllowsOneAttempt(t *testing.T) {
	const last = 52 * time.Second // the window is 0 here
	t.Run("which may succeed", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(transient(last)), 0, keySame)
		requireExtend(t, s.dispatch(last), 0, keySame)
		d := s.succeed(proved(last, 0, 60000))
		requireExtend(t, d, 45*time.Second, keyFresh)
		// A success in between gives the next streak its own attempt.
		requireExtend(t, s.fail(transient(2*last)), 0, keySame)
		requireStop(t, s.fail(transient(2*last)), StopZeroWindow)
	})
	t.Run("on a clock too coarse to show that time passed", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(last))
		requireStop(t, s.fail(transient(last)), StopZeroWindow)
	})
	t.Run("whatever the window is after it", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(last))
		requireStop(t, s.fail(transient(last-time.Second)), StopZeroWindow)
	})
	t.Run("and a window gone negative is named as such", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(last))
		requireStop(t, s.fail(transient(last+1)), StopRetryWindow)
	})
	t.Run("throttled or not", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(throttled(last, 0)), 0, keySame)
		requireStop(t, s.fail(failure{at: last, class: failedThrottled}), StopZeroWindow)
	})
}

func TestNoProgressStopsAZeroTimeLoop(t *testing.T) {
	const at = 45 * time.Second
	t.Run("two failures at one instant", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(transient(at)), 3750*time.Millisecond, keySame)
		requireStop(t, s.fail(transient(at)), StopNoProgress)
	})
	t.Run("a clock that went back", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(at))
		requireStop(t, s.fail(transient(at-time.Second)), StopNoProgress)
	})
	t.Run("a nanosecond is progress, though no millisecond changed", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(at + 1))
		d := s.fail(transient(at + 2))
		requireExtend(t, d, 3749*time.Millisecond, keySame)
		requireStop(t, s.fail(transient(at+2)), StopNoProgress)
	})
	t.Run("before the verdict on a 429", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(throttled(at, 0)), 0, keySame)
		requireStop(t, s.fail(failure{at: at, class: failedThrottled}), StopNoProgress)
	})
	t.Run("not across a success", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(at))
		s.succeed(proved(at, 0, 60000))
		requireExtend(t, s.fail(transient(at)), 15*time.Second, keySame)
	})
}

func TestRetryAfterIsWaitedExactlyOrNotAtAll(t *testing.T) {
	const at = 45 * time.Second // window 7 s
	for _, wait := range []time.Duration{0, time.Second, 2 * time.Second, 7 * time.Second} {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(throttled(at, wait)), wait, keySame)
		d := s.dispatch(at + wait)
		requireExtend(t, d, 0, keySame)
	}
	for situation, f := range map[string]failure{
		"missing or invalid":            {at: at, class: failedThrottled},
		"valid by its look only":        {at: at, class: failedThrottled, retryAfter: time.Second},
		"longer than the window":        throttled(at, 7001*time.Millisecond),
		"longer by less than a tick":    throttled(at, 7*time.Second+1),
		"negative":                      throttled(at, -time.Second),
		"overflown":                     throttled(at, math.MaxInt64),
		"longer than any lease":         throttled(at, 24*365*time.Hour),
		"the window is negative anyway": throttled(52*time.Second, time.Hour),
	} {
		t.Run(situation, func(t *testing.T) {
			s, _ := started(7*time.Second, 60000)
			requireStop(t, s.fail(f), StopThrottled)
		})
	}
	t.Run("overflown on a lease without end", func(t *testing.T) {
		s, _ := started(7*time.Second, math.MaxInt64)
		requireStop(t, s.fail(throttled(0, math.MaxInt64)), StopThrottled)
	})
	t.Run("a fraction of a millisecond waits the whole one", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireExtend(t, s.fail(throttled(at, 1)), time.Millisecond, keySame)
	})
	t.Run("with no window left, a negative one is the reason", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		requireStop(t, s.fail(failure{at: 53 * time.Second, class: failedThrottled}), StopRetryWindow)
	})
}

func TestRetryAfterOfAnotherFailurePlaysNoPart(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	f := transient(45 * time.Second)
	f.retryAfter, f.hasRetryAfter = time.Hour, true
	requireExtend(t, s.fail(f), 3750*time.Millisecond, keySame)
}

func TestRecoveryThatComesTooLateIsDropped(t *testing.T) {
	for _, tt := range []struct {
		at   time.Duration
		stop bool
	}{
		{48750 * time.Millisecond, false},
		{52 * time.Second, false},
		{53 * time.Second, false}, // the margin is there for lateness
		{53*time.Second + 1, true},
		{2 * time.Minute, true},
		{-1, true}, // no measure of the lead
	} {
		s, _ := started(7*time.Second, 60000)
		s.fail(transient(45 * time.Second))
		d := s.dispatch(tt.at)
		if tt.stop {
			requireStop(t, d, StopRetryWindow)
		} else {
			requireExtend(t, d, 0, keySame)
		}
	}
}

func TestFreshBeatIsNeverDropped(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	requireExtend(t, s.dispatch(2*time.Minute), 0, keyFresh)
	requireExtend(t, s.succeed(proved(2*time.Minute, 0, 60000)), 45*time.Second, keyFresh)
}

func TestAnotherClientErrorStopsAtOnce(t *testing.T) {
	for _, remaining := range []*int64{new(int64(60000)), nil} {
		s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
		s.succeed(success{create: true, timed: true, remaining: remaining})
		requireStop(t, s.fail(failure{at: time.Second, class: failedRejected}), StopRejected)
	}
}

func TestPermanentAnswerStopsWithItsReason(t *testing.T) {
	for _, reason := range []StopReason{StopExpired, StopFinalized, StopMaxExtensions, StopTenantClosed, StopNotFound} {
		for _, remaining := range []*int64{new(int64(60000)), nil} {
			s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
			s.succeed(success{create: true, timed: true, remaining: remaining})
			s.fail(transient(time.Second))
			requireStop(t, s.fail(failure{at: time.Second, class: failedPermanent, reason: reason}), reason)
			assert.True(t, reason.Permanent())
		}
	}
	s, _ := started(time.Second, 60000)
	requireStop(t, s.fail(failure{class: failedPermanent}), StopRejected)
}

func TestOnlyAnswersAboutTheReservationArePermanent(t *testing.T) {
	for _, reason := range []StopReason{
		StopRejected, StopThrottled, StopRetryWindow, StopZeroWindow, StopNoProgress, StopLeaseTooShort, "", "anything",
	} {
		assert.False(t, reason.Permanent(), reason)
	}
}

func TestNothingFollowsAStop(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	stopped := s.fail(failure{at: 45 * time.Second, class: failedRejected})
	for name, later := range map[string]decision{
		"a late success":  s.succeed(proved(46*time.Second, 0, 60000)),
		"a late failure":  s.fail(transient(46 * time.Second)),
		"a dispatch":      s.dispatch(46 * time.Second),
		"a clock trouble": s.clockTrouble(46 * time.Second),
		"a final answer":  s.fail(failure{at: 47 * time.Second, class: failedPermanent, reason: StopExpired}),
	} {
		assert.Equal(t, stopped, later, name)
	}
	require.Equal(t, 10*time.Second, s.lead(50*time.Second, 0), "the lead that was proved is still there")
}
