package lease

import (
	"math"
	"time"
)

// millis is a signed number of milliseconds; forever is positive infinity.
type millis int64

const (
	forever millis = math.MaxInt64

	second millis = 1000
)

// plus, minus and times work on one unit, milliseconds or raw durations. Where the exact result does not fit they
// saturate: a lease must not come out long because a number wrapped.
func plus[T ~int64](a, b T) T {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

func minus[T ~int64](a, b T) T {
	diff := a - b
	switch {
	case a >= 0 && b < 0 && diff < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && diff >= 0:
		return math.MinInt64
	}
	return diff
}

// times multiplies by a positive factor.
func times[T ~int64](a, factor T) T {
	switch {
	case a > math.MaxInt64/factor:
		return math.MaxInt64
	case a < math.MinInt64/factor:
		return math.MinInt64
	}
	return a * factor
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
	return minus(to, from), true
}
