package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClockTroubleBetweenBeatsLetsOneExtendDecide(t *testing.T) {
	for situation, remaining := range map[string]int64{"lead is found": 60000, "none is": 15000} {
		t.Run(situation, func(t *testing.T) {
			s, _ := started(7*time.Second, 60000)
			d := s.clockTrouble(20 * time.Second)
			requireExtend(t, d, 0, keyFresh)
			assert.Zero(t, d.leadFloor)
			assert.Zero(t, s.lead(20*time.Second, 0))
			assert.False(t, s.proved())
			assert.Equal(t, 40*time.Second, s.upperBound(20*time.Second, 0), "the upper bound decides about loss")

			requireExtend(t, s.dispatch(20*time.Second), 0, keyFresh)
			d = s.succeed(proved(21*time.Second, time.Second, remaining))
			if remaining == 15000 {
				requireStop(t, d, StopLeaseTooShort)
				return
			}
			requireExtend(t, d, 43*time.Second, keyFresh)
			assert.True(t, s.proved())
			requireExtend(t, s.clockTrouble(30*time.Second), 0, keyFresh)
		})
	}
}

func TestClockTroubleToldAgainChangesNothing(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	requireExtend(t, s.clockTrouble(20*time.Second), 0, keyFresh)
	requireExtend(t, s.clockTrouble(25*time.Second), 0, keyFresh)
	s.dispatch(25 * time.Second)
	// The clocks still differ by what they differed before the attempt left; the attempt itself is timed well.
	require.Equal(t, actionAwait, s.clockTrouble(26*time.Second).action)
	requireExtend(t, s.succeed(proved(26*time.Second, time.Second, 61000)), 44*time.Second, keyFresh)
}

func TestClockTroubleInsideAnAttemptVoidsItsTiming(t *testing.T) {
	t.Run("its success proves nothing, and one extend decides", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.dispatch(45 * time.Second)
		d := s.clockTrouble(46 * time.Second)
		require.Equal(t, actionAwait, d.action)
		assert.Zero(t, d.lead)
		d = s.succeed(proved(47*time.Second, 2*time.Second, 60000))
		requireExtend(t, d, 0, keyFresh)
		assert.Zero(t, d.leadFloor)
		assert.Equal(t, time.Second, d.safetyMargin, "its round trip is no measure either")
		s.dispatch(47 * time.Second)
		requireExtend(t, s.succeed(proved(47*time.Second, 0, 60000)), 45*time.Second, keyFresh)
	})
	t.Run("its failure stops", func(t *testing.T) {
		s, _ := started(7*time.Second, 60000)
		s.dispatch(45 * time.Second)
		s.clockTrouble(46 * time.Second)
		requireStop(t, s.fail(transient(46*time.Second)), StopRetryWindow)
	})
	t.Run("in the extend that was to decide", func(t *testing.T) {
		s, _ := started(7*time.Second, 15000)
		s.dispatch(0)
		s.clockTrouble(time.Second)
		requireStop(t, s.succeed(proved(time.Second, 0, 60000)), StopLeaseTooShort)
	})
}

func TestClockTroubleInARecoveryStreakStops(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	s.fail(transient(45 * time.Second))
	d := s.clockTrouble(46 * time.Second)
	requireStop(t, d, StopRetryWindow)
	assert.Equal(t, keySame, d.key, "the outstanding key is still the outstanding one")
	assert.Equal(t, 74*time.Second, s.upperBound(46*time.Second, 0), "the unresolved extend may have been applied")
}

func TestClockTroubleBeforeTheImmediateExtendCostsNothingMore(t *testing.T) {
	s, _ := started(7*time.Second, 15000)
	requireExtend(t, s.clockTrouble(0), 0, keyFresh)
	s.dispatch(0)
	requireExtend(t, s.succeed(proved(0, 0, 60000)), 45*time.Second, keyFresh)
}

func TestClockTroubleOnTheFallback(t *testing.T) {
	t.Run("the beat goes at once and is not skipped", func(t *testing.T) {
		s, now := legacy(t, 60000, 60000, 60000, 60000)
		require.Equal(t, actionSkip, s.dispatch(now).action)
		requireExtend(t, s.clockTrouble(now), 0, keyFresh)
		requireExtend(t, s.dispatch(now), 0, keyFresh)
		requireExtend(t, s.succeed(granted(now, 60000, 5)), 30*time.Second, keyFresh)
	})
	t.Run("a retry keeps the wait it was given", func(t *testing.T) {
		s, now := legacy(t, 60000, 60000)
		s.dispatch(now)
		requireExtend(t, s.fail(throttled(now, 20*time.Second)), 20*time.Second, keySame)
		requireExtend(t, s.clockTrouble(now+5*time.Second+1), 15*time.Second-1, keySame)
		requireExtend(t, s.clockTrouble(now+5*time.Second+1), 15*time.Second-1, keySame)
		requireExtend(t, s.clockTrouble(now+21*time.Second), 0, keySame)
	})
	t.Run("time the monotonic clock missed leaves the ledger", func(t *testing.T) {
		s, now := legacy(t, 60000, 60000, 60000)
		before := s.lead(now, 0)
		assert.Equal(t, before-time.Second, s.lead(now, time.Second))
		e := granted(now, 60000, 3)
		e.gap = 7 * time.Second
		s.succeed(e)
		assert.Equal(t, before+60*time.Second-7*time.Second, s.lead(now, 0))
	})
}
