package lease

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// simRun is one lease of the simulation: a server, a network, and the schedule between them. True time runs in now; the
// schedule sees the monotonic clock, which stops while the machine sleeps and may be coarse.
type simRun struct {
	rng    *rand.Rand
	server *simServer
	net    *simNetwork
	audit  simAudit
	s      schedule

	now, origin, tick time.Duration
	lateness          time.Duration // how late a wait may end, and
	overshoot         time.Duration // how late an attempt's timeout
	asleep            time.Duration // in all
	asleepAtSuccess   time.Duration
	unseen            time.Duration // slept inside the last proved attempt, too short to void its timing
	sleeps            bool
	endsAt            time.Duration // when somebody else finalizes or closes
	jitter            bool
	key               int
	late              []simArrival // attempts the server has yet to see, after their client gave up
	attempts, proved  int
	seen              *simTally
	story             *strings.Builder
}

type simArrival struct {
	at  time.Duration
	key int
}

func newSimRun(seed uint64, seen *simTally) *simRun {
	rng := rand.New(rand.NewPCG(seed, 0x6c65617365))
	ttls := []int64{1000, 1200, 5000, 10_000, 24_000, 60_000, 120_000, 3_600_000, 86_400_000, 1000 + rng.Int64N(120_000)}
	p := params{ttl: ttls[rng.IntN(len(ttls))]}
	switch rng.IntN(8) {
	case 0, 1, 2:
		p.fixedTimeout = time.Duration(1 + rng.Int64N(int64(12*time.Second)))
	case 3:
		p.fixedTimeout = time.Duration(rng.Int64N(1+p.ttl/6)+300) * time.Millisecond
	case 4:
		if rng.IntN(8) == 0 {
			p.fixedTimeout = unbounded
		}
	}
	kind := simServerKind(rng.IntN(int(simServerKinds)))
	network := min(simNetworkKind(rng.IntN(int(simNetworkKinds)+2)), simFair)
	r := &simRun{
		rng: rng, server: newSimServer(rng, kind, p.ttl), net: newSimNetwork(rng, network, kind == simReplaying),
		s: newSchedule(p), audit: simAudit{params: p}, tick: 1, seen: seen,
		origin: time.Duration(rng.Int64N(int64(time.Hour))) - 30*time.Minute,
	}
	if rng.IntN(2) == 0 {
		slack := 2*time.Millisecond + time.Duration(rng.Int64N(int64(100*time.Millisecond)))
		r.s.timerSlack, r.audit.timerSlack = slack, slack
		r.lateness, r.overshoot = slack/2, slack/2
	}
	seen.servers[kind]++
	seen.networks[network]++
	if r.fair() {
		return r
	}
	r.jitter = rng.IntN(4) == 0
	r.sleeps = rng.IntN(6) == 0
	if rng.IntN(5) == 0 {
		r.tick = []time.Duration{time.Millisecond, 16 * time.Millisecond}[rng.IntN(2)]
	}
	if rng.IntN(3) == 0 {
		r.lateness = time.Duration(rng.Int64N(int64([]time.Duration{time.Millisecond, 50 * time.Millisecond, 3 * time.Second}[rng.IntN(3)])) + 1)
	}
	if rng.IntN(4) == 0 {
		r.server.maxExtensions = 1 + rng.IntN(12)
	}
	if rng.IntN(5) == 0 {
		r.endsAt = time.Duration(rng.Int64N(int64(millis(p.ttl).duration()) * 4))
	}
	return r
}

// fair runs are those the promise is about: no lapse, whatever the seed.
func (r *simRun) fair() bool { return r.net.kind == simFair }

func (r *simRun) mono() time.Duration {
	return (r.now - r.asleep).Truncate(r.tick) + r.origin
}

func (r *simRun) gap() time.Duration { return r.asleep - r.asleepAtSuccess }

func (r *simRun) tell(format string, args ...any) {
	if r.story != nil {
		fmt.Fprintf(r.story, "%14v  ", r.now)
		fmt.Fprintf(r.story, format+"\n", args...)
	}
}

func (r *simRun) tellOf(d decision, format string, args ...any) {
	if r.story != nil {
		verb := [...]string{"extend", "skip", "await", "stop"}[d.action]
		key := [...]string{"fresh", "same"}[d.key]
		r.tell(format+": %s in %v with the %s key %s %+v", append(args, verb, d.delay, key, d.reason, d.figures)...)
	}
}

