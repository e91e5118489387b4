package lease

import (
	"log/slog"
	"math"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// DefaultMaxInFlight is how many extends a manager has under way at once unless
// WithMaxInFlight says otherwise.
const DefaultMaxInFlight = 1024

// Option sets one property of a Manager.
type Option func(*config) error

type config struct {
	clock           clock.Clock
	observers       []Observer
	maxInFlight     int
	extendTimeout   time.Duration
	jitter          float64
	onLost          OnLost
	extensionBudget int
	settlement      []settlement.Option
}

// OnLost says what the loss of a lease does to the work that runs under it.
type OnLost int

const (
	// Warn lets the work go on. The loss shows on Lost, on contexts made with
	// Lease.Context and to the observer, and settlement is still tried. This is
	// the default: work that was done is work to be paid.
	Warn OnLost = iota
	// CancelWork cancels the context of the work when the lease is lost, and
	// already when it is unproven: when the proved lead is used up while an
	// extend is still under way.
	CancelWork
	// FailOnFinalize lets the work go on and settles, and then returns the loss
	// beside the result.
	FailOnFinalize
)

// WithLogger reports the life of each lease to l; see NewSlogObserver.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return refused("WithLogger", "must not be nil")
		}
		c.observers = append(c.observers, NewSlogObserver(l))
		c.settlement = append(c.settlement, settlement.WithLogger(l))
		return nil
	}
}

// WithObserver reports each step of each lease to o. It may be given more than
// once. A nil observer is refused, and so is one of this package that was made
// of nil.
func WithObserver(o Observer) Option {
	return func(c *config) error {
		if empty(o) {
			return refused("WithObserver", "must not be nil, nor made of nil")
		}
		c.observers = append(c.observers, o)
		return nil
	}
}

// WithClock names the clock, of github.com/benbjohnson/clock. A manager runs on
// its client's, because the two have to measure the same round trips: any other
// one is refused. So it is client.WithClock that sets it, and this one only says
// which is expected.
func WithClock(k clock.Clock) Option {
	return func(c *config) error {
		if k != c.clock {
			return refused("WithClock", "must be the client's clock")
		}
		return nil
	}
}

// WithMaxInFlight bounds how many extends are under way at once; the default is
// DefaultMaxInFlight. A beat that is due while all slots are taken waits, the
// lease that expires first going first. The wait is part of the elapsed time of
// its lease.
func WithMaxInFlight(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return refused("WithMaxInFlight", "must be at least 1")
		}
		c.maxInFlight = n
		return nil
	}
}

// WithExtendTimeout bounds every extend attempt by d, and reserves time for two
// attempts of that length. Without it the bound fits the lease: an eighth of
// what its lead holds beside a second of margin, from 1 to 10 s. A bound that is
// not below half of the lead, the margin taken off, leaves no safe delay: the
// heartbeat then ends after one immediate extend.
func WithExtendTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return refused("WithExtendTimeout", "must be positive")
		}
		c.extendTimeout = d
		return nil
	}
}

// WithJitter beats earlier by a random part of the delay, up to fraction (0 to
// 1), so that leases taken together do not beat together for ever. It shortens
// the delay after a success, never to 0, and leaves recoveries and Retry-After
// alone: a delay that grew would eat the retry reserve. The default is none.
func WithJitter(fraction float64) Option {
	return func(c *config) error {
		if math.IsNaN(fraction) || fraction < 0 || fraction > 1 {
			return refused("WithJitter", "must be from 0 to 1")
		}
		c.jitter = fraction
		return nil
	}
}

// WithOnLost sets the policy for work whose lease is lost; the default is Warn.
func WithOnLost(p OnLost) Option {
	return func(c *config) error {
		if p < Warn || p > FailOnFinalize {
			return refused("WithOnLost", "must be Warn, CancelWork or FailOnFinalize")
		}
		c.onLost = p
		return nil
	}
}

// WithExtensionBudget tells how many extensions the server grants a reservation
// (its default is 10), so that Lease.Forecast and the observer can say how long
// they last. Nothing on the wire states it, and nothing is withheld because of
// it: the server's MAX_EXTENSIONS_EXCEEDED is the end.
func WithExtensionBudget(n int) Option {
	return func(c *config) error {
		if n < 0 {
			return refused("WithExtensionBudget", "must not be negative")
		}
		c.extensionBudget = n
		return nil
	}
}

func refused(setting, reason string) error {
	return &client.ConfigError{Setting: setting, Reason: reason}
}
