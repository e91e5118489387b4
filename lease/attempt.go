package lease

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// launch sends the extend of a due lease in a goroutine of its own. Called with
// mu held.
func (m *Manager) launch(l *Lease, d decision, now reading) {
	if d.key == keyFresh || l.key == "" {
		l.key = uuid.NewString()
	}
	l.phase = phaseFlying
	l.attempts++
	// The attempt owns its context: the one of Acquire may have ended long ago.
	ctx, cancel := context.WithCancel(context.Background())
	l.cancelFlight = cancel
	l.launched = now.mono
	m.inFlight++
	wait, lateness := minus(now.mono, l.waitingSince), minus(now.mono, l.beatAt)
	m.counts.launch(wait, lateness)
	if m.observed() {
		e := l.event(StepAttempt, now)
		e.explain(d)
		e.SameKey = d.key == keySame
		e.QueueWait, e.Lateness = wait, lateness
		m.post(e)
	}
	m.place(l, now)
	m.enter()
	go m.fly(ctx, cancel, l, gen.ReservationExtendRequest{ExtendByMs: l.schedule.ttl, IdempotencyKey: l.key}, d.timeout)
}

func (m *Manager) fly(ctx context.Context, cancel context.CancelFunc, l *Lease, request gen.ReservationExtendRequest, timeout time.Duration) {
	defer cancel()
	var meta client.Meta
	answer, err := m.client.ExtendReservation(ctx, l.id, request, client.WithMeta(&meta), client.WithAttemptTimeout(timeout))

	m.mu.Lock()
	defer m.mu.Unlock()
	m.land(l, answer, err, meta)
	m.leave()
}

// land takes in how an attempt ended. An answer for a lease that has ended
// meanwhile changes nothing.
func (m *Manager) land(l *Lease, answer *gen.ReservationExtendResponse, err error, meta client.Meta) {
	now := m.now()
	m.inFlight--
	l.cancelFlight = nil
	switch {
	case !l.beating():
		l.announceEnd()
	case err == nil:
		m.succeeded(l, answer, meta, now)
	default:
		m.failed(l, err, now)
	}
	m.step(now)
	m.rearm()
}

func (m *Manager) succeeded(l *Lease, answer *gen.ReservationExtendResponse, meta client.Meta, now reading) {
	sent, received, timed := m.timing(meta, now)
	before := l.lead(now)
	proof := success{
		sent: sent.mono, received: received.mono, timed: timed, gap: l.gap(received),
		remaining: answer.RemainingTTLMs, expiresAt: &answer.ExpiresAtMs, jitter: m.drawJitter(),
	}
	d := l.schedule.succeed(proof)
	l.drift = received.drift()
	l.troubled, l.unproven = false, false
	l.lastFailure = nil
	l.expiresAt, l.hasExpiry = answer.ExpiresAtMs, true
	l.extensions++
	l.interval = d.delay
	m.counts.succeeded++
	if m.observed() {
		e := l.event(StepSuccess, now)
		e.explain(d)
		e.RemainingTTLMs = answer.RemainingTTLMs
		e.RTT, e.Timed = minus(received.mono, sent.mono), l.schedule.timed
		e.LeadBefore = before
		m.post(e)
		m.warnAbout(l, d, now)
	}
	m.follow(l, d, received.mono, now)
}

func (m *Manager) failed(l *Lease, err error, now reading) {
	l.lastFailure = err
	m.counts.failed++
	if l.distrusted(now) {
		m.trouble(l, now)
	}
	f := failureOf(err)
	f.at = now.mono
	before := l.lead(now)
	d := l.schedule.fail(f)
	if m.observed() {
		e := l.event(StepFailure, now)
		e.explain(d)
		e.Outcome, e.Err = client.OutcomeOf(err), err
		e.RTT = minus(now.mono, l.launched)
		e.LeadBefore = before
		if e.Disposition = DispositionRetry; d.action == actionStop {
			e.Disposition, e.Reason = d.reason.disposition(), d.reason
		}
		m.post(e)
	}
	m.follow(l, d, now.mono, now)
}

// failureOf says what an extend's error means for the schedule.
func failureOf(err error) failure {
	answered, _ := errors.AsType[*client.Error](err)
	switch client.OutcomeOf(err) {
	case client.Ambiguous:
		return failure{class: failedAmbiguous}
	case client.Transient, client.Canceled:
		return failure{class: failedTransient}
	case client.Throttled:
		f := failure{class: failedThrottled}
		if answered != nil {
			f.retryAfter, f.hasRetryAfter = answered.RetryAfter()
		}
		return f
	case client.Expired:
		return failure{class: failedPermanent, reason: StopExpired}
	case client.Finalized:
		return failure{class: failedPermanent, reason: StopFinalized}
	}
	if answered == nil {
		return failure{class: failedRejected}
	}
	switch {
	case answered.Code == gen.ErrorCodeMaxExtensionsExceeded:
		return failure{class: failedPermanent, reason: StopMaxExtensions}
	case answered.Code == gen.ErrorCodeTenantClosed:
		return failure{class: failedPermanent, reason: StopTenantClosed}
	case answered.Code == gen.ErrorCodeNotFound, answered.Status == http.StatusNotFound:
		return failure{class: failedPermanent, reason: StopNotFound}
	}
	return failure{class: failedRejected}
}
