package settlement

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// Settlement is one spend on its way to the ledger. It is safe for concurrent
// use.
type Settlement struct {
	settler *Settler
	name    string // of the record's file

	// turn admits one attempt at a time. Its holder owns the fields up to mu.
	turn chan struct{}
	rec  journal.Record
	// recorded: the record was written, or was found in the journal.
	recorded bool
	// failures counts those in a row, since the last change of the mode.
	failures int

	// mu guards what follows.
	mu     sync.Mutex
	result Result
	// due is when the next attempt may be made.
	due time.Time

	// slot is the place in the settler's queue and queuedFor when it is its turn
	// there. Both are guarded by the settler's mutex.
	slot      int
	queuedFor time.Time
}

// Actual is the amount that is being settled.
func (x *Settlement) Actual() gen.Amount { return x.Result().Actual }

// String names the settlement by its reservation.
func (x *Settlement) String() string {
	return fmt.Sprintf("settlement of reservation %q", x.Result().ReservationID)
}

// GoString is String, so that no verb of fmt reads what the mutexes guard.
func (x *Settlement) GoString() string { return x.String() }

// Result is the state after the last attempt, those in the background included.
func (x *Settlement) Result() Result {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result
}

// Settle makes an attempt and returns the state it leaves. With a journal the
// spend is on disk before the request leaves. The attempt is a commit, bounded
// by the client's request timeout; when the answer is that the reservation is
// over, the event follows at once, bounded likewise.
//
// The error is nil exactly when the spend is settled, else an *Error. A spend
// that is Pending is tried again in the background until it is settled or the
// settler is closed; a further call tries it now, with the same key and bytes,
// unless the server asked not to be called yet. When it is settled, rejected or
// parked a further call sends nothing.
//
// ctx ends the attempt early, and with it what is known: the spend stays
// Pending.
func (x *Settlement) Settle(ctx context.Context) (Result, error) {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		result := x.Result()
		if result.Err == nil && !result.Settled() {
			result.Err = context.Cause(ctx)
		}
		return result, result.err()
	}
	if x.open() {
		x.settler.hold(x)
		x.advance(ctx)
		x.settler.follow(x)
	}
	<-x.turn
	result := x.Result()
	return result, result.err()
}

// open reports whether an attempt can still change anything. What was handed
// over counts: the server tells what became of it.
func (x *Settlement) open() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.result.Disposition == HandedOver {
		x.result.Disposition, x.recorded = Pending, false
	}
	return x.result.Disposition == Pending
}

// ended reports whether the settlement is not pending any more.
func (x *Settlement) ended() bool { return x.Result().Disposition != Pending }

// update changes the result.
func (x *Settlement) update(change func(*Result)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.result)
}

// dueAt is when the next attempt may be made.
func (x *Settlement) dueAt() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.due
}

func (x *Settlement) setDue(at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.due = at
}
