package lease

import (
	"math"
	"time"
)

const (
	// minAttemptBudget and minSafetyMargin keep a lease safe on a network faster than its clocks are exact.
	minAttemptBudget = second
	minSafetyMargin  = second
	// maxRecoveryDelay bounds the wait between two recovery attempts however long the lead is.
	maxRecoveryDelay = 30 * second
	// maxZeroDelays proved successes in a row without a safe delay end the heartbeat: one immediate extend may help on a
	// server that adds to the expiry, a second one would only burn the extension budget.
	maxZeroDelays = 2
)

// schedule is the heartbeat algorithm of one reservation and nothing else: events go in, decisions come out, and no
// clock is read. The same events give the same decisions. It is a plain value; it is not safe for concurrent use, and
// its owner serializes the calls.
//
// Protocol: one attempt at a time.
//
//	d := s.succeed(create)            // the create's own answer comes first
//	wait d.delay; d = s.dispatch(now)     // just before the attempt leaves, when a slot is free
//	  actionSkip: wait d.delay and ask again; actionStop: the end; actionExtend: send with d.key, bounded by d.timeout
//	d = s.succeed(...) or s.fail(...)     // the outcome of that attempt
//
// clockTrouble may come in at any time. An attempt cancelled because its lease is finished is not reported at all.
type schedule struct {
	params

	// What the last proved success established.
	received  time.Duration
	timed     bool
	leadFloor millis
	timeout   time.Duration
	path      path

	// maxRTT is over all proved successes of this lease. It stays raw: doubled first, then rounded up.
	maxRTT time.Duration
	// zeroDelays counts proved primary successes in a row that left no safe delay.
	zeroDelays int

	inFlight bool
	// unresolved: the outstanding key may have been applied without our knowing.
	unresolved bool
	recovery   recovery
	// troubled: the clocks diverged since the last proved success; attemptTroubled: they did inside the attempt in flight.
	troubled, attemptTroubled bool
	// due is when the planned extend may leave.
	due time.Duration

	ledger ledger
	// latestEnd is the last instant the reservation can be alive at, the unresolved extend aside.
	latestEnd time.Duration

	// stopped is the final answer, nil while the heartbeat runs.
	stopped *decision
}

// recovery is a streak of failures since the last proved success.
type recovery struct {
	active   bool
	failedAt time.Duration
	window   millis
}

// newSchedule starts a schedule; its first event is the create's success.
func newSchedule(p params) schedule { return schedule{params: p} }

// succeed takes a proved success and plans the next extend from it alone: the delay counts from success.received.
func (s *schedule) succeed(e success) decision {
	if s.stopped != nil {
		return *s.stopped
	}
	elapsed := s.sinceSuccess(e)
	rtt, forward := since(e.sent, e.received)
	timed := e.timed && forward && !s.attemptTroubled

	s.received, s.timed = e.received, timed
	s.inFlight, s.unresolved, s.recovery = false, false, recovery{}
	s.troubled, s.attemptTroubled = false, false
	if timed {
		s.maxRTT = max(s.maxRTT, rtt)
	}
	grant, measured := s.ledger.record(e)
	s.moveEnd(e, grant, measured)

	s.leadFloor = 0
	if e.remaining == nil {
		s.path, s.zeroDelays = pathFallback, 0
		s.timeout = s.timeoutFor(millis(s.ttl))
		return s.planCadence(e, grant, elapsed)
	}
	s.path = pathPrimary
	s.ledger.regime = regimeUnknown
	remaining := max(0, millis(*e.remaining))
	if timed {
		s.leadFloor = max(0, minus(remaining, ceilMillis(rtt)))
		s.timeout = s.timeoutFor(s.leadFloor)
	} else {
		// Nothing is proved, and one immediate attempt is all there will be: it may take as long as the server's own
		// figure affords.
		s.timeout = s.timeoutFor(remaining)
	}
	delay := max(0, minus(s.leadFloor, s.retryReserve()))
	if delay > 0 {
		s.zeroDelays = 0
		d := s.extend(e.received, shorten(delay, e.jitter, ceilMillis(s.timerSlack)), keyFresh)
		d.timerSlack = s.timerSlack
		return d
	}
	if s.zeroDelays++; s.zeroDelays >= maxZeroDelays {
		return s.stop(e.received, StopLeaseTooShort)
	}
	return s.extend(e.received, 0, keyFresh)
}

