package lease

import (
	"math/rand/v2"
	"time"
)

// simNetworkKind is what lies between a simulated client and its server.
type simNetworkKind int

const (
	simCalm       simNetworkKind = iota // latency only
	simFlaky                            // each attempt fails with some probability, in every way
	simBursts                           // stretches of 5xx
	simBlackHoles                       // stretches in which nothing comes back
	simThrottling                       // 429 now and then
	simFair                             // failures of every retryable kind, never two in a row
	simNetworkKinds
)

func (k simNetworkKind) String() string {
	return [...]string{"calm", "flaky", "bursts", "black holes", "throttling", "fair"}[k]
}

// simFate is what becomes of one attempt.
type simFate int

const (
	fateAnswered simFate = iota
	fateLostBefore
	fateLostAfter
	fate5xx
	fate5xxAfter
	fateAmbiguous
	fateThrottled
	fateRejected
)

// simNetwork decides the fate of each attempt from its seed.
type simNetwork struct {
	rng      *rand.Rand
	kind     simNetworkKind
	lossy    bool // loses answers after they were applied, above all
	badness  float64
	latency  time.Duration
	spikes   bool
	burstEnd time.Duration
	calmEnd  time.Duration
	failed   bool
}

func newSimNetwork(rng *rand.Rand, kind simNetworkKind, lossy bool) *simNetwork {
	n := &simNetwork{rng: rng, kind: kind, lossy: lossy, badness: 0.02 + rng.Float64()*0.5}
	switch rng.IntN(4) {
	case 0: // none at all
	case 1:
		n.latency = time.Duration(rng.Int64N(int64(2 * time.Millisecond)))
	default:
		n.latency = time.Duration(rng.Int64N(int64(80 * time.Millisecond)))
	}
	n.spikes = rng.IntN(3) == 0
	return n
}

// oneWay is the time a request or an answer is under way.
func (n *simNetwork) oneWay() time.Duration {
	if n.latency == 0 {
		return 0
	}
	d := n.latency/2 + time.Duration(n.rng.Int64N(int64(n.latency)))
	if n.spikes && n.rng.IntN(12) == 0 {
		d += time.Duration(n.rng.Int64N(int64(1500 * time.Millisecond)))
	}
	return d
}

func (n *simNetwork) fate(at time.Duration) simFate {
	f := n.draw(at)
	if n.kind == simFair && n.failed {
		f = fateAnswered
	}
	n.failed = f != fateAnswered
	return f
}

func (n *simNetwork) draw(at time.Duration) simFate {
	if n.lossy && n.rng.IntN(3) == 0 {
		return fateLostAfter
	}
	retryable := []simFate{fateLostBefore, fateLostAfter, fate5xx, fate5xxAfter, fateAmbiguous}
	switch n.kind {
	case simBursts, simBlackHoles:
		if at >= n.calmEnd {
			n.burstEnd = at + time.Duration(n.rng.Int64N(int64(20*time.Second)))
			n.calmEnd = n.burstEnd + time.Duration(n.rng.Int64N(int64(3*time.Minute)))
		}
		if at < n.burstEnd {
			if n.kind == simBursts {
				return []simFate{fate5xx, fate5xxAfter}[n.rng.IntN(2)]
			}
			return []simFate{fateLostBefore, fateLostAfter}[n.rng.IntN(2)]
		}
	case simFlaky, simFair:
		if n.rng.Float64() < n.badness {
			if n.kind == simFlaky && n.rng.IntN(20) == 0 {
				return fateRejected
			}
			return retryable[n.rng.IntN(len(retryable))]
		}
	case simThrottling:
		if n.rng.Float64() < n.badness {
			return []simFate{fateThrottled, fateThrottled, fate5xx}[n.rng.IntN(3)]
		}
	}
	return fateAnswered
}

// retryAfter is the wait of a 429: mostly a sensible one, sometimes none, 0, or far too long.
func (n *simNetwork) retryAfter() (time.Duration, bool) {
	switch n.rng.IntN(7) {
	case 0:
		return 0, false
	case 1, 2:
		return 0, true
	case 3:
		return time.Duration(n.rng.Int64N(int64(time.Hour/time.Second))) * time.Second, true
	}
	return time.Duration(1+n.rng.Int64N(4)) * time.Second, true
}
