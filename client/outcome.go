package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Outcome is what a call's result means for the money and the time behind it.
// OutcomeOf is the only place that decides it, so that a lease, a settlement
// and an application draw the same line between "it did not happen" and "nobody
// knows".
type Outcome int

const (
	// Success: the answer had the documented status and a body that satisfies
	// its schema.
	Success Outcome = iota
	// Ambiguous: a 2xx answer that proves nothing. The server may have done
	// what was asked; only the same key and the same bytes may be sent again.
	Ambiguous
	// Transient: no complete answer, the attempt's timeout, or a 5xx. The server
	// may have done what was asked; a retry with the same key is safe.
	Transient
	// Throttled: a 429, whatever its body says.
	Throttled
	// Unauthorized: 401 or 403. Nothing was done with this key; keep what has to
	// be settled until the credentials work again.
	Unauthorized
	// Expired: the reservation's time is over (410, or RESERVATION_EXPIRED on
	// any other 4xx).
	Expired
	// Finalized: the reservation is already committed or released.
	Finalized
	// Mismatch: the idempotency key was used before with another payload.
	Mismatch
	// Rejected: the server gave another known code; it understood and refused.
	Rejected
	// Unrecognized: a 3xx, or a 4xx that does not come with a code that explains
	// it (a proxy's page, a code of a later version, a contradictory pair of
	// status and code). It is no proof that the server refused.
	Unrecognized
	// Canceled: the caller's own context ended. What was sent before may have
	// been done.
	Canceled
	// Invalid: the call was refused before anything was sent.
	Invalid
)

var outcomeNames = [...]string{
	"success", "ambiguous", "transient", "throttled", "unauthorized", "expired",
	"finalized", "mismatch", "rejected", "unrecognized", "canceled", "invalid",
}

// String is the outcome's name in lower case.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

// OutcomeOf classifies the error of any call of this package; nil is Success.
// The type that is found first when the error is unwrapped decides. An error
// that this package did not make is Canceled when it is a context's error and
// Transient otherwise, since nothing is known about what it left behind.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Success
	}
	if known, ok := errors.AsType[classified](err); ok {
		return known.outcome()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Canceled
	}
	return Transient
}

// classified is implemented by the error types of this package.
type classified interface {
	error
	outcome() Outcome
}

func (e *RequestError) outcome() Outcome  { return Invalid }
func (e *ConfigError) outcome() Outcome   { return Invalid }
func (e *ResponseError) outcome() Outcome { return Ambiguous }

func (e *TransportError) outcome() Outcome {
	if e.Canceled {
		return Canceled
	}
	return Transient
}

func (e *Error) outcome() Outcome {
	switch {
	case e.Status >= 500 && e.Status <= 599:
		return Transient
	case e.Status < 400 || e.Status > 599:
		return Unrecognized
	case e.Status == http.StatusTooManyRequests:
		return Throttled
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return Unauthorized
	case e.Status == http.StatusGone || e.Code == gen.ErrorCodeReservationExpired:
		return Expired
	}
	switch e.Code {
	case gen.ErrorCodeReservationFinalized:
		return Finalized
	case gen.ErrorCodeIdempotencyMismatch:
		return Mismatch
	case gen.ErrorCodeLimitExceeded, gen.ErrorCodeInternalError:
		return Unrecognized
	}
	if knownCode(e.Code) {
		return Rejected
	}
	return Unrecognized
}
