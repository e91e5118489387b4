package lease

import (
	"time"

	"github.com/cycles-protocol/cycles-go/client"
)

// Observer is told each step of each lease. The events of one lease arrive in
// order, and Observe is never called twice at the same time. It runs in a
// goroutine of its own, with no lock held, and may call anything, methods of the
// lease and the manager included, except Manager.Close, which waits for it.
//
// A panic in an observer is the program's, as in any goroutine: it ends the
// process, heartbeats and all. An observer that may panic has to recover by
// itself.
//
// A slow observer delays no beat: when more than EventQueueSize events are
// waiting, new ones are dropped, and counted in Stats.EventsDropped.
type Observer interface {
	Observe(Event)
}

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// empty reports whether an observer could only panic.
func empty(o Observer) bool {
	switch o := o.(type) {
	case nil:
		return true
	case ObserverFunc:
		return o == nil
	case slogObserver:
		return o.log == nil
	case meterObserver:
		return o.meter == nil
	}
	return false
}

// EventQueueSize bounds the events that wait for the observers.
const EventQueueSize = 4096

// Step is the kind of an event.
type Step string

// The steps of a lease's life.
const (
	// StepKept: the manager took the lease over.
	StepKept Step = "kept"
	// StepScheduled: the next extend is planned, Delay after the answer, failure
	// or skipped beat before it.
	StepScheduled Step = "scheduled"
	// StepAttempt: an extend leaves.
	StepAttempt Step = "attempt"
	// StepSuccess: it was proved.
	StepSuccess Step = "success"
	// StepFailure: it failed. Disposition says what follows.
	StepFailure Step = "failure"
	// StepSkipped: a beat of the fallback was left out because the measured
	// grants hold lead enough. The next one is planned, Delay later.
	StepSkipped Step = "skipped"
	// StepUnproven: the proved lead is used up while an extend is under way or
	// due. A success ends this state.
	StepUnproven Step = "unproven"
	// StepStopped: the heartbeat ended by itself.
	StepStopped Step = "stopped"
	// StepLost: the reservation is gone.
	StepLost Step = "lost"
	// StepFinished: commit, release, stop or close ended the heartbeat.
	StepFinished Step = "finished"
	// StepWarning: something worth a person's attention; Warning says what.
	StepWarning Step = "warning"
)

// Warning says what a StepWarning is about.
type Warning string

const (
	// WarnReserve: the lease is too short for one attempt, one retry and the
	// margin, so that no safe delay exists. One immediate extend may help;
	// otherwise the heartbeat ends. Ask for a longer ttl or a shorter extend
	// timeout.
	WarnReserve Warning = "reserve-exceeds-lead"
	// WarnClock: the wall and the monotonic clock parted by more than a second,
	// or the clock stands still: the proved lead is void.
	WarnClock Warning = "clocks-disagree"
	// WarnMaximumLead: on the fallback, the grants look like those of a server
	// that holds a maximum lead. Each beat then burns extension budget for little;
	// MAX_EXTENSIONS_EXCEEDED will end the heartbeat. Said once per lease.
	WarnMaximumLead Warning = "maximum-lead-assumed"
	// WarnLastExtension: the extension budget of WithExtensionBudget is used up.
	WarnLastExtension Warning = "last-extension"
)

