package settlement

import (
	"errors"
	"fmt"
	"time"
)

// Error says that a spend is not settled, and what that means.
type Error struct {
	ReservationID  string
	IdempotencyKey string
	// Disposition is Pending when settling again with the same key may still
	// succeed; see there for the others.
	Disposition Disposition
	// Err is the error of the last attempt, mostly one of package client.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("cycles: reservation %q is not settled (%s, key %q): %v",
		e.ReservationID, e.Disposition, e.IdempotencyKey, e.Err)
}

// Unwrap gives the error of the last attempt.
func (e *Error) Unwrap() error { return e.Err }

// Why a spend is not settled, beside what the server says.
var (
	// ErrNoFallback: the reservation is over, and the record does not say how to
	// tell the spend as an event. It is kept.
	ErrNoFallback = errors.New("the reservation is over and the record holds no event to send instead")
	// ErrKeyForgotten: the event may have been taken longer ago than servers
	// remember its key.
	ErrKeyForgotten = fmt.Errorf("the event may have been recorded more than %d days ago, when the server has forgotten its key", eventKeyLife/(24*time.Hour))
	// ErrTakenElsewhere: another process holds the record, or has dealt with it.
	ErrTakenElsewhere = errors.New("another process is settling, or has settled, the record in the journal")
	// ErrOtherSpend: the journal already holds a spend of this reservation, with
	// another key. That one is being settled, and this one was not sent.
	ErrOtherSpend = errors.New("the journal holds another spend of this reservation, and only one can be settled")
	// ErrNotBefore: the server asked not to be called again yet.
	ErrNotBefore = errors.New("the server asked not to be called again yet")
)

// JournalError is a failure of the journal: of the directory, or of the record
// of one reservation.
type JournalError struct {
	// ReservationID is empty when it is about the directory.
	ReservationID string
	Err           error
}

func (e *JournalError) Error() string {
	if e.ReservationID == "" {
		return fmt.Sprintf("cycles: settlement %v", e.Err)
	}
	return fmt.Sprintf("cycles: reservation %q: settlement %v", e.ReservationID, e.Err)
}

// Unwrap gives the cause, in the end that of the file system.
func (e *JournalError) Unwrap() error { return e.Err }

// LeftError says that Flush or Close ended while spends were pending.
type LeftError struct {
	// Kept are in the journal, for the next process. Lost were in the memory of
	// this one only.
	Kept, Lost int
	// Err is why it ended; nil when Close had no more time to wait.
	Err error
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("cycles: spends that are not settled yet: %d kept in the journal, %d in memory only", e.Kept, e.Lost)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the context's error.
func (e *LeftError) Unwrap() error { return e.Err }
