package lease

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// granted is a success of a legacy server whose expiry stands at the nth multiple of grant.
func granted(received time.Duration, grant, n int64) success {
	expiry := 1_700_000_000_000 + n*grant
	return success{sent: received, received: received, timed: true, expiresAt: &expiry}
}

// legacy is a schedule on the fallback after a create at 0 and the given grants, each taken when it was due, and the
// instant the next beat is due.
func legacy(t *testing.T, ttl int64, grants ...int64) (*schedule, time.Duration) {
	t.Helper()
	s := newSchedule(params{ttl: ttl, fixedTimeout: time.Second})
	e := granted(0, 0, 0)
	e.create = true
	d := s.succeed(e)
	now, expiry := time.Duration(0), *e.expiresAt
	for _, grant := range grants {
		now += d.delay
		for d = s.dispatch(now); d.action == actionSkip; d = s.dispatch(now) {
			now += d.delay
		}
		require.Equal(t, actionExtend, d.action)
		expiry += grant
		at := expiry
		d = s.succeed(success{sent: now, received: now, timed: true, expiresAt: &at})
	}
	return &s, now + d.delay
}

func TestFirstBeatOfALegacyLeaseGoesAtOnce(t *testing.T) {
	s := newSchedule(params{ttl: 86_400_000})
	e := granted(5*time.Second, 0, 0)
	e.create = true
	d := s.succeed(e)
	requireExtend(t, d, 0, keyFresh)
	assert.Equal(t, pathFallback, d.path)
	assert.Equal(t, regimeUnknown, d.regime)
	assert.Equal(t, 30*time.Second, d.cadence)
	assert.False(t, s.proved())
	assert.Zero(t, s.lead(5*time.Second, 0), "the initial lease is in no ledger")
}

func TestCadenceFollowsTheMeasuredGrant(t *testing.T) {
	const elapsed = 20 * time.Second
	tests := []struct {
		situation string
		ttl       int64
		grant     int64
		cadence   time.Duration
		regime    regime
	}{
		{"all that was asked", 60000, 60000, 30 * time.Second, regimeFull},
		{"more than was asked: half the ttl is the ceiling", 60000, 90000, 30 * time.Second, regimeFull},
		{"nine tenths of it", 60000, 54000, 27 * time.Second, regimeFull},
		{"a millisecond under nine tenths", 60000, 53999, 26999 * time.Millisecond, regimeClamped},
		{"full beats the band: the grant equals the elapsed", 20000, 20000, 10 * time.Second, regimeFull},
		{"full beats the band at nine tenths", 22222, 20000, 10 * time.Second, regimeFull},
		{"nothing", 60000, 0, 30 * time.Second, regimeMaximumLead},
		{"less than nothing", 60000, -5000, 30 * time.Second, regimeMaximumLead},
		{"what elapsed", 60000, 20000, 30 * time.Second, regimeMaximumLead},
		{"the lower edge of the band", 60000, 15000, 30 * time.Second, regimeMaximumLead},
		{"just below it", 60000, 14999, 7499 * time.Millisecond, regimeClamped},
		{"the upper edge of the band", 60000, 25000, 30 * time.Second, regimeMaximumLead},
		{"just above it", 60000, 25001, 12500 * time.Millisecond, regimeClamped},
		{"the held cadence of a short ttl is half of it", 24000, 20000, 12 * time.Second, regimeMaximumLead},
		{"a small grant tightens to half a second and no further", 60000, 900, 500 * time.Millisecond, regimeClamped},
		{"half a second exactly", 60000, 1000, 500 * time.Millisecond, regimeClamped},
		{"a ttl too short for that floor", 1200, 1200, 600 * time.Millisecond, regimeFull},
		{"the shortest ttl", 1000, 1000, 500 * time.Millisecond, regimeFull},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			s := newSchedule(params{ttl: tt.ttl})
			e := granted(0, 0, 0)
			e.create = true
			s.succeed(e)
			d := s.succeed(granted(elapsed, tt.grant, 1))
			requireExtend(t, d, tt.cadence, keyFresh)
			assert.Equal(t, tt.regime, d.regime)
			assert.Equal(t, tt.cadence, d.cadence)
			assert.Equal(t, millis(tt.grant).duration(), d.grant)
		})
	}
}