// run lives the lease to its end, or for a number of attempts.
func (r *simRun) run() error {
	a := r.server.create(r.now)
	up := r.net.oneWay()
	r.now += r.net.oneWay()
	first := success{create: true, sent: r.origin - up.Truncate(r.tick), received: r.mono(), timed: r.rng.IntN(20) != 0 || r.fair()}
	d := r.succeed(first, a, false)
	// A long lease on the fallback may skip for days; everything else makes an attempt or ends.
	const mostAttempts, mostSkips = 60, 500
	for skips := 0; r.attempts < mostAttempts && skips < mostSkips && d.action != actionStop; {
		if d.delay > 20*24*time.Hour {
			break
		}
		if d, waited := r.wait(d); !waited {
			return r.verdict(d)
		}
		if r.audit.err != nil {
			break
		}
		dead := r.s.upperBound(r.mono(), 0) <= 0
		d = r.s.dispatch(r.mono())
		r.audit.dispatched(r.mono(), dead, d)
		r.tellOf(d, "dispatch")
		switch d.action {
		case actionSkip:
			skips++
			r.seen.skips++
		case actionExtend:
			d = r.attempt(d)
		}
		r.sound()
		if r.audit.err != nil {
			break
		}
	}
	return r.verdict(d)
}

// wait lets the delay pass on the monotonic clock, and perhaps the machine sleep in it. False when the wait ended in a
// stop.
func (r *simRun) wait(d decision) (decision, bool) {
	due := r.due(d)
	if awake := due + r.asleep - r.now; r.sleeps && awake > 0 && r.rng.IntN(6) == 0 {
		r.now += time.Duration(r.rng.Int64N(int64(awake)))
		r.sleep()
		if r.gap() > clockTolerance {
			d = r.s.clockTrouble(r.mono())
			r.audit.troubled(d)
			r.seen.troubles++
			r.tellOf(d, "clock trouble")
			if d.action == actionStop {
				return d, false
			}
			due = r.due(d)
		}
	}
	r.now = max(r.now, due+r.asleep)
	if r.lateness > 0 {
		r.now += time.Duration(r.rng.Int64N(int64(r.lateness)))
	}
	return d, true
}

// due is when the monotonic clock, however coarse, shows that the delay has passed.
func (r *simRun) due(d decision) time.Duration {
	at := r.mono() - r.origin + d.delay
	if rest := at % r.tick; rest > 0 {
		at += r.tick - rest
	}
	return at
}

func (r *simRun) sleep() time.Duration {
	d := time.Duration(r.rng.Int64N(int64([]time.Duration{time.Second, 10 * time.Second, time.Hour}[r.rng.IntN(3)])))
	r.asleep += d
	r.now += d
	r.tell("slept %v", d)
	return d
}

// attempt sends one extend and reports what came of it.
func (r *simRun) attempt(d decision) decision {
	if d.key == keyFresh {
		r.key++
	}
	r.attempts++
	r.seen.attempts++
	sent, start := r.now, r.mono()
	timeout := d.timeout
	if timeout <= 0 {
		timeout = 5 * time.Second
	}
	up, down, fate := r.net.oneWay(), r.net.oneWay(), r.net.fate(r.now)
	r.seen.fates[fate]++
	if r.fair() && fate == fateAnswered && up+down > timeout {
		up, down = timeout/3, timeout/3
	}
	deadline, back := sent+timeout, sent+up+down
	f := failure{class: failedTransient}
	var a simAnswer
	switch fate {
	case fateLostBefore:
		back = r.errorOrTimeout(back, deadline)
	case fateThrottled:
		f.class = failedThrottled
		f.retryAfter, f.hasRetryAfter = r.net.retryAfter()
	case fateRejected:
		f.class = failedRejected
	case fate5xx:
		f.retryAfter, f.hasRetryAfter = r.net.retryAfter() // plays no part
	case fateAmbiguous:
		f.class = failedAmbiguous
		if r.rng.IntN(2) == 0 {
			r.deliver(sent+up, deadline)
		}
	case fateLostAfter, fate5xxAfter:
		r.deliver(sent+up, deadline)
		if fate == fateLostAfter {
			back = r.errorOrTimeout(back, deadline)
		}
	default:
		a = r.deliver(sent+up, deadline)
	}
	if back > deadline {
		back, fate, f = deadline, fateLostAfter, failure{class: failedTransient}
	}
	if back == deadline && r.overshoot > 0 {
		back += time.Duration(r.rng.Int64N(int64(r.overshoot)))
	}
	r.now = back
	asleep := r.asleep
	voided := r.sleepInFlight()
	slept := r.asleep - asleep
	timed := slept <= clockTolerance && r.rng.IntN(50) != 0 || r.fair()
	if fate == fateAnswered && a.reason == "" {
		r.proved++
		r.unseen = slept
		return r.succeed(success{sent: start, received: r.mono(), timed: timed}, a, voided)
	}
	if a.reason != "" {
		f.class, f.reason = failedPermanent, a.reason
	}
	f.at = r.mono()
	r.seen.failures++
	d = r.s.fail(f)
	dead := r.s.upperBound(f.at, 0) <= 0
	r.audit.failed(f, dead, d)
	r.tellOf(d, "failure %d (%v)", f.class, f.retryAfter)
	return d
}

