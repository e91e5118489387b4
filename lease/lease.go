package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Lease is one reservation that a Manager keeps alive. All methods are safe for
// concurrent use.
type Lease struct {
	m       *Manager
	id      string
	request gen.ReservationCreateRequest
	created *gen.ReservationCreateResponse

	// All below is guarded by the manager's mutex.

	schedule schedule
	phase    phase
	// watched: the manager looks after it. lost: its reservation is gone.
	watched, lost bool
	// unproven: the proved lead was used up while an extend was under way or due.
	unproven bool
	// troubled: the schedule was told that the clocks diverged.
	troubled bool
	// warned: that the server holds a maximum lead was said.
	warned     bool
	hasExpiry  bool
	doneClosed bool

	// taken is when the lease was taken.
	taken time.Duration
	// beatAt is when the planned extend is due, due when the manager has to look at
	// the lease next, expiry by when the extend must have been answered.
	beatAt, due, expiry time.Duration
	// waitingSince is when the beat got in line for a slot, launched when it left.
	waitingSince, launched time.Duration
	// drift is how far the clocks were apart at the last proved success.
	drift time.Duration
	// timeout bounds the next attempt, interval is the last planned delay.
	timeout, interval time.Duration

	timelineSlot, queueSlot int
	seq                     uint64

	key                  string
	attempts, extensions int
	expiresAt            int64
	lastFailure          error
	stopped              *StopError
	cancelFlight         context.CancelFunc

	// Made when somebody asks for them: most leases never need them.
	doneSignal, lostSignal chan struct{}
	contexts               *boundContexts
	settling               *settling
}

// ID is the reservation's id.
func (l *Lease) ID() string { return l.id }

// String names the lease by its reservation.
func (l *Lease) String() string { return fmt.Sprintf("lease of reservation %q", l.id) }

// GoString is String, so that no verb of fmt reads what the mutex guards.
func (l *Lease) GoString() string { return l.String() }

// Reservation is the create's answer, as it was. It must not be changed.
func (l *Lease) Reservation() *gen.ReservationCreateResponse { return l.created }

// Caps are the limits the create's answer puts on the work; nil when it puts
// none.
func (l *Lease) Caps() *gen.Caps { return l.created.Caps }

// ExpiresAt is the expires_at_ms of the last answer: an instant of the server's
// clock, for people and logs. To know how long there is left ask Lead, since
// nothing ties that clock to the local one. It is the zero time when no answer
// carried one.
func (l *Lease) ExpiresAt() time.Time {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.expiryTime()
}

// Lead is how long the reservation is proved to live on from now, never below 0:
// the remaining_ttl_ms of the last answer, less its round trip and the time
// since. It is 0 while timing is unknown. On the fallback, where no answer
// states a remaining time, it is a lower bound made of measured grants, and 0 at
// first.
func (l *Lease) Lead() time.Duration {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.lead(l.m.now())
}

// lead is what can be said of the lead at this moment.
func (l *Lease) lead(now reading) time.Duration {
	if l.lost || l.distrusted(now) {
		return 0
	}
	return l.schedule.lead(now.mono, l.gap(now))
}

// Done is closed when the heartbeat has ended and no extend is under way any
// more: by itself (Err says why), or by Commit, Release, Stop or Close.
func (l *Lease) Done() <-chan struct{} {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.doneSignal == nil {
		l.doneSignal = make(chan struct{})
		l.announceEnd()
	}
	return l.doneSignal
}

// Lost is closed when the reservation is gone: by the server's word, or because
// its proved lead ran out with nothing under way to renew it. Once the lease is
// finished by its owner it is not watched any more, and Lost stays as it is.
func (l *Lease) Lost() <-chan struct{} {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.lostSignal == nil {
		l.lostSignal = make(chan struct{})
		if l.lost {
			close(l.lostSignal)
		}
	}
	return l.lostSignal
}

// Err is the *StopError that says why the heartbeat ended by itself. It is nil
// while it runs, and when Commit, Release, Stop or Close ended it.
func (l *Lease) Err() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.stopped == nil {
		return nil
	}
	return l.stopped
}

// Stop ends the heartbeat and cancels an extend under way, without waiting for
// it (Done does). The reservation is neither committed nor released: it can
// still be, for as long as it lives, and runs out by itself otherwise.
func (l *Lease) Stop() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.finish(l, l.m.now())
}
