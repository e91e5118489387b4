package lease

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proved is a primary success whose attempt took rtt.
func proved(received, rtt time.Duration, remaining int64) success {
	return success{sent: received - rtt, received: received, timed: true, remaining: &remaining}
}

// created is the same for the create, which every schedule starts with.
func created(received, rtt time.Duration, remaining int64) success {
	e := proved(received, rtt, remaining)
	e.create = true
	return e
}

func untimed(e success) success {
	e.timed = false
	return e
}

func transient(at time.Duration) failure { return failure{at: at, class: failedTransient} }

// started is a schedule with an attempt bound of its own and a create received at 0 without a measurable round trip.
func started(timeout time.Duration, remaining int64) (*schedule, decision) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: timeout})
	d := s.succeed(created(0, 0, remaining))
	return &s, d
}

func requireExtend(t *testing.T, d decision, delay time.Duration, key keyRule) {
	t.Helper()
	require.Equal(t, actionExtend, d.action, "%+v", d)
	require.Equal(t, delay, d.delay, "%+v", d)
	require.Equal(t, key, d.key)
	require.Empty(t, d.reason)
}

func requireStop(t *testing.T, d decision, reason StopReason) {
	t.Helper()
	require.Equal(t, actionStop, d.action, "%+v", d)
	require.Equal(t, reason, d.reason)
}

func TestWorkedExampleShowsItsFigures(t *testing.T) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: 10 * time.Second})
	d := s.succeed(created(0, 1500*time.Millisecond, 61500))
	assert.Equal(t, 37*time.Second, d.delay)
	assert.Equal(t, figures{
		leadFloor:     60 * time.Second,
		lead:          60 * time.Second,
		attemptBudget: 10 * time.Second,
		safetyMargin:  3 * time.Second,
		retryReserve:  23 * time.Second,
	}, d.figures)
	assert.Equal(t, pathPrimary, d.path)
	assert.Equal(t, 10*time.Second, d.timeout)

	_, d = started(30*time.Second, 60000)
	assert.Equal(t, 61*time.Second, d.retryReserve)
	assert.Zero(t, d.delay)
}

func TestPositiveDelayNeedsMoreLeadThanTheReserve(t *testing.T) {
	for remaining, delay := range map[int64]time.Duration{
		0: 0, 14999: 0, 15000: 0, 15001: time.Millisecond, 15002: 2 * time.Millisecond,
	} {
		_, d := started(7*time.Second, remaining)
		requireExtend(t, d, delay, keyFresh)
	}
}

func TestAttemptBudgetAndMarginHaveTheirFloors(t *testing.T) {
	_, d := started(time.Millisecond, 60000)
	assert.Equal(t, time.Second, d.attemptBudget)
	assert.Equal(t, time.Second, d.safetyMargin)

	s := newSchedule(params{ttl: 60000, fixedTimeout: 4 * time.Second})
	d = s.succeed(created(0, 3*time.Second, 60000))
	assert.Equal(t, 6*time.Second, d.attemptBudget, "twice the round trip dominates the timeout")
	assert.Equal(t, 6*time.Second, d.safetyMargin)
}

func TestRoundingNeverEatsTheReserve(t *testing.T) {
	tests := []struct {
		situation                       string
		rtt, timeout                    time.Duration
		leadFloor, budget, margin, wait time.Duration
	}{
		{"whole milliseconds", atMs(10), atMs(2000), atMs(19990), atMs(2000), atMs(1000), atMs(14990)},
		{"a nanosecond of round trip costs a millisecond of lead", 1, atMs(2000), atMs(19999), atMs(2000), atMs(1000), atMs(14999)},
		{"the last nanosecond before a millisecond", atMs(10) - 1, atMs(2000), atMs(19990), atMs(2000), atMs(1000), atMs(14990)},
		{"a timeout of no whole milliseconds", 0, atMs(2000) + 1, atMs(20000), atMs(2001), atMs(1000), atMs(14998)},
		{"the round trip is doubled before it is rounded", atMs(600.25), atMs(1000), atMs(19399), atMs(1201), atMs(1201), atMs(15796)},
		{"a half doubles to a whole", atMs(600.5), atMs(1000), atMs(19399), atMs(1201), atMs(1201), atMs(15796)},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			s := newSchedule(params{ttl: 20000, fixedTimeout: tt.timeout})
			d := s.succeed(created(0, tt.rtt, 20000))
			assert.Equal(t, tt.leadFloor, d.leadFloor)
			assert.Equal(t, tt.budget, d.attemptBudget)
			assert.Equal(t, tt.margin, d.safetyMargin)
			assert.Equal(t, 2*tt.budget+tt.margin, d.retryReserve)
			assert.Equal(t, tt.wait, d.delay)
			assert.Equal(t, tt.timeout, d.timeout, "enforced exactly as given")
		})
	}
}

