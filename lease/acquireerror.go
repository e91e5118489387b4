package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// Causes of an *AcquireError that are not an error of package client.
var (
	// ErrClosed: the manager is closed.
	ErrClosed = errors.New("the manager is closed")
	// ErrDenied: the decision is DENY, so there is no reservation.
	ErrDenied = errors.New("the decision is DENY")
	// ErrNoReservation: the answer allows, but names no reservation.
	ErrNoReservation = errors.New("the answer names no reservation")
	// ErrOver: the reservation was handed over after its end.
	ErrOver = errors.New("the reservation is over")
	// ErrKept: the manager already keeps this reservation. Two heartbeats would
	// extend it twice as far.
	ErrKept = errors.New("the reservation is already kept")
)

// AcquireError says why there is no lease, and whether budget is held all the
// same.
type AcquireError struct {
	// IdempotencyKey is the create's key. client.FindReservation finds by it what
	// an ambiguous create left behind.
	IdempotencyKey string
	// ReservationID is set when a reservation exists.
	ReservationID string
	// HeldFor is how long, from now on, budget may stay held although there is no
	// lease: the ttl asked for and the grace period. 0 when nothing is held, and
	// when the reservation of a Handover is still the caller's.
	HeldFor time.Duration
	// Err is the cause: one of the Err values of this package, or an error of
	// package client.
	Err error
}

func (e *AcquireError) Error() string {
	text := fmt.Sprintf("lease: not acquired: %v", e.Err)
	if e.ReservationID != "" {
		text += fmt.Sprintf(" [reservation %q]", e.ReservationID)
	}
	if e.HeldFor > 0 {
		text += fmt.Sprintf("; budget may stay held for up to %v under the key %q", e.HeldFor, e.IdempotencyKey)
	}
	return text
}

// Unwrap gives the cause.
func (e *AcquireError) Unwrap() error { return e.Err }

// mayBeHeld is how long a failed create may hold budget: not at all when the
// server refused or was never asked.
func mayBeHeld(err error, req gen.ReservationCreateRequest) time.Duration {
	switch client.OutcomeOf(err) {
	case client.Ambiguous, client.Transient, client.Unrecognized:
		return heldFor(req)
	case client.Canceled:
		if sent, ok := errors.AsType[*client.TransportError](err); !ok || sent.Attempts > 0 {
			return heldFor(req)
		}
	}
	return 0
}

func heldFor(req gen.ReservationCreateRequest) time.Duration {
	grace := int64(defaultGrace)
	if req.GracePeriodMs != nil {
		grace = *req.GracePeriodMs
	}
	return plus(millis(*req.TTLMs), millis(grace)).duration()
}

func checkRequest(req gen.ReservationCreateRequest) error {
	bad := func(field, limit string) error {
		return &client.RequestError{Op: client.OpCreateReservation, Field: field, Limit: limit}
	}
	if req.DryRun != nil && *req.DryRun {
		return bad("dry_run", "absent or false, since a dry run makes nothing to keep alive")
	}
	if ttl := req.TTLMs; ttl != nil && (*ttl < minTTL || *ttl > maxTTL) {
		return bad("ttl_ms", fmt.Sprintf("%d..%d", minTTL, maxTTL))
	}
	return nil
}

// checkHandover refuses what no proved answer to a live request looks like.
func checkHandover(h Handover) (id string, err error) {
	if h.Created == nil {
		return "", ErrNoReservation
	}
	if h.Created.ReservationID != nil {
		id = *h.Created.ReservationID
	}
	if err := checkRequest(h.Request); err != nil {
		return id, err
	}
	switch h.Created.Decision {
	case gen.DecisionEnumAllow, gen.DecisionEnumAllowWithCaps:
	case gen.DecisionEnumDeny:
		if code := h.Created.ReasonCode; code != nil {
			return id, fmt.Errorf("%w (%s)", ErrDenied, *code)
		}
		return id, ErrDenied
	default:
		return id, &client.RequestError{Op: client.OpCreateReservation, Field: "decision", Limit: "ALLOW or ALLOW_WITH_CAPS"}
	}
	if id == "" {
		return "", ErrNoReservation
	}
	if remaining := h.Created.RemainingTTLMs; remaining != nil && *remaining < 0 {
		return id, &client.RequestError{Op: client.OpCreateReservation, Field: "remaining_ttl_ms", Limit: "at least 0"}
	}
	return id, nil
}
