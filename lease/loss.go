package lease

import (
	"math"
	"time"
)

// endless is a horizon that no clock reaches.
const endless time.Duration = math.MaxInt64

// horizon is how long a lease can be left alone before the passage of time
// alone makes it unproven, or lost.
func (l *Lease) horizon(now reading) time.Duration {
	gap := l.gap(now)
	switch {
	case l.schedule.proved() && !(l.unproven && l.busy()):
		return l.schedule.lead(now.mono, gap)
	case l.schedule.proved(), l.phase == phaseWaiting:
		// An extend is under way or due, and its answer decides.
		return endless
	case l.busy() && l.troubled:
		// A wall clock that was set does not overrule the server that is just being
		// asked.
		gap = 0
	}
	return l.schedule.upperBound(now.mono, gap)
}

// lifeLeft is how long the reservation lives: proved, or else at most.
func (l *Lease) lifeLeft(now reading) time.Duration {
	if l.schedule.proved() {
		return l.schedule.lead(now.mono, l.gap(now))
	}
	return l.schedule.upperBound(now.mono, l.gap(now))
}

// watch draws the consequence when a lease's horizon is reached. While an extend
// is under way or due, a used-up lead proves nothing in either direction: the
// answer may renew it. Otherwise nothing can save it any more.
func (m *Manager) watch(l *Lease, now reading) {
	switch {
	case !l.watched || l.horizon(now) > 0:
	case l.busy() && l.schedule.proved() && !l.unproven:
		l.unproven = true
		m.counts.unproven++
		if m.observed() {
			m.post(l.event(StepUnproven, now))
		}
		if m.cfg.onLost == CancelWork {
			l.cancelContexts(ErrUnproven)
		}
	default:
		m.lose(l, now)
	}
}

// lose ends a lease whose reservation is gone, by local time or by the server's
// word.
func (m *Manager) lose(l *Lease, now reading) {
	if l.beating() {
		m.halt(l, now, StopExpired, 0)
	}
	l.lost = true
	m.counts.lost++
	if m.observed() {
		e := l.event(StepLost, now)
		e.Reason = l.stopped.Reason
		e.Err = l.stopped
		m.post(e)
	}
	l.cancelContexts(l.stopped)
	if l.lostSignal != nil {
		close(l.lostSignal)
	}
	m.forget(l)
}

// stop ends the heartbeat of a lease because its schedule says so. What lead is
// left still stands, unless the reason says that the reservation is gone.
func (m *Manager) stop(l *Lease, d decision, now reading) {
	m.halt(l, now, d.reason, l.lead(now))
	if d.reason.gone() {
		m.lose(l, now)
		return
	}
	m.watch(l, now)
	m.place(l, now)
}

// halt records why a heartbeat ended by itself.
func (m *Manager) halt(l *Lease, now reading, reason StopReason, lead time.Duration) {
	m.quit(l, phaseStopped)
	l.stopped = &StopError{
		Reason: reason, ReservationID: l.id, IdempotencyKey: l.key, Lead: lead,
		Attempts: l.attempts, Disposition: reason.disposition(), Err: l.lastFailure,
	}
	m.counts.stops[reason]++
	if m.observed() {
		e := l.event(StepStopped, now)
		e.Reason, e.Disposition, e.Err = reason, l.stopped.Disposition, l.stopped
		m.post(e)
	}
}

// finish ends a lease at its owner's wish. Nothing is planned for it from here
// on, and an extend under way is cancelled; Done tells when that has returned.
func (m *Manager) finish(l *Lease, now reading) {
	if l.phase == phaseFinished {
		return
	}
	if m.observed() {
		m.post(l.event(StepFinished, now))
	}
	m.quit(l, phaseFinished)
	m.forget(l)
	l.cancelContexts(ErrFinished)
	m.rearm()
}

// quit takes a lease out of the heartbeat.
func (m *Manager) quit(l *Lease, to phase) {
	if l.beating() {
		m.counts.active--
	}
	l.phase = to
	m.ready.take(l)
	if l.cancelFlight != nil {
		l.cancelFlight()
	}
	l.announceEnd()
}

// forget stops watching a lease.
func (m *Manager) forget(l *Lease) {
	if !l.watched {
		return
	}
	l.watched = false
	m.timeline.take(l)
	delete(m.leases, l.id)
}

// announceEnd closes Done once nothing is planned and nothing is under way.
func (l *Lease) announceEnd() {
	if l.ended() && l.doneSignal != nil && !l.doneClosed {
		l.doneClosed = true
		close(l.doneSignal)
	}
}

// ended reports whether the heartbeat is over and its last extend has returned.
func (l *Lease) ended() bool { return !l.beating() && l.cancelFlight == nil }