// fail takes a failed attempt: when to repeat it with the same key, counted from failure.at, or why not.
func (s *schedule) fail(e failure) decision {
	if s.stopped != nil {
		return *s.stopped
	}
	s.inFlight, s.attemptTroubled = false, false
	switch {
	case e.class == failedPermanent && e.reason.Permanent():
		return s.stop(e.at, e.reason)
	case e.class == failedRejected || e.class == failedPermanent:
		return s.stop(e.at, StopRejected)
	case e.class != failedThrottled:
		s.unresolved = true
	}
	if s.path == pathFallback {
		return s.retryCadence(e)
	}
	return s.planRecovery(e)
}

// planRecovery decides about a same-key retry on the primary path. The order of the stops is part of the contract.
func (s *schedule) planRecovery(e failure) decision {
	last := s.recovery
	lead := s.leadAt(e.at, 0)
	window := minus(minus(lead, s.attemptBudget()), s.safetyMargin())
	s.recovery = recovery{active: true, failedAt: e.at, window: window}

	if window < 0 {
		return s.stop(e.at, StopRetryWindow)
	}
	if last.active && last.window == 0 {
		return s.stop(e.at, StopZeroWindow)
	}
	if last.active && e.at <= last.failedAt && window >= last.window {
		return s.stop(e.at, StopNoProgress)
	}
	if e.class == failedThrottled {
		wait := ceilMillis(e.retryAfter)
		if !e.hasRetryAfter || wait < 0 || wait > window {
			return s.stop(e.at, StopThrottled)
		}
		return s.extend(e.at, wait, keySame)
	}
	return s.extend(e.at, min(maxRecoveryDelay, lead/4, window), keySame)
}

// dispatch is asked at the instant an attempt would leave, after any wait for a slot: send it now, skip it (fallback),
// or drop it because a recovery would no longer fit the lead.
func (s *schedule) dispatch(at time.Duration) decision {
	if s.stopped != nil {
		return *s.stopped
	}
	if s.path == pathFallback {
		if d, held := s.holdBeat(at); held {
			return d
		}
	} else if s.recovery.active && s.leadAt(at, 0) < s.attemptBudget() {
		return s.stop(at, StopRetryWindow)
	}
	s.inFlight = true
	return s.extend(at, 0, s.key())
}

// clockTrouble tells that wall and monotonic time diverged by more than clockTolerance since the last proved success. The
// proved lead is void from here on. Told first while an attempt is in flight, it voids that attempt's timing too. Telling
// it again before the next success changes nothing.
func (s *schedule) clockTrouble(at time.Duration) decision {
	if s.stopped != nil {
		return *s.stopped
	}
	told := s.troubled
	s.leadFloor, s.troubled = 0, true
	switch {
	case s.inFlight:
		// An attempt that left after the trouble was told has nothing to do with it.
		s.attemptTroubled = s.attemptTroubled || !told
		return s.decide(at, actionAwait, 0, s.key())
	case s.path == pathFallback:
		return s.hurryBeat(at)
	case s.recovery.active:
		return s.stop(at, StopRetryWindow)
	}
	// The extend that starts now is the one immediate attempt a void lead allows.
	s.zeroDelays = max(s.zeroDelays, 1)
	return s.extend(at, 0, keyFresh)
}

// lead is the proved lead at an instant, never below 0: a lower bound on the reservation's life. gap is how far the wall
// clock ran ahead of the monotonic one since the last proved success (0 or less: it did not).
func (s *schedule) lead(at, gap time.Duration) time.Duration {
	return s.leadAt(at, gap).duration()
}

func (s *schedule) leadAt(at, gap time.Duration) millis {
	elapsed, known := since(s.received, at)
	if !known {
		return 0
	}
	if s.path == pathFallback {
		return max(0, s.ledger.lead(plus(at, max(0, gap))))
	}
	return max(0, minus(s.leadFloor, ceilMillis(plus(elapsed, max(0, gap)))))
}

// upperBound is the longest the reservation can still live: the last remaining_ttl_ms, or the requested ttl with the
// grants measured since, plus one ttl while an extend is in flight or unresolved, less what elapsed. 0 or less: it is
// gone. gap is as for lead.
func (s *schedule) upperBound(at, gap time.Duration) time.Duration {
	end := s.latestEnd
	if s.inFlight || s.unresolved {
		end = plus(end, millis(s.ttl).duration())
	}
	return minus(end, plus(max(at, s.received), max(0, gap)))
}