func TestBandIsComparedOnRawTime(t *testing.T) {
	const ttl = 60000
	assert.Equal(t, regimeMaximumLead, regimeOf(15000, 20*time.Second, ttl))
	assert.Equal(t, regimeClamped, regimeOf(15000, 20*time.Second+1, ttl))
	assert.Equal(t, regimeMaximumLead, regimeOf(25000, 20*time.Second, ttl))
	assert.Equal(t, regimeClamped, regimeOf(25000, 20*time.Second-1, ttl))
	assert.Equal(t, regimeClamped, regimeOf(1, 0, ttl), "unknown elapsed tightens rather than holds")
	assert.Equal(t, regimeClamped, regimeOf(1, math.MaxInt64, ttl))
	assert.Equal(t, regimeFull, regimeOf(forever, time.Second, ttl))
	assert.Equal(t, regimeMaximumLead, regimeOf(math.MinInt64, time.Second, ttl))
}

func TestCadenceCountsFromTheReceipt(t *testing.T) {
	s := newSchedule(params{ttl: 60000})
	e := granted(0, 0, 0)
	e.create = true
	s.succeed(e)
	e = granted(2*time.Second, 60000, 1)
	e.sent = 0
	d := s.succeed(e)
	requireExtend(t, d, 30*time.Second, keyFresh) // from the receipt, at 2 s
	assert.Equal(t, 58*time.Second, s.lead(4*time.Second, 0)+2*time.Second)
}

func TestLedgerStartsEmptyAndAddsWhatIsMeasured(t *testing.T) {
	s := newSchedule(params{ttl: 60000})
	e := granted(10*time.Second, 0, 0)
	e.create = true
	s.succeed(e)
	s.succeed(granted(10*time.Second, 40000, 1))
	assert.Equal(t, 40*time.Second, s.lead(10*time.Second, 0))
	s.succeed(granted(15*time.Second, 40000, 2))
	assert.Equal(t, 75*time.Second, s.lead(15*time.Second, 0))
	assert.Equal(t, 75*time.Second-time.Millisecond, s.lead(15*time.Second+1, 0), "elapsed rounds up")
	s.succeed(granted(15*time.Second, 40000, 1))
	assert.Equal(t, 35*time.Second, s.lead(15*time.Second, 0), "a grant taken back")
	assert.Zero(t, s.lead(time.Hour, 0))
}

func TestBeatIsSkippedWhileTheLedgerHoldsEnough(t *testing.T) {
	for _, tt := range []struct {
		at   time.Duration
		skip bool
	}{
		{30 * time.Second, true}, // 120 s granted, 90 s left: one and a half grants
		{30*time.Second + 1, false},
		{29 * time.Second, true},
		{31 * time.Second, false},
	} {
		s := newSchedule(params{ttl: 60000})
		e := granted(0, 0, 0)
		e.create = true
		s.succeed(e)
		s.succeed(granted(0, 60000, 1))
		s.succeed(granted(0, 60000, 2))
		d := s.dispatch(tt.at)
		if !tt.skip {
			requireExtend(t, d, 0, keyFresh)
			continue
		}
		require.Equal(t, actionSkip, d.action)
		assert.Equal(t, 30*time.Second, d.delay, "one cadence")
		assert.Equal(t, 120*time.Second-tt.at, d.lead)
	}
}

func TestSkipNeedsAGrant(t *testing.T) {
	s := newSchedule(params{ttl: 60000})
	e := granted(0, 0, 0)
	e.create = true
	s.succeed(e)
	s.succeed(granted(0, 600_000, 1))
	s.succeed(granted(0, 600_000, 1))
	requireExtend(t, s.dispatch(30*time.Second), 0, keyFresh)
	s.succeed(granted(0, 590_000, 1))
	requireExtend(t, s.dispatch(30*time.Second), 0, keyFresh)
}

func TestFailedBeatKeepsItsKeyAndAQuarterOfTheCadence(t *testing.T) {
	for ttl, want := range map[int64]time.Duration{
		60000: 7500 * time.Millisecond, 20001: 2500 * time.Millisecond, 4000: 500 * time.Millisecond,
		4004: 500 * time.Millisecond, 4016: 502 * time.Millisecond, 1000: 500 * time.Millisecond,
	} {
		for _, class := range []failureClass{failedTransient, failedAmbiguous, failedThrottled} {
			s, now := legacy(t, ttl)
			requireExtend(t, s.dispatch(now), 0, keyFresh)
			requireExtend(t, s.fail(failure{at: now, class: class}), want, keySame)
			requireExtend(t, s.dispatch(now+want), 0, keySame)
		}
	}
}