// Event is one step of one lease. Fields that a step does not speak of are zero.
type Event struct {
	Step          Step
	Time          time.Time
	ReservationID string
	// Attempt counts the lease's extends from 1; 0 before the first.
	Attempt int
	// IdempotencyKey is that of the last extend. SameKey says, of an attempt or a
	// planned one, that it repeats the key of the one before.
	IdempotencyKey string
	SameKey        bool
	// Lead is the proved lead at this instant, LeadBefore the one just before a
	// success or failure was taken in.
	Lead, LeadBefore time.Duration
	// ExpiresAt is as Lease.ExpiresAt.
	ExpiresAt time.Time

	// RemainingTTLMs is what the answer said; nil when it said nothing, which
	// selects the fallback. RTT is the round trip of the attempt, for a failure
	// the time until it was known; Timed is whether a success's can be trusted.
	RemainingTTLMs *int64
	RTT            time.Duration
	Timed          bool
	// Outcome and Err say how an attempt failed, Disposition what follows, Reason
	// why a heartbeat ended.
	Outcome     client.Outcome
	Err         error
	Disposition Disposition
	Reason      StopReason

	// Delay is how long after the event before it the next extend is planned. On
	// the primary path, after a success, it is 0 when LeadFloor - RetryReserve is
	// not positive, else
	//
	//	max(1 ms, LeadFloor - RetryReserve - TimerSlack)
	//
	// (less by the jitter of WithJitter), where RetryReserve = 2 x AttemptBudget +
	// SafetyMargin. After a failure it is at most RetryWindow, or the Retry-After
	// of a 429.
	Delay                                     time.Duration
	LeadFloor                                 time.Duration
	AttemptBudget, SafetyMargin, RetryReserve time.Duration
	RetryWindow                               time.Duration
	// TimerSlack is what Delay leaves for timers that fire late: 100 ms after a
	// success on a real clock. 0 on a virtual one, testing/synctest's included, and
	// where Delay is no difference of LeadFloor and RetryReserve.
	TimerSlack time.Duration
	// Timeout is the bound of the attempt that leaves or is planned.
	Timeout time.Duration
	// Fallback is true while the server does not send remaining_ttl_ms. Grant is
	// then how far the last extend moved the expiry, Cadence the pace.
	Fallback       bool
	Grant, Cadence time.Duration

	// QueueWait is how long an attempt waited for a slot, Lateness how long after
	// its due instant it left.
	QueueWait, Lateness time.Duration

	Warning Warning
	// Forecast is there with WithExtensionBudget.
	Forecast *Forecast
}

// explain adds the figures behind a decision.
func (e *Event) explain(d decision) {
	e.LeadFloor, e.Timeout = d.leadFloor, d.timeout
	e.AttemptBudget, e.SafetyMargin = d.attemptBudget, d.safetyMargin
	e.RetryReserve, e.RetryWindow = d.retryReserve, d.retryWindow
	e.TimerSlack = d.timerSlack
	e.Fallback, e.Grant, e.Cadence = d.path == pathFallback, d.grant, d.cadence
}

// event begins an event about a lease.
func (l *Lease) event(step Step, now reading) Event {
	e := Event{
		Step: step, Time: now.at, ReservationID: l.id, Attempt: l.attempts, IdempotencyKey: l.key,
		Lead: l.lead(now), ExpiresAt: l.expiryTime(),
		Fallback: l.schedule.path == pathFallback,
	}
	if f, ok := l.forecast(now); ok {
		e.Forecast = &f
	}
	return e
}

func (l *Lease) expiryTime() time.Time {
	if !l.hasExpiry {
		return time.Time{}
	}
	return time.UnixMilli(l.expiresAt)
}

// warnAbout says what a success revealed about the server.
func (m *Manager) warnAbout(l *Lease, d decision, now reading) {
	warn := func(w Warning) {
		e := l.event(StepWarning, now)
		e.explain(d)
		e.Warning = w
		m.post(e)
	}
	if d.regime == regimeMaximumLead && !l.warned {
		l.warned = true
		warn(WarnMaximumLead)
	}
	if l.extensions == m.cfg.extensionBudget {
		warn(WarnLastExtension)
	}
}

// outbox holds the events that wait for the observers.
type outbox struct {
	waiting    []Event
	delivering bool
	dropped    uint64
}

func (m *Manager) observed() bool { return len(m.cfg.observers) > 0 }

// post hands an event to the observers' goroutine. Called with mu held.
func (m *Manager) post(e Event) {
	if len(m.outbox.waiting) >= EventQueueSize {
		m.outbox.dropped++
		return
	}
	m.outbox.waiting = append(m.outbox.waiting, e)
	if !m.outbox.delivering {
		m.outbox.delivering = true
		m.enter()
		go m.deliver()
	}
}

// deliver serves the observers until nothing is waiting. There is at most one at
// a time, which is what keeps the order.
func (m *Manager) deliver() {
	var batch []Event
	for {
		m.mu.Lock()
		clear(batch)
		batch, m.outbox.waiting = m.outbox.waiting, batch[:0]
		if len(batch) == 0 {
			m.outbox.waiting = nil
			m.outbox.delivering = false
			m.leave()
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		for _, e := range batch {
			for _, o := range m.cfg.observers {
				o.Observe(e)
			}
		}
	}
}