// proved reports whether lead decides about loss. Where it is false (timing unknown, or the fallback) lead is no measure
// of the lease, and upperBound decides.
func (s *schedule) proved() bool { return s.path == pathPrimary && s.timed && !s.troubled }

// attemptBudget is the time one complete attempt may take, as far as it can be known.
func (s *schedule) attemptBudget() millis {
	budget := forever
	if s.timeout > 0 {
		budget = ceilMillis(s.timeout)
	}
	return max(budget, minAttemptBudget, s.twoRTT())
}

// safetyMargin is the slack for scheduling and the network.
func (s *schedule) safetyMargin() millis { return max(minSafetyMargin, s.twoRTT()) }

// retryReserve holds one failed attempt, one same-key retry, and the margin.
func (s *schedule) retryReserve() millis {
	return plus(times(s.attemptBudget(), 2), s.safetyMargin())
}

func (s *schedule) twoRTT() millis { return ceilMillis(plus(s.maxRTT, s.maxRTT)) }

// timeoutFor is the bound of the next attempts on a lease with this much lead.
func (s *schedule) timeoutFor(lead millis) time.Duration {
	if s.fixedTimeout != 0 {
		return s.fixedTimeout
	}
	return fittedTimeout(lead.duration())
}

// fittedTimeout is the bound of one extend attempt that suits a lease of this lead: an eighth of what is left beside the
// least margin, in whole milliseconds, from 1 s to 10 s. An eighth, not a quarter: after one answer as slow as the bound
// allows, the doubled round trip must still leave attempt_budget < (lead - margin) / 2.
func fittedTimeout(lead time.Duration) time.Duration {
	const least, most = time.Second, 10 * time.Second
	eighth := ((lead - minSafetyMargin.duration()) / 8).Truncate(time.Millisecond)
	return min(max(eighth, least), most)
}

// shorten takes jitter and timer slack off a positive delay, and never all of it.
func shorten(delay millis, jitter float64, slack millis) millis {
	if jitter > 0 {
		cut := math.Ceil(float64(delay) * min(jitter, 1))
		if cut >= float64(delay) {
			return 1
		}
		delay -= millis(cut)
	}
	return max(1, minus(delay, slack))
}

// sinceSuccess is the time from the success before to this one; unknown is 0, which makes the fallback tighten.
func (s *schedule) sinceSuccess(e success) time.Duration {
	if e.create {
		return 0
	}
	elapsed, _ := since(s.received, e.received)
	return plus(elapsed, max(0, e.gap))
}

// moveEnd keeps the upper bound on the reservation's life. A field states it; otherwise it moves by what was granted, and
// by a whole ttl when that could not be measured.
func (s *schedule) moveEnd(e success, grant millis, measured bool) {
	switch {
	case e.remaining != nil:
		s.latestEnd = plus(e.received, max(0, millis(*e.remaining)).duration())
		return
	case e.create:
		s.latestEnd = e.received
	default:
		s.latestEnd = plus(s.latestEnd, -max(0, e.gap))
	}
	if !measured {
		grant = millis(s.ttl)
	}
	s.latestEnd = plus(s.latestEnd, grant.duration())
}

// key is the rule for the extend that is planned: the outstanding key until a proved success.
func (s *schedule) key() keyRule {
	if s.recovery.active {
		return keySame
	}
	return keyFresh
}

func (s *schedule) extend(at time.Duration, delay millis, key keyRule) decision {
	d := s.decide(at, actionExtend, delay.duration(), key)
	s.due = plus(at, d.delay)
	return d
}

func (s *schedule) stop(at time.Duration, reason StopReason) decision {
	d := s.decide(at, actionStop, 0, s.key())
	d.reason = reason
	s.stopped = &d
	return d
}

func (s *schedule) decide(at time.Duration, a action, delay time.Duration, key keyRule) decision {
	d := decision{
		action:  a,
		delay:   delay,
		key:     key,
		timeout: s.timeout,
		path:    s.path,
		figures: figures{
			leadFloor:     s.leadFloor.duration(),
			lead:          s.lead(at, 0),
			attemptBudget: s.attemptBudget().duration(),
			safetyMargin:  s.safetyMargin().duration(),
			retryReserve:  s.retryReserve().duration(),
			regime:        s.ledger.regime,
		},
	}
	if s.path == pathFallback {
		d.grant, d.cadence = s.ledger.grant.duration(), s.ledger.cadence.duration()
	} else if s.recovery.active {
		d.retryWindow = s.recovery.window.duration()
	}
	return d
}