func TestFailedBeatRepeatsAtOneInstantWithoutStopping(t *testing.T) {
	s, now := legacy(t, 60000)
	for range 5 {
		requireExtend(t, s.fail(transient(now)), 7500*time.Millisecond, keySame)
	}
}

func TestRetryAfterOnTheFallbackIsNeverShortened(t *testing.T) {
	for retryAfter, want := range map[time.Duration]time.Duration{
		0:                           7500 * time.Millisecond,
		7 * time.Second:             7500 * time.Millisecond,
		8 * time.Second:             8 * time.Second,
		8*time.Second + 1:           8001 * time.Millisecond,
		time.Hour:                   time.Hour,
		math.MaxInt64:               math.MaxInt64,
		time.Duration(-time.Second): 7500 * time.Millisecond,
	} {
		s, now := legacy(t, 60000)
		requireExtend(t, s.fail(throttled(now, retryAfter)), want, keySame)
	}
	s, now := legacy(t, 60000)
	f := transient(now)
	f.retryAfter, f.hasRetryAfter = time.Hour, true
	requireExtend(t, s.fail(f), 7500*time.Millisecond, keySame)
}

func TestLegacyLeaseEndsWhenNoReadingLeavesItAlive(t *testing.T) {
	t.Run("after failures", func(t *testing.T) {
		s, _ := legacy(t, 10000, 10000)
		// 20 s granted or assumed, and the lost extend may have brought 10 s more.
		requireExtend(t, s.fail(transient(30*time.Second-1)), 1250*time.Millisecond, keySame)
		requireStop(t, s.fail(transient(30*time.Second)), StopExpired)
	})
	t.Run("before a beat that comes too late", func(t *testing.T) {
		s, _ := legacy(t, 10000, 10000)
		requireExtend(t, s.dispatch(20*time.Second-1), 0, keyFresh)
		s, _ = legacy(t, 10000, 10000)
		requireStop(t, s.dispatch(20*time.Second), StopExpired)
	})
	t.Run("a 429 brought nothing", func(t *testing.T) {
		s, _ := legacy(t, 10000, 10000)
		requireExtend(t, s.fail(throttled(19*time.Second, 0)), 1250*time.Millisecond, keySame)
		requireStop(t, s.fail(throttled(20*time.Second, 0)), StopExpired)
	})
	t.Run("a 429 after a lost answer may have", func(t *testing.T) {
		s, _ := legacy(t, 10000, 10000)
		s.fail(transient(19 * time.Second))
		requireExtend(t, s.fail(throttled(20*time.Second, 0)), 1250*time.Millisecond, keySame)
	})
}

func TestFieldAppearsInMidFlight(t *testing.T) {
	s, now := legacy(t, 60000, 60000, 60000, 60000)
	require.Equal(t, actionSkip, s.dispatch(now).action, "the fallback would skip this beat")
	e := granted(now, 60000, 4)
	e.remaining = new(int64(60000))
	d := s.succeed(e)
	requireExtend(t, d, 57*time.Second, keyFresh)
	assert.Equal(t, pathPrimary, d.path)
	assert.Equal(t, regimeUnknown, d.regime)
	assert.True(t, s.proved())
	// The ledger holds 150 s, but it has no say here.
	requireExtend(t, s.dispatch(now+time.Second), 0, keyFresh)
	requireExtend(t, s.fail(transient(now+time.Second)), 14750*time.Millisecond, keySame)
}

func TestFieldVanishesInMidFlight(t *testing.T) {
	s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second})
	expiry := int64(1_700_000_060_000)
	e := created(0, 0, 60000)
	e.expiresAt = &expiry
	s.succeed(e)
	for beat := range int64(3) {
		e = proved(time.Duration(beat)*time.Second, 0, 60000)
		at := expiry + (beat+1)*60000
		e.expiresAt = &at
		s.succeed(e)
	}
	// The ledger was kept all along: 240 s granted so far, 3 s gone.
	last := expiry + 240_000
	d := s.succeed(success{sent: 3 * time.Second, received: 3 * time.Second, timed: true, expiresAt: &last})
	requireExtend(t, d, 30*time.Second, keyFresh)
	assert.Equal(t, pathFallback, d.path)
	assert.Equal(t, regimeFull, d.regime)
	assert.Equal(t, 237*time.Second, d.lead)
	assert.Equal(t, actionSkip, s.dispatch(33*time.Second).action)
}

