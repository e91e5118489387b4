package lease

import "time"

// All instants below are raw monotonic offsets from one origin of the lease's choosing (usually the moment it was taken
// over). They may be negative, and the create's receipt need not be 0. They never come from a wall clock.

// unbounded, as an attempt timeout, says that no finite bound on one extend attempt is known.
const unbounded time.Duration = -1

// clockTolerance is how far wall and monotonic time may drift apart since the last proved success, or inside one
// attempt, before the timing counts as unreliable.
const clockTolerance = time.Second

// params is what a schedule needs to know about its lease once.
type params struct {
	// ttl is the ttl_ms that was requested at create, and the extend_by_ms of every extend.
	ttl int64
	// fixedTimeout is the caller's bound for one extend attempt. 0 fits the bound to the lease (see fittedTimeout),
	// unbounded says that none is enforced.
	fixedTimeout time.Duration
	// timerSlack is how late a timer may fire, the beat's and the attempt timeout's together. A positive next_delay is
	// rounded down by it: an attempt that starts late and uses up its whole timeout would leave a negative retry window
	// otherwise, however small the delay. 0 on a virtual clock, whose timers are exact.
	timerSlack time.Duration
}

// success is a proved 200 of a create or an extend. Nothing else is: another or an unproved 2xx is a failure of class
// ambiguous.
type success struct {
	// sent and received time the very attempt that produced the answer: just before it left, and just after its whole
	// body was read and proved. received is needed even when timed is false (take the moment the answer was handled).
	sent, received time.Duration
	// timed is false when sent and received cannot be trusted as this attempt's round trip: no timing was recorded, or
	// the clocks diverged by more than clockTolerance while it ran.
	timed bool
	// gap is how far the wall clock ran ahead of the monotonic one since the previous proved success; 0 when it did not.
	// The fallback's ledger counts it as elapsed.
	gap time.Duration
	// create marks the first success, the one that made the reservation.
	create bool
	// remaining is remaining_ttl_ms; nil when the answer does not carry it, which selects the fallback.
	remaining *int64
	// expiresAt is expires_at_ms; nil when a create does not carry it. It is only ever subtracted from another one of
	// the same server.
	expiresAt *int64
	// jitter is the part of a positive next_delay to take off, from 0 (none) to 1; the caller draws the random number. It
	// never makes the delay 0 and touches neither recoveries nor Retry-After nor the fallback's cadence.
	jitter float64
}

// failureClass is what a failed extend means for the schedule.
type failureClass uint8

const (
	// failedTransient: timeout, connection error or 5xx. A Retry-After on it plays no part.
	failedTransient failureClass = iota
	// failedAmbiguous: a 2xx that could not be proved.
	failedAmbiguous
	// failedThrottled: 429.
	failedThrottled
	// failedRejected: any other 4xx, or a 3xx.
	failedRejected
	// failedPermanent: one of the final answers about the reservation; failure.reason says which.
	failedPermanent
)

// failure is an extend attempt that did not end in a proved success.
type failure struct {
	// at is the instant the failure was known.
	at    time.Duration
	class failureClass
	// reason is the stop reason of a failedPermanent (one for which StopReason.Permanent holds).
	reason StopReason
	// retryAfter is the wait a 429 asks for; hasRetryAfter is false when the header is missing or not a non-negative
	// number of seconds. The largest Duration stands for an overflow. Ignored for every other class.
	retryAfter    time.Duration
	hasRetryAfter bool
}

// action is what the keeper of the lease does next.
type action uint8

const (
	// actionExtend: wait for decision.delay, ask dispatch, then extend with decision.key. From dispatch itself: send now.
	actionExtend action = iota
	// actionSkip (from dispatch on the fallback only): leave this beat out, wait for decision.delay, ask dispatch again.
	actionSkip
	// actionAwait (from clockTrouble only): an attempt is in flight, and its outcome decides.
	actionAwait
	// actionStop: no further extend leaves; decision.reason says why. Every later question gets the same answer.
	actionStop
)

// keyRule says which idempotency key the next extend carries.
type keyRule uint8

const (
	// keyFresh: a new key, a new extension.
	keyFresh keyRule = iota
	// keySame: the key and body of the attempt before, whose outcome is unknown or failed.
	keySame
)

// path says which of the two algorithms made a decision.
type path uint8

const (
	// pathPrimary: the last proved success carried remaining_ttl_ms.
	pathPrimary path = iota
	// pathFallback: it did not.
	pathFallback
)

// regime is what the fallback takes the server for after the last grant.
type regime uint8

const (
	// regimeUnknown: no grant was measured yet, or the last success was on the primary path.
	regimeUnknown regime = iota
	// regimeFull: the grant is about the requested ttl.
	regimeFull
	// regimeClamped: the grant is smaller than asked, and the lease really is that much smaller.
	regimeClamped
	// regimeMaximumLead: the grant echoes the time between two beats (or is none at all): the server holds the expiry a
	// fixed lead ahead, and each beat burns extension budget for the time that passed. Worth one warning.
	regimeMaximumLead
)

// decision is the schedule's answer to an event.
type decision struct {
	action action
	// delay counts from the event's own instant: the receipt of a success, the instant of a failure, the at of a
	// question. Never negative; math.MaxInt64 when longer than a Duration holds.
	delay time.Duration
	key   keyRule
	// reason is set with actionStop only.
	reason StopReason
	// timeout is the bound to enforce on the next attempt, exactly; it is what attemptBudget was computed from. unbounded
	// when params said so.
	timeout time.Duration
	path    path
	figures
}

// figures explain a decision to people. Durations saturate: math.MaxInt64 reads "without bound".
type figures struct {
	// leadFloor is the lead proved by the last success at its receipt; 0 on the fallback.
	leadFloor time.Duration
	// lead is what is left of the proved lead at the event's instant, never below 0. On the fallback it is the ledger's
	// lower bound.
	lead time.Duration
	// attemptBudget, safetyMargin and retryReserve (= 2 x attemptBudget + safetyMargin) are those of the last success.
	attemptBudget, safetyMargin, retryReserve time.Duration
	// retryWindow = lead - attemptBudget - safetyMargin after a failure on the primary path; it may be negative. 0
	// otherwise.
	retryWindow time.Duration
	// timerSlack is what was taken off a positive delay after a success; 0 otherwise.
	timerSlack time.Duration
	// regime, grant (the last measured one) and cadence belong to the fallback.
	regime         regime
	grant, cadence time.Duration
}