func TestEveryAnswerIsScheduledFromAlone(t *testing.T) {
	s, _ := started(7*time.Second, 60000)
	e := proved(45*time.Second, 0, 60000)
	e.expiresAt = new(int64(1))
	requireExtend(t, s.succeed(e), 45*time.Second, keyFresh)

	// A much later expiry buys nothing while the field says otherwise, and an earlier one costs nothing.
	e = proved(90*time.Second, 0, 30000)
	e.expiresAt = new(int64(1_000_000_000_000))
	requireExtend(t, s.succeed(e), 15*time.Second, keyFresh)
	e = proved(105*time.Second, 0, 60000)
	e.expiresAt = new(int64(-5))
	requireExtend(t, s.succeed(e), 45*time.Second, keyFresh)
}

func TestFirstBeatComesFromTheCreate(t *testing.T) {
	s := newSchedule(params{ttl: 86_400_000, fixedTimeout: 5 * time.Second})
	// A day was asked for and an hour granted, so the first beat is not half a day away.
	d := s.succeed(created(3*time.Second, atMs(20), 3_600_000))
	requireExtend(t, d, atMs(3_600_000-20-11_000), keyFresh)
}

func TestMaximumRoundTripCountsEverySuccess(t *testing.T) {
	t.Run("the create's", func(t *testing.T) {
		s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
		s.succeed(created(0, 2*time.Second, 60000))
		d := s.succeed(proved(30*time.Second, 0, 60000))
		assert.Equal(t, 4*time.Second, d.safetyMargin)
	})
	t.Run("the current one before its own delay", func(t *testing.T) {
		s, _ := started(time.Second, 60000)
		d := s.succeed(proved(30*time.Second, 2*time.Second, 62000))
		assert.Equal(t, 60*time.Second-3*4*time.Second, d.delay)
	})
	t.Run("for good", func(t *testing.T) {
		s, _ := started(time.Second, 60000)
		s.succeed(proved(30*time.Second, 2*time.Second, 60000))
		for beat := range time.Duration(5) {
			d := s.succeed(proved((40+beat)*time.Second, 0, 60000))
			assert.Equal(t, 4*time.Second, d.attemptBudget)
		}
	})
	t.Run("but no failure's", func(t *testing.T) {
		s, first := started(7*time.Second, 60000)
		d := s.fail(transient(first.delay + 7*time.Second))
		assert.Equal(t, time.Second, d.safetyMargin)
	})
	t.Run("and no untimed success's", func(t *testing.T) {
		s, _ := started(time.Second, 60000)
		d := s.succeed(untimed(proved(30*time.Second, 20*time.Second, 60000)))
		assert.Equal(t, time.Second, d.safetyMargin)
	})
}

func TestUnknownTimingProvesNoLead(t *testing.T) {
	backwards := created(0, 0, 86_400_000)
	backwards.sent = 1
	for situation, e := range map[string]success{
		"no timing recorded":          untimed(created(0, 0, 86_400_000)),
		"received before it was sent": backwards,
	} {
		t.Run(situation, func(t *testing.T) {
			s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
			d := s.succeed(e)
			requireExtend(t, d, 0, keyFresh)
			assert.Zero(t, d.leadFloor)
			assert.Equal(t, pathPrimary, d.path, "unknown timing is no reason for the fallback")
			assert.False(t, s.proved())
			assert.Zero(t, s.lead(0, 0))
			requireStop(t, s.succeed(untimed(proved(0, 0, 86_400_000))), StopLeaseTooShort)
		})
	}
}

func TestRoundTripLongerThanTheLeaseProvesNoLead(t *testing.T) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
	d := s.succeed(created(0, 61*time.Second, 60000))
	assert.Zero(t, d.leadFloor)
	requireExtend(t, d, 0, keyFresh)
	assert.True(t, s.proved(), "the timing is known; it proves a lead of 0")
}

func TestUnboundedTimeoutLeavesNoSafeDelay(t *testing.T) {
	s, d := started(unbounded, math.MaxInt64)
	requireExtend(t, d, 0, keyFresh)
	assert.Equal(t, time.Duration(math.MaxInt64), d.attemptBudget)
	assert.Equal(t, time.Duration(math.MaxInt64), d.retryReserve)
	assert.Equal(t, unbounded, d.timeout)
	requireStop(t, s.succeed(proved(1, 0, math.MaxInt64)), StopLeaseTooShort)

	s, _ = started(unbounded, math.MaxInt64)
	d = s.fail(transient(0))
	requireStop(t, d, StopRetryWindow)
	assert.Negative(t, d.retryWindow)
}