func TestVanishingFieldForgetsTheZeroDelay(t *testing.T) {
	s, d := started(7*time.Second, 15000)
	requireExtend(t, d, 0, keyFresh)
	d = s.succeed(granted(0, 0, 0))
	require.Equal(t, actionExtend, d.action)
	requireExtend(t, s.succeed(proved(time.Second, 0, 15000)), 0, keyFresh)
	requireStop(t, s.succeed(proved(time.Second, 0, 15000)), StopLeaseTooShort)
}

func TestRecoveryIsNeverSkipped(t *testing.T) {
	s, now := legacy(t, 60000, 60000, 60000, 60000)
	require.Equal(t, actionSkip, s.dispatch(now).action)
	s.fail(transient(now))
	requireExtend(t, s.dispatch(now), 0, keySame)
}

func TestBandCountsTimeTheMonotonicClockMissed(t *testing.T) {
	s, now := legacy(t, 60000, 10000)
	for gap, want := range map[time.Duration]regime{
		0: regimeMaximumLead, 3 * time.Second: regimeMaximumLead, -5 * time.Second: regimeMaximumLead, 5 * time.Second: regimeClamped,
	} {
		again := *s
		e := granted(now+5*time.Second, 10000, 2)
		e.gap = gap
		assert.Equal(t, want, again.succeed(e).regime, "10 s granted, %v missed", gap)
	}
}

func TestGrantThatCannotBeMeasuredIsNoGrant(t *testing.T) {
	s := newSchedule(params{ttl: 60000})
	s.succeed(success{create: true, timed: true})
	d := s.succeed(granted(0, 60000, 1))
	requireExtend(t, d, 30*time.Second, keyFresh)
	assert.Equal(t, regimeMaximumLead, d.regime)
	assert.Zero(t, s.lead(0, 0))
	assert.Equal(t, 120*time.Second, s.upperBound(0, 0), "though it may have been a whole ttl")
	requireExtend(t, s.succeed(granted(30*time.Second, 60000, 2)), 30*time.Second, keyFresh)
	assert.Equal(t, 30*time.Second, s.lead(30*time.Second, 0))
	d = s.succeed(success{sent: 30 * time.Second, received: 30 * time.Second, timed: true})
	assert.Zero(t, d.grant, "an answer without an expiry leaves no grant behind")
	requireExtend(t, s.dispatch(30*time.Second), 0, keyFresh)
}

func TestExpiriesAtTheEndsOfTheirRangeDoNotWrap(t *testing.T) {
	for _, pair := range [][2]int64{
		{math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64}, {0, math.MaxInt64}, {-1, math.MaxInt64},
	} {
		t.Run(fmt.Sprint(pair), func(t *testing.T) {
			s := newSchedule(params{ttl: 60000})
			s.succeed(success{create: true, timed: true, expiresAt: &pair[0]})
			d := s.succeed(success{sent: 1, received: 1, timed: true, expiresAt: &pair[1]})
			rises := pair[1] > pair[0]
			assert.Equal(t, rises, d.lead > 0)
			assert.Equal(t, rises, s.upperBound(time.Hour, 0) > 0)
			requireExtend(t, d, 30*time.Second, keyFresh)
			if rises {
				assert.Equal(t, actionSkip, s.dispatch(30*time.Second).action)
			} else {
				requireStop(t, s.dispatch(30*time.Second), StopExpired)
			}
		})
	}
}

func TestUndecidableServerLapses(t *testing.T) {
	// The limit the package comment states: 10 s grants on a 24 s ttl are taken for a maximum lead, and from the first
	// skip on the lease erodes by 2 s a beat. An initial lease as long as asked only makes it last longer.
	s, now := legacy(t, 24000, 10000, 10000, 10000, 10000, 10000)
	lapse := 74 * time.Second
	d := s.dispatch(now)
	for beats := int64(6); d.action == actionExtend; d = s.dispatch(now) {
		require.Less(t, now, lapse, "the server would have answered 410")
		lapse += 10 * time.Second
		d = s.succeed(granted(now, 10000, beats))
		requireExtend(t, d, 12*time.Second, keyFresh)
		now += d.delay
		beats++
	}
	requireStop(t, d, StopExpired)
	assert.Equal(t, 224*time.Second, lapse)
	assert.GreaterOrEqual(t, now, lapse)
}
