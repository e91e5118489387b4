package client

import (
	"math"
	"time"
)

// RetryPolicy says how often and how late a failed call is sent again. It
// governs every operation but extendReservation, which is never repeated, and
// createReservation, which has its own rule. A zero field keeps its default.
type RetryPolicy struct {
	// MaxAttempts counts all attempts of a call, the first included. 1 switches
	// retries off. Default 5.
	MaxAttempts int
	// The wait before the n-th retry is drawn between 0 and
	// InitialDelay * Multiplier^(n-1), at most MaxDelay (full jitter). Defaults
	// 500 ms, 2, 30 s.
	InitialDelay time.Duration
	Multiplier   float64
	MaxDelay     time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for inside a call;
	// a longer one is handed to the caller at once instead of being shortened.
	// Default 1 h.
	MaxRetryAfter time.Duration
}

var defaultRetry = RetryPolicy{
	MaxAttempts:   5,
	InitialDelay:  500 * time.Millisecond,
	Multiplier:    2,
	MaxDelay:      30 * time.Second,
	MaxRetryAfter: time.Hour,
}

// filled puts the defaults in and refuses what cannot work.
func (p RetryPolicy) filled() (RetryPolicy, error) {
	bad := func(field, reason string) (RetryPolicy, error) {
		return RetryPolicy{}, &ConfigError{"WithRetry: " + field, reason}
	}
	switch {
	case p.MaxAttempts < 0:
		return bad("MaxAttempts", "must not be negative")
	case p.InitialDelay < 0:
		return bad("InitialDelay", "must not be negative")
	case p.MaxDelay < 0:
		return bad("MaxDelay", "must not be negative")
	case p.MaxRetryAfter < 0:
		return bad("MaxRetryAfter", "must not be negative")
	case math.IsNaN(p.Multiplier) || math.IsInf(p.Multiplier, 0) || p.Multiplier != 0 && p.Multiplier < 1:
		return bad("Multiplier", "must be at least 1")
	}
	fill(&p.MaxAttempts, defaultRetry.MaxAttempts)
	fill(&p.InitialDelay, defaultRetry.InitialDelay)
	fill(&p.Multiplier, defaultRetry.Multiplier)
	fill(&p.MaxDelay, defaultRetry.MaxDelay)
	fill(&p.MaxRetryAfter, defaultRetry.MaxRetryAfter)
	return p, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// ceiling is the longest wait before retry n (from 1), without overflow.
func (p RetryPolicy) ceiling(n int) time.Duration {
	d := float64(p.InitialDelay) * math.Pow(p.Multiplier, float64(n-1))
	if !(d < float64(p.MaxDelay)) {
		return p.MaxDelay
	}
	return time.Duration(d)
}