func TestSecondZeroDelayInARowStops(t *testing.T) {
	t.Run("one immediate extend with a fresh key is allowed", func(t *testing.T) {
		s, d := started(7*time.Second, 15000)
		requireExtend(t, d, 0, keyFresh)
		d = s.succeed(proved(0, 0, 15000))
		requireStop(t, d, StopLeaseTooShort)
		assert.Equal(t, 15*time.Second, d.lead, "stopping is not losing")
	})
	t.Run("a positive delay starts the count again", func(t *testing.T) {
		s, _ := started(7*time.Second, 15000)
		requireExtend(t, s.succeed(proved(0, 0, 15001)), time.Millisecond, keyFresh)
		requireExtend(t, s.succeed(proved(1, 0, 15000)), 0, keyFresh)
		requireStop(t, s.succeed(proved(2, 0, 15000)), StopLeaseTooShort)
	})
	t.Run("failures between them do not", func(t *testing.T) {
		s, _ := started(7*time.Second, 15000)
		requireExtend(t, s.fail(transient(time.Second)), 3500*time.Millisecond, keySame)
		requireStop(t, s.succeed(proved(5*time.Second, 0, 15000)), StopLeaseTooShort)
	})
}

func TestLargestRemainingDoesNotWrap(t *testing.T) {
	for _, remaining := range []int64{9_300_000_000_000, math.MaxInt64 - 1, math.MaxInt64} {
		s, d := started(7*time.Second, remaining)
		requireExtend(t, d, math.MaxInt64, keyFresh)
		assert.Positive(t, s.lead(time.Hour, 0))
		assert.Positive(t, s.upperBound(time.Hour, 0))
		requireExtend(t, s.fail(transient(time.Hour)), 30*time.Second, keySame)
	}
}

func TestNegativeRemainingProvesNoLead(t *testing.T) {
	for _, remaining := range []int64{-1, math.MinInt64} {
		s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
		d := s.succeed(created(0, time.Millisecond, remaining))
		requireExtend(t, d, 0, keyFresh)
		assert.Zero(t, d.leadFloor)
		assert.LessOrEqual(t, s.upperBound(time.Millisecond, 0), time.Duration(0))
	}
}

func TestLongestRoundTripIsInfinite(t *testing.T) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
	e := created(math.MaxInt64, 0, math.MaxInt64)
	e.sent = math.MinInt64
	d := s.succeed(e)
	requireExtend(t, d, 0, keyFresh)
	assert.Equal(t, time.Duration(math.MaxInt64), d.attemptBudget)
	assert.Equal(t, time.Duration(math.MaxInt64), d.safetyMargin)
}

func TestFittedTimeoutIsAnEighthOfTheLead(t *testing.T) {
	for lead, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Second: time.Second, 9 * time.Second: time.Second,
		9*time.Second + 7*time.Millisecond:  time.Second,
		9*time.Second + 8*time.Millisecond:  1001 * time.Millisecond,
		9*time.Second + 15*time.Millisecond: 1001 * time.Millisecond,
		60 * time.Second:                    7375 * time.Millisecond,
		81 * time.Second:                    10 * time.Second,
		81*time.Second - 8*time.Millisecond: 9999 * time.Millisecond,
		time.Hour:                           10 * time.Second, math.MaxInt64: 10 * time.Second,
	} {
		assert.Equal(t, want, fittedTimeout(lead), "lead %v", lead)
	}
}

func TestFittedTimeoutFollowsEachSuccessAndNothingElse(t *testing.T) {
	s := newSchedule(params{ttl: 60000})
	d := s.succeed(created(0, 0, 60000))
	assert.Equal(t, 7375*time.Millisecond, d.timeout)
	assert.Equal(t, d.timeout, d.attemptBudget)
	d = s.fail(transient(d.delay))
	assert.Equal(t, 7375*time.Millisecond, d.timeout)
	d = s.dispatch(d.delay)
	assert.Equal(t, 7375*time.Millisecond, d.timeout)
	d = s.succeed(proved(50*time.Second, time.Second, 30000))
	assert.Equal(t, 3500*time.Millisecond, d.timeout)
	d = s.clockTrouble(51 * time.Second)
	assert.Equal(t, 3500*time.Millisecond, d.timeout, "a void lead does not shorten the attempt that decides")
	d = s.succeed(untimed(proved(52*time.Second, time.Second, 17000)))
	assert.Equal(t, 2*time.Second, d.timeout, "nothing proved: from the server's figure")
}

