package settlement

import (
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Disposition is what has become of a spend.
type Disposition int

const (
	// Pending: the ledger is not known to hold the spend. It may: the same
	// settlement can be sent again at any time, and charges once.
	Pending Disposition = iota
	// Committed: the server proved that the reservation was committed.
	Committed
	// RecoveredByEvent: the reservation was over, and the spend was recorded as
	// an event instead.
	RecoveredByEvent
	// Released: nothing was spent, and the reservation was given back.
	Released
	// Rejected: the server refused for a reason that sending again does not
	// change. Nothing was recorded by this settlement.
	Rejected
)

var dispositionNames = [...]string{"pending", "committed", "recovered-by-event", "released", "rejected"}

// String is the disposition's name in lower case.
func (d Disposition) String() string {
	if d < 0 || int(d) >= len(dispositionNames) {
		return "unknown"
	}
	return dispositionNames[d]
}

// Result is the state of a settlement after an attempt.
type Result struct {
	Disposition    Disposition
	ReservationID  string
	IdempotencyKey string
	// Commit is the server's answer when Disposition is Committed.
	Commit *gen.CommitResponse
	// Event is the server's answer when Disposition is RecoveredByEvent.
	Event *gen.EventCreateResponse
	// Attempts counts the requests that were sent for this settlement so far.
	Attempts int
	// Err is why the spend is not settled: the error of the last attempt. It is
	// nil exactly when Settled.
	Err error
}

// Settled reports whether the ledger is known to hold the spend.
func (r Result) Settled() bool {
	return r.Disposition == Committed || r.Disposition == RecoveredByEvent
}

// Error says that a spend is not settled, and what that means.
type Error struct {
	ReservationID  string
	IdempotencyKey string
	// Disposition is Pending when settling again with the same key may still
	// succeed, and Rejected when it cannot.
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
