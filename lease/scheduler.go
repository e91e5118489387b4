package lease

import (
	"time"

	"github.com/benbjohnson/clock"
)

// All methods here are called with mu held, except schedulerLoop.

// follow carries out what a lease's schedule decided. The decision's delay
// counts from base.
func (m *Manager) follow(l *Lease, d decision, base time.Duration, now reading) {
	switch d.action {
	case actionAwait:
		return
	case actionStop:
		m.stop(l, d, now)
		return
	}
	m.ready.take(l)
	l.phase = phaseScheduled
	l.timeout = d.timeout
	l.beatAt = plus(base, d.delay)
	if m.observed() {
		step := StepScheduled
		if d.action == actionSkip {
			step = StepSkipped
		}
		e := l.event(step, now)
		e.explain(d)
		e.Delay = d.delay
		e.SameKey = d.key == keySame
		m.post(e)
	}
	m.place(l, now)
}

// place puts a lease where its next event belongs on the timeline: its beat, or
// the instant at which it would be unproven or lost.
func (m *Manager) place(l *Lease, now reading) {
	if !l.watched {
		return
	}
	l.due = plus(now.mono, l.horizon(now))
	if l.phase == phaseScheduled {
		l.due = min(l.due, l.beatAt)
	}
	m.timeline.put(l)
}

// step does everything that is due, in the goroutine that noticed. An extend
// that may leave at once does so without a timer in between.
func (m *Manager) step(now reading) {
	m.compareClocks(now)
	for {
		for l := m.timeline.first(); l != nil && l.due <= now.mono; l = m.timeline.first() {
			m.look(l, now)
		}
		next := m.ready.first()
		if next == nil || m.inFlight >= m.cfg.maxInFlight {
			return
		}
		m.ready.take(next)
		m.dispatch(next, now)
	}
}

// look does what is due for one lease. It always moves the lease on: to a later
// instant, or off the timeline.
func (m *Manager) look(l *Lease, now reading) {
	if l.distrusted(now) {
		m.trouble(l, now)
	}
	if l.phase == phaseScheduled && l.beatAt <= now.mono {
		l.phase = phaseWaiting
		l.waitingSince = now.mono
		l.expiry = plus(now.mono, l.lifeLeft(now))
		m.ready.put(l)
	}
	m.watch(l, now)
	m.place(l, now)
}

// dispatch hands a due lease a slot, and asks its schedule whether the extend is
// still to leave.
func (m *Manager) dispatch(l *Lease, now reading) {
	if l.distrusted(now) && !l.troubled {
		m.trouble(l, now)
		if l.phase != phaseScheduled || l.beatAt > now.mono {
			return
		}
	}
	d := l.schedule.dispatch(now.mono)
	if d.action != actionExtend {
		m.follow(l, d, now.mono, now)
		return
	}
	m.launch(l, d, now)
}

// rearm makes sure that the scheduler's goroutine wakes in time for the first
// lease of the timeline, and that it ends when there is none.
func (m *Manager) rearm() {
	first := m.timeline.first()
	switch {
	case !m.scheduling && first == nil:
	case !m.scheduling:
		m.scheduling = true
		m.enter()
		go m.schedulerLoop()
	case first == nil || first.due < m.armed:
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// schedulerLoop sleeps from one due lease to the next.
func (m *Manager) schedulerLoop() {
	fired := false
	for {
		timer := m.turn(fired)
		if timer == nil {
			return
		}
		select {
		case <-timer.C:
			fired = true
		case <-m.wake:
			timer.Stop()
			fired = false
		}
	}
}

// turn does what is due and arms a timer for what comes next. It returns nil
// when there is no lease left to wait for.
func (m *Manager) turn(fired bool) *clock.Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if fired {
		m.compareTimer(now)
	}
	for {
		m.step(now)
		first := m.timeline.first()
		if first == nil {
			m.scheduling = false
			m.leave()
			return nil
		}
		wait := min(minus(first.due, now.mono), clockCheckInterval)
		m.armed = plus(now.mono, wait)
		timer := m.clock.Timer(wait)
		before := now
		if now = m.now(); now.mono >= before.mono && now.mono-before.mono <= armSlack {
			return timer
		}
		timer.Stop()
	}
}
