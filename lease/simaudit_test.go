package lease

import (
	"fmt"
	"time"
)

// simAudit checks every decision of a simulated run against the protocol's formulas in exact time, nanoseconds without
// any rounding, written down independently of the schedule. Rounding may only make a schedule earlier or a window
// smaller, and by no more than simRounding.
type simAudit struct {
	params
	err error

	// The last proved success.
	received time.Duration
	lead     time.Duration // exact lead floor
	primary  bool
	maxRTT   time.Duration
	timeout  time.Duration
	zeroes   int

	// The streak of failures since.
	failures   int
	failedAt   time.Duration
	zeroWindow bool
	notBefore  time.Duration
	quick      int

	inFlight  bool
	atInstant int
	instant   time.Duration

	// tooShort: some proved lead did not hold the retry reserve, so that no promise about lapsing stands.
	tooShort bool
}

// simRounding: the lead floor, the budget (twice) and the margin each round by less than a millisecond.
const simRounding = 4 * time.Millisecond

func (a *simAudit) check(ok bool, format string, args ...any) {
	if !ok && a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

func (a *simAudit) budget() time.Duration {
	if a.timeout == unbounded {
		return 1000 * 24 * time.Hour
	}
	return max(a.timeout, time.Second, 2*a.maxRTT)
}

func (a *simAudit) margin() time.Duration { return max(time.Second, 2*a.maxRTT) }

func (a *simAudit) succeeded(e success, voided bool, d decision) {
	a.received, a.timeout, a.inFlight = e.received, d.timeout, false
	a.failures, a.zeroWindow, a.notBefore, a.quick = 0, false, 0, 0
	a.lead = 0
	rtt := e.received - e.sent
	timed := e.timed && !voided
	if timed {
		a.maxRTT = max(a.maxRTT, rtt)
	}
	if d.action == actionExtend {
		a.check(d.key == keyFresh, "a proved success is followed by the same key")
	}
	if a.primary = e.remaining != nil; !a.primary {
		a.zeroes = 0
		a.check(d.path == pathFallback, "no field, yet the primary path")
		a.checkTimeout(millis(a.ttl).duration(), false)
		a.check(d.action == actionExtend, "the fallback stopped on a success: %s", d.reason)
		if e.create {
			a.check(d.delay == 0, "the first beat of a legacy lease waits %v", d.delay)
		} else {
			a.check(d.delay >= 500*time.Millisecond && d.delay <= millis(a.ttl/2).duration(), "cadence %v", d.delay)
		}
		return
	}
	a.check(d.path == pathPrimary, "the field is there, yet the fallback")
	remaining := millis(*e.remaining).duration()
	if timed {
		a.lead = max(0, remaining-rtt)
	}
	a.checkTimeout(remaining, timed)
	delay := a.lead - 2*a.budget() - a.margin()
	a.tooShort = a.tooShort || delay <= a.timerSlack+simRounding
	if delay <= 0 {
		a.check(d.delay == 0, "delay %v although the lead does not hold the reserve (%v)", d.delay, delay)
	} else {
		a.check(d.delay <= delay, "delay %v eats the reserve: %v is safe", d.delay, delay)
		a.check(d.delay > 0 || delay < simRounding, "jitter or slack made the delay 0")
		if e.jitter == 0 {
			early := delay - simRounding - (a.timerSlack + time.Millisecond)
			a.check(d.delay > early, "delay %v is far too early: %v is safe", d.delay, delay)
		}
	}
	if d.delay > 0 {
		a.zeroes = 0
		return
	}
	if a.zeroes++; a.zeroes >= 2 {
		a.check(d.action == actionStop && d.reason == StopLeaseTooShort, "a second zero delay in a row did not stop")
	} else {
		a.check(d.action == actionExtend, "one immediate extend is allowed, got %s", d.reason)
	}
}

func (a *simAudit) checkTimeout(remaining time.Duration, timed bool) {
	if a.fixedTimeout != 0 {
		a.check(a.timeout == a.fixedTimeout, "timeout %v instead of %v", a.timeout, a.fixedTimeout)
		return
	}
	lead := remaining
	if timed {
		lead = a.lead
	}
	want := min(max((lead-time.Second)/8, time.Second), 10*time.Second)
	a.check(a.timeout <= want && a.timeout > want-2*time.Millisecond, "timeout %v for a lead of %v", a.timeout, lead)
}

// failed checks the answer to a failure. dead says that no reading of the lease's life was left.
func (a *simAudit) failed(e failure, dead bool, d decision) {
	a.inFlight = false
	elapsed := max(0, e.at-a.received)
	lead := max(0, a.lead-elapsed)
	window := lead - a.budget() - a.margin()
	progress := a.failures == 0 || e.at > a.failedAt
	spent := a.zeroWindow
	a.failures++
	a.failedAt = e.at
	a.zeroWindow = a.primary && d.retryWindow == 0
	a.notBefore = 0

	if d.action == actionExtend {
		a.check(d.key == keySame, "a retry got a fresh key")
	}
	switch e.class {
	case failedPermanent:
		a.check(d.action == actionStop && d.reason == e.reason, "%s answered by %+v", e.reason, d)
		return
	case failedRejected:
		a.check(d.action == actionStop && d.reason == StopRejected, "a refusal answered by %+v", d)
		return
	case failedThrottled:
		if e.hasRetryAfter {
			a.notBefore = e.at + e.retryAfter
		}
	}
	if !a.primary {
		if dead {
			a.check(d.action == actionStop && d.reason == StopExpired, "a dead lease is beaten on")
			return
		}
		a.check(d.action == actionExtend, "the fallback gave up: %s", d.reason)
		a.check(d.delay >= 500*time.Millisecond, "a retry after %v", d.delay)
		return
	}
	if d.action == actionExtend {
		a.check(window >= 0, "a retry is planned although the window is %v", window)
		a.check(d.delay <= window, "a retry after %v in a window of %v", d.delay, window)
		a.check(!spent, "a retry after the one at the end of the window")
		a.check(progress, "a retry though no time passed between two failures")
		if e.class == failedThrottled {
			a.check(e.hasRetryAfter, "a 429 without a wait was retried")
			a.check(d.delay >= e.retryAfter && d.delay < e.retryAfter+time.Millisecond, "429 wait %v", d.delay)
		} else {
			a.check(d.delay <= min(lead/4, 30*time.Second), "a retry after %v with %v of lead", d.delay, lead)
			a.check(d.delay > min(lead/4, 30*time.Second, window)-simRounding, "a retry far too early: %v", d.delay)
			if d.delay < 200*time.Millisecond {
				a.quick++
			}
			a.check(a.quick <= 2, "a hot loop of recoveries")
		}
		return
	}
	switch d.reason {
	case StopRetryWindow:
		a.check(window < simRounding, "gave up with a window of %v", window)
	case StopZeroWindow:
		a.check(spent, "gave up without having used the end of the window")
	case StopNoProgress:
		a.check(!progress, "gave up although time passed")
	case StopThrottled:
		a.check(e.class == failedThrottled, "throttled without a 429")
		a.check(!e.hasRetryAfter || e.retryAfter > window-simRounding, "a wait of %v fits %v", e.retryAfter, window)
	default:
		a.check(false, "a failure stopped with %q", d.reason)
	}
}

// dispatched checks an attempt that is about to leave, or not.
func (a *simAudit) dispatched(at time.Duration, dead bool, d decision) {
	if d.action == actionStop {
		switch {
		case !a.primary:
			a.check(dead && d.reason == StopExpired, "a legacy beat stopped: %s", d.reason)
		default:
			a.check(a.failures > 0 && d.reason == StopRetryWindow, "a beat stopped: %s", d.reason)
			a.check(a.lead-(at-a.received) < a.budget()+simRounding, "a retry dropped that fits")
		}
		return
	}
	if d.action == actionSkip {
		a.check(!a.primary && a.failures == 0, "skipped on the primary path or in a recovery")
		a.check(d.delay >= 500*time.Millisecond, "skipped for %v", d.delay)
		return
	}
	a.check(!a.inFlight, "two attempts at once")
	a.inFlight = true
	a.check((d.key == keySame) == (a.failures > 0), "the outstanding extension got another key")
	a.check(a.notBefore == 0 || at >= a.notBefore, "429 retried %v early", a.notBefore-at)
	a.check(!a.primary || a.zeroes < 2, "an extend after two zero delays")
	if a.primary && a.failures > 0 {
		a.check(max(0, a.lead-(at-a.received)) >= a.budget(), "a retry leaves that cannot finish in time")
	}
	if at != a.instant {
		a.instant, a.atInstant = at, 0
	}
	a.atInstant++
	a.check(a.atInstant <= 3, "more than three attempts at one instant")
}

// troubled checks the answer to clocks that diverged.
func (a *simAudit) troubled(d decision) {
	a.lead = 0
	a.tooShort = true
	switch {
	case a.inFlight:
		a.check(d.action == actionAwait, "an attempt is in flight, yet %+v", d)
	case !a.primary:
		a.check(d.action == actionExtend && (d.key == keySame) == (a.failures > 0), "legacy trouble: %+v", d)
	case a.failures > 0:
		a.check(d.action == actionStop && d.reason == StopRetryWindow, "trouble in a streak: %+v", d)
	default:
		a.zeroes = max(a.zeroes, 1)
		a.check(d.action == actionExtend && d.delay == 0 && d.key == keyFresh, "trouble: %+v", d)
	}
}