func TestFittedTimeoutOnTheFallbackComesFromTheTTL(t *testing.T) {
	s := newSchedule(params{ttl: 33000})
	d := s.succeed(success{create: true, timed: true})
	assert.Equal(t, 4*time.Second, d.timeout)
}

func TestFittedTimeoutKeepsASafeDelayAfterOneAnswerAsSlowAsItAllows(t *testing.T) {
	// The bar of the fit: from 8 s of lead, an answer that takes the whole bound leaves the next delay positive.
	for remaining := int64(8000); remaining <= 120_000; remaining += 97 {
		s := newSchedule(params{ttl: remaining})
		d := s.succeed(created(0, 0, remaining))
		require.Positive(t, d.delay, "remaining %d", remaining)
		d = s.succeed(proved(d.delay+d.timeout, d.timeout, remaining))
		require.Positive(t, d.delay, "remaining %d, rtt %v", remaining, d.timeout)
	}
}

func TestJitterOnlyShortensAPositiveDelay(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{
		0: 45 * time.Second, -1: 45 * time.Second, math.NaN(): 45 * time.Second,
		0.1: 40500 * time.Millisecond, 0.00001: 44999 * time.Millisecond,
		1: time.Millisecond, 7: time.Millisecond, math.Inf(1): time.Millisecond, 0.9999999: time.Millisecond,
	} {
		s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second})
		e := created(0, 0, 60000)
		e.jitter = jitter
		requireExtend(t, s.succeed(e), want, keyFresh)
	}

	s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second})
	e := created(0, 0, 15001)
	e.jitter = 0.5
	requireExtend(t, s.succeed(e), time.Millisecond, keyFresh)

	s = newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second})
	e = created(0, 0, 15000)
	e.jitter = 0.5
	requireExtend(t, s.succeed(e), 0, keyFresh)
	requireExtend(t, s.fail(transient(0)), 3750*time.Millisecond, keySame)

	s = newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second})
	e = created(0, 0, math.MaxInt64)
	e.jitter = 1
	requireExtend(t, s.succeed(e), time.Millisecond, keyFresh)
}

func TestTimerSlackRoundsAPositiveDelayDown(t *testing.T) {
	for remaining, want := range map[int64]time.Duration{
		60000: 44975 * time.Millisecond, 15027: 2 * time.Millisecond, 15026: time.Millisecond, 15001: time.Millisecond,
		15000: 0, 0: 0,
	} {
		s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second, timerSlack: 24*time.Millisecond + 1})
		d := s.succeed(created(0, 0, remaining))
		requireExtend(t, d, want, keyFresh)
	}
}

func TestTimersLateWithinTheirSlackKeepTheRetry(t *testing.T) {
	const slack, late = 20 * time.Millisecond, 10 * time.Millisecond
	for _, allowed := range []time.Duration{0, slack} {
		s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second, timerSlack: allowed})
		beat := s.succeed(created(0, 0, 60000)).delay + late
		s.dispatch(beat)
		d := s.fail(transient(beat + 7*time.Second + late))
		if allowed == 0 {
			requireStop(t, d, StopRetryWindow)
			continue
		}
		requireExtend(t, d, 0, keySame)
		requireExtend(t, s.dispatch(beat+7*time.Second+2*late), 0, keySame)
	}
}

func TestLeadNeverReadsAboveWhatWasProved(t *testing.T) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: time.Second})
	s.succeed(created(10*time.Second, atMs(0.5), 60000))
	assert.Equal(t, 59999*time.Millisecond, s.lead(10*time.Second, 0))
	assert.Equal(t, 59998*time.Millisecond, s.lead(10*time.Second+1, 0), "elapsed rounds up")
	assert.Equal(t, 49999*time.Millisecond, s.lead(20*time.Second, 0))
	assert.Equal(t, 29999*time.Millisecond, s.lead(20*time.Second, 20*time.Second), "time the monotonic clock missed")
	assert.Equal(t, 49999*time.Millisecond, s.lead(20*time.Second, -time.Hour), "a wall clock set back adds nothing")
	assert.Zero(t, s.lead(70*time.Second, 0))
	assert.Zero(t, s.lead(math.MaxInt64, math.MaxInt64))
	assert.Zero(t, s.lead(10*time.Second-1, 0), "an instant before the receipt is no measure")
}