func (r *simRun) errorOrTimeout(back, deadline time.Duration) time.Duration {
	if r.rng.IntN(2) == 0 {
		return min(back, deadline)
	}
	return deadline
}

// sleepInFlight lets the machine sleep inside an attempt. True when the schedule takes that attempt's timing for void.
func (r *simRun) sleepInFlight() bool {
	if !r.sleeps || r.rng.IntN(12) != 0 {
		return false
	}
	told := r.s.troubled
	r.sleep()
	if r.gap() <= clockTolerance {
		return false
	}
	d := r.s.clockTrouble(r.mono())
	r.audit.troubled(d)
	r.seen.troubles++
	return !told
}

// deliver lets the request reach the server: now, or after its client gave up.
func (r *simRun) deliver(at, deadline time.Duration) simAnswer {
	if at > deadline {
		r.late = append(r.late, simArrival{at: at, key: r.key})
		r.seen.late++
		return simAnswer{}
	}
	return r.arrive(at, r.key)
}

func (r *simRun) arrive(at time.Duration, key int) simAnswer {
	for len(r.late) > 0 && r.late[0].at <= at {
		first := r.late[0]
		r.late = r.late[1:]
		r.extend(first.at, first.key)
	}
	return r.extend(at, key)
}

func (r *simRun) extend(at time.Duration, key int) simAnswer {
	if r.endsAt > 0 && at >= r.endsAt && !r.server.closed && !r.server.finalized {
		r.server.finalized = r.rng.IntN(2) == 0
		r.server.closed = !r.server.finalized
	}
	if _, seen := r.server.answers[key]; seen {
		r.seen.replays++
	}
	a := r.server.extend(at, key)
	r.tell("server: key %d, %v left, answers %+v", key, r.server.life(at), a)
	return a
}

func (r *simRun) succeed(e success, a simAnswer, voided bool) decision {
	e.remaining, e.expiresAt, e.gap = a.remaining, &a.expires, r.gap()
	if e.create && r.rng.IntN(10) == 0 && a.remaining != nil {
		e.expiresAt = nil
	}
	if r.jitter {
		e.jitter = r.rng.Float64() * 0.3
	}
	r.asleepAtSuccess = r.asleep
	if r.audit.failures > 0 {
		r.seen.recovered++
	}
	r.seen.successes++
	d := r.s.succeed(e)
	r.audit.succeeded(e, voided, d)
	r.tellOf(d, "success rtt %v", e.received-e.sent)
	return d
}

// sound checks both bounds on the reservation's life against the truth.
func (r *simRun) sound() {
	if !r.server.active(r.now) || len(r.late) > 0 {
		return
	}
	tolerance := r.tick + time.Millisecond + min(r.unseen, clockTolerance)
	life := r.server.life(r.now)
	lead, bound := r.s.lead(r.mono(), r.gap()), r.s.upperBound(r.mono(), r.gap())
	r.audit.check(lead <= max(0, life+tolerance), "a lead of %v is claimed, %v is left", lead, life)
	r.audit.check(bound >= life-tolerance, "at most %v is claimed to be left, it is %v", bound, life)
	if r.s.proved() {
		r.audit.check(bound >= lead, "the upper bound %v is below the lead %v", bound, lead)
	}
}

func (r *simRun) verdict(d decision) error {
	if r.audit.err != nil {
		return r.audit.err
	}
	for key, times := range r.server.applied {
		if times != 1 {
			return fmt.Errorf("key %d moved the expiry %d times", key, times)
		}
	}
	if outstanding := r.key - r.proved; outstanding < 0 || outstanding > 1 {
		return fmt.Errorf("%d keys for %d proved extends", r.key, r.proved)
	}
	if d.action == actionStop {
		r.seen.stops[d.reason]++
	}
	if !r.fair() || r.server.kind == simLegacy || r.server.kind == simFlapping || r.audit.tooShort {
		return nil
	}
	r.seen.promised++
	switch {
	case d.action == actionStop:
		return fmt.Errorf("the heartbeat ended with %q though no two attempts in a row failed", d.reason)
	case r.server.lapsed || !r.server.active(r.now):
		return fmt.Errorf("the lease lapsed with every proved lead above its reserve")
	}
	return nil
}
