package lease

import "time"

const (
	minCadence     = second / 2
	maxHeldCadence = 30 * second
)

// ledger measures a lease whose server does not say how long it lives: the differences between the expiries it returned,
// which are all of one frame, against monotonic time. It is kept on both paths, so that a field that vanishes finds it
// warm.
type ledger struct {
	expiry    int64
	hasExpiry bool
	// origin is the create's receipt, moved back by the time the monotonic clock is known to have missed.
	origin time.Duration
	// granted is the sum of all grants since. The initial lease is not in it: nothing states that one.
	granted millis
	// grant is the last measured one, 0 when the last success could not be measured.
	grant   millis
	cadence millis
	regime  regime
}

// record books a success. It reports the grant, and whether it could be measured.
func (l *ledger) record(e success) (millis, bool) {
	if e.create {
		l.origin = e.received
	} else {
		l.origin = plus(l.origin, -max(0, e.gap))
	}
	measured := l.hasExpiry && e.expiresAt != nil && !e.create
	l.grant = 0
	if measured {
		l.grant = minus(millis(*e.expiresAt), millis(l.expiry))
		l.granted = plus(l.granted, l.grant)
	}
	if e.expiresAt != nil {
		l.expiry, l.hasExpiry = *e.expiresAt, true
	}
	return l.grant, measured
}

// lead is the lower bound at an instant. It may be negative: then the ledger knows of no lead.
func (l *ledger) lead(at time.Duration) millis {
	elapsed, _ := since(l.origin, at)
	return minus(l.granted, ceilMillis(elapsed))
}

// planCadence plans the next beat after a success without remaining_ttl_ms.
func (s *schedule) planCadence(e success, grant millis, elapsed time.Duration) decision {
	l := &s.ledger
	if e.create {
		// Nothing bounds the initial lease, so the first extend goes at once.
		l.cadence = s.heldCadence()
		return s.extend(e.received, 0, keyFresh)
	}
	l.regime = regimeOf(grant, elapsed, millis(s.ttl))
	if l.regime == regimeMaximumLead {
		l.cadence = s.heldCadence()
	} else {
		l.cadence = min(max(grant/2, minCadence), millis(s.ttl)/2)
	}
	return s.extend(e.received, l.cadence, keyFresh)
}

// heldCadence is the fixed pace against a server that holds a maximum lead: a tighter one would measure smaller grants
// and tighten itself until the extension budget is gone.
func (s *schedule) heldCadence() millis { return min(millis(s.ttl)/2, maxHeldCadence) }

// regimeOf reads the server from one grant. It is a guess; see the package comment for what it cannot tell apart.
func regimeOf(grant millis, elapsed time.Duration, ttl millis) regime {
	if times(grant, 10) >= times(ttl, 9) {
		return regimeFull
	}
	if grant <= 0 {
		return regimeMaximumLead
	}
	// 0.75 x elapsed <= grant <= 1.25 x elapsed, in raw durations, so that no rounding moves the band.
	fourGrants := times(grant, 4).duration()
	if fourGrants >= times(elapsed, 3) && fourGrants <= times(elapsed, 5) {
		return regimeMaximumLead
	}
	return regimeClamped
}

// retryCadence plans the same-key retry of a failed beat.
func (s *schedule) retryCadence(e failure) decision {
	s.recovery = recovery{active: true, failedAt: e.at}
	if s.upperBound(e.at, 0) <= 0 {
		return s.stop(e.at, StopExpired)
	}
	wait := max(minCadence, s.ledger.cadence/4)
	if e.class == failedThrottled && e.hasRetryAfter {
		wait = max(wait, ceilMillis(e.retryAfter))
	}
	return s.extend(e.at, wait, keySame)
}

// holdBeat decides, when a beat is due, whether to leave it out because the ledger holds lead enough, or to end because
// not even the upper bound holds any.
func (s *schedule) holdBeat(at time.Duration) (decision, bool) {
	if s.upperBound(at, 0) <= 0 {
		return s.stop(at, StopExpired), true
	}
	if s.recovery.active || s.troubled || s.ledger.grant <= 0 {
		return decision{}, false
	}
	if times(s.leadAt(at, 0), 2) < times(s.ledger.grant, 3) {
		return decision{}, false
	}
	d := s.extend(at, s.ledger.cadence, keyFresh)
	d.action = actionSkip
	return d, true
}

// hurryBeat answers clock trouble: time may have passed unseen, so the beat goes now; a retry keeps its wait, which may
// be one the server asked for.
func (s *schedule) hurryBeat(at time.Duration) decision {
	if !s.recovery.active {
		return s.extend(at, 0, keyFresh)
	}
	wait, _ := since(at, s.due)
	return s.decide(at, actionExtend, wait, keySame)
}
