package lease

import (
	"errors"
	"fmt"
	"time"
)

// Causes of the end of a context made with Lease.Context, beside *StopError.
var (
	// ErrUnproven: the proved lead is used up while an extend is under way; under
	// CancelWork that ends the work.
	ErrUnproven = errors.New("lease: the proved lead is used up and the extend under way is not answered yet")
	// ErrFinished: the lease was committed, released or stopped, or its manager
	// closed.
	ErrFinished = errors.New("lease: finished")
)

// Disposition is what can be done about a failed extend, or with a reservation
// whose heartbeat stopped.
type Disposition string

const (
	// DispositionRetry: the extend is repeated with the same key. Only on
	// failures, not on stops.
	DispositionRetry Disposition = "retry-same-key"
	// DispositionFinish: the reservation lives on for the lead that is left. Finish
	// the work within it and commit.
	DispositionFinish Disposition = "finish-within-lead"
	// DispositionEvent: the reservation ran out. A commit may still be taken
	// within the grace period; after it, spend is recorded as an event.
	DispositionEvent Disposition = "settle-as-event"
	// DispositionGone: there is nothing left to settle against.
	DispositionGone Disposition = "gone"
)

func (r StopReason) disposition() Disposition {
	switch {
	case r == StopExpired:
		return DispositionEvent
	case r.gone():
		return DispositionGone
	}
	return DispositionFinish
}

// gone reports whether the reservation no longer exists as a live one.
func (r StopReason) gone() bool { return r.Permanent() && r != StopMaxExtensions }

// StopError says why a heartbeat ended by itself. It is the error of Lease.Err,
// and the cause of contexts made with Lease.Context when the lease is lost.
type StopError struct {
	// Reason says what happened; see StopReason for what to do about each.
	Reason        StopReason
	ReservationID string
	// IdempotencyKey is that of the last extend, which may be unresolved; empty
	// when none was sent.
	IdempotencyKey string
	// Lead is the proved lead that was left when the heartbeat ended. 0 when none
	// was, and when the timing was unknown. On the fallback it is the ledger's
	// lower bound.
	Lead time.Duration
	// Attempts counts the extends that were sent for this lease, repeated and failed
	// ones included.
	Attempts int
	// Disposition says what can still be done with the reservation.
	Disposition Disposition
	// Err is the error of the last attempt; nil when it succeeded.
	Err error
}

func (e *StopError) Error() string {
	attempts := "extend attempts"
	if e.Attempts == 1 {
		attempts = "extend attempt"
	}
	text := fmt.Sprintf("lease: heartbeat of reservation %q stopped (%s) after %d %s with %v of lead left, %s",
		e.ReservationID, e.Reason, e.Attempts, attempts, e.Lead, e.Disposition)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the error of the last attempt.
func (e *StopError) Unwrap() error { return e.Err }
