package lease

import (
	"math"
	"time"
)

// millis is a signed number of milliseconds. Sums, differences and products saturate instead of wrapping; forever is
// positive infinity.
type millis int64

const (
	forever millis = math.MaxInt64
	never   millis = math.MinInt64

	second millis = 1000
)

func (m millis) plus(n millis) millis {
	sum := m + n
	switch {
	case m > 0 && n > 0 && sum < 0:
		return forever
	case m < 0 && n < 0 && sum >= 0:
		return never
	}
	return sum
}

func (m millis) minus(n millis) millis {
	diff := m - n
	switch {
	case m >= 0 && n < 0 && diff < 0:
		return forever
	case m < 0 && n > 0 && diff >= 0:
		return never
	}
	return diff
}

// times multiplies by a small positive factor.
func (m millis) times(factor int64) millis {
	f := millis(factor)
	switch {
	case m > forever/f:
		return forever
	case m < never/f:
		return never
	}
	return m * f
}

// duration converts exactly where a Duration can hold the value, and saturates where it cannot.
func (m millis) duration() time.Duration {
	const limit = millis(math.MaxInt64 / int64(time.Millisecond))
	switch {
	case m > limit:
		return math.MaxInt64
	case m < -limit:
		return math.MinInt64
	}
	return time.Duration(m) * time.Millisecond
}

// ceilMillis rounds up, for everything that is subtracted from a lead or reserved out of it. The largest Duration, which
// is what a saturated computation yields, is infinite.
func ceilMillis(d time.Duration) millis {
	if d == math.MaxInt64 {
		return forever
	}
	m := millis(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		m++
	}
	return m
}

// since is the time from one raw offset to a later one. The second result is false when the later one is not later,
// that is when the clock cannot be trusted: unknown must not pass for zero.
func since(from, to time.Duration) (time.Duration, bool) {
	if to < from {
		return 0, false
	}
	if elapsed := to - from; elapsed >= 0 {
		return elapsed, true
	}
	return math.MaxInt64, true
}

// plusDuration adds two durations, saturating.
func plusDuration(a, b time.Duration) time.Duration {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// timesDuration multiplies a duration that is not negative by a small positive factor, saturating.
func timesDuration(d time.Duration, factor int64) time.Duration {
	if d > math.MaxInt64/time.Duration(factor) {
		return math.MaxInt64
	}
	return d * time.Duration(factor)
}
