package settlement

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Disposition is what has become of a spend.
type Disposition int

const (
	// None: no spend was taken up, so nothing was sent and nothing is pending: the
	// work never ran, the commit was refused as it is or came after a release, or
	// nothing was spent and the release failed. It is the zero value. A Settlement
	// is never None.
	None Disposition = iota
	// Pending: the ledger is not known to hold the spend. It may: the same
	// settlement can be sent again at any time, and charges once.
	Pending
	// Committed: the server proved that the reservation was committed.
	Committed
	// RecoveredByEvent: the reservation was over, and the spend was recorded as
	// an event instead.
	RecoveredByEvent
	// Released: nothing was spent, and the reservation was given back.
	Released
	// Rejected: the server refused for a reason that sending again does not
	// change, or somebody else finalized the reservation. Nothing was recorded by
	// this settlement. With a journal the record is kept as a dead letter.
	Rejected
	// Parked: the spend may have been recorded as an event so long ago that the
	// server has forgotten the key, so that sending it again could charge twice. A
	// person has to look; the record is kept as a dead letter.
	Parked
	// HandedOver: another process took the record from the journal and dealt with
	// it. How is not known here; settling again asks the server.
	HandedOver
)

var dispositionNames = [...]string{"none", "pending", "committed", "recovered-by-event", "released", "rejected", "parked", "handed-over"}

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
	// Actual is the spend that is settled.
	Actual gen.Amount
	// Commit is the server's answer when Disposition is Committed.
	Commit *gen.CommitResponse
	// Event is the server's answer when Disposition is RecoveredByEvent.
	Event *gen.EventCreateResponse
	// Attempts counts the requests that were sent for this settlement so far by
	// this process.
	Attempts int
	// Journaled: the spend was on disk before its first request left, and is as
	// long as it is pending.
	Journaled bool
	// Err is why the spend is not settled: the error of the last attempt. It is
	// nil when Settled, and as long as there was no attempt.
	Err error
	// JournalErr is why the journal could not do its part. It does not keep a
	// spend from being settled, but one that is pending is lost with the process.
	// It is an *JournalError.
	JournalErr error
}

// Settled reports whether the ledger is known to hold the spend.
func (r Result) Settled() bool {
	return r.Disposition == Committed || r.Disposition == RecoveredByEvent
}

// Shortfall is what the server left uncharged of Actual. Under the overage policy
// ALLOW_IF_AVAILABLE, which is also that of the event that stands for a late
// commit, it charges what the budget holds and takes that for the whole. It is
// zero while the spend is not settled, and when another process settled it.
func (r Result) Shortfall() gen.Amount {
	charged := r.Actual.Amount
	switch {
	case r.Disposition == Committed && r.Commit != nil:
		charged = r.Commit.Charged.Amount
	case r.Disposition == RecoveredByEvent && r.Event != nil && r.Event.Charged != nil:
		charged = r.Event.Charged.Amount
	}
	return gen.Amount{Amount: max(0, r.Actual.Amount-charged), Unit: r.Actual.Unit}
}

// err is the error that goes with the result: nil exactly when it is settled.
func (r Result) err() error {
	if r.Settled() {
		return nil
	}
	return &Error{ReservationID: r.ReservationID, IdempotencyKey: r.IdempotencyKey, Disposition: r.Disposition, Err: r.Err}
}
