package lease

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline is when the first extend leaves after a create, by its raw offset.
func deadline(sent, received time.Duration, remaining int64, timeout time.Duration) time.Duration {
	s := newSchedule(params{ttl: 60000, fixedTimeout: timeout})
	d := s.succeed(success{create: true, sent: sent, received: received, timed: true, remaining: &remaining})
	return plus(received, d.delay)
}

func edgeOrRandom(rng *rand.Rand, limit int64) int64 {
	switch rng.IntN(5) {
	case 0:
		return edges[rng.IntN(len(edges))]
	case 1:
		return limit - rng.Int64N(3)
	}
	return rng.Int64N(limit)
}

func TestSlowerIsNeverLater(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		remaining := edgeOrRandom(rng, 120_000)
		timeout := time.Duration(1 + rng.Int64N(int64(40*time.Second)))
		sent := time.Duration(rng.Int64N(int64(time.Hour)))
		rtt := time.Duration(rng.Int64N(int64(20 * time.Second)))
		more := time.Duration(rng.Int64N(int64(20 * time.Second)))
		base := deadline(sent, sent+rtt, remaining, timeout)

		// A longer round trip to the same receipt, a longer timeout, a shorter remaining life.
		require.LessOrEqual(t, deadline(sent-more, sent+rtt, remaining, timeout), base)
		require.LessOrEqual(t, deadline(sent, sent+rtt, remaining, timeout+more), base)
		if shorter := remaining - int64(more/time.Millisecond); shorter < remaining {
			require.LessOrEqual(t, deadline(sent, sent+rtt, shorter, timeout), base)
		}
		// A longer round trip from the same departure: no later but for the tick the lead is rounded to, or at once.
		later := deadline(sent, sent+rtt+more, remaining, timeout)
		require.LessOrEqual(t, later, plus(max(base, sent+rtt+more), time.Millisecond))
	}
}

func TestLaterFailureNeverBuysALaterRetry(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		remaining := rng.Int64N(200_000)
		timeout := time.Duration(1 + rng.Int64N(int64(10*time.Second)))
		at := time.Duration(rng.Int64N(int64(200 * time.Second)))
		more := time.Duration(rng.Int64N(int64(5 * time.Second)))
		early, _ := started(timeout, remaining)
		late, _ := started(timeout, remaining)
		first, second := early.fail(transient(at)), late.fail(transient(at+more))
		if second.action == actionExtend {
			require.Equal(t, actionExtend, first.action)
			require.LessOrEqual(t, second.delay, first.delay)
			require.LessOrEqual(t, second.retryWindow, first.retryWindow)
		}
	}
}

func TestLeadOnlyFallsAsTimePasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5_000 {
		remaining := edgeOrRandom(rng, 120_000)
		s, _ := started(time.Second, remaining)
		at := time.Duration(edgeOrRandom(rng, int64(3*time.Minute)))
		more := time.Duration(rng.Int64N(int64(time.Minute)))
		gap := time.Duration(edgeOrRandom(rng, int64(time.Minute)))
		if at < 0 {
			continue
		}
		lead := s.lead(at, gap)
		require.GreaterOrEqual(t, lead, time.Duration(0))
		require.LessOrEqual(t, s.lead(plus(at, more), gap), lead)
		require.LessOrEqual(t, s.lead(at, plus(gap, more)), lead)
		require.LessOrEqual(t, s.upperBound(plus(at, more), gap), s.upperBound(at, gap))
		require.LessOrEqual(t, s.upperBound(at, plus(gap, more)), s.upperBound(at, gap))
	}
}

// FuzzSchedule feeds a schedule events no honest server or clock would send: it must not panic, never plan in the past,
// never answer out of its vocabulary, and never move again once it stopped.
func FuzzSchedule(f *testing.F) {
	seed := func(numbers ...int64) {
		var raw []byte
		for _, n := range numbers {
			raw = binary.BigEndian.AppendUint64(raw, uint64(n))
		}
		f.Add(int64(60000), int64(0), raw)
	}
	seed(0, 0, 60000, 1, 45_000_000_000, 0, 0, 0, 60000)
	seed(math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64)
	seed(edges...)
	f.Fuzz(func(t *testing.T, ttl, timeout int64, raw []byte) {
		next := func() int64 {
			if len(raw) < 8 {
				return 0
			}
			n := int64(binary.BigEndian.Uint64(raw))
			raw = raw[8:]
			return n
		}
		s := newSchedule(params{ttl: max(1, ttl), fixedTimeout: time.Duration(timeout)})
		answer := func(create bool) success {
			e := success{
				create: create, sent: time.Duration(next()), received: time.Duration(next()),
				timed: next()%7 != 0, gap: time.Duration(next()), jitter: float64(next()) / math.MaxInt64,
			}
			if n := next(); n%3 != 0 {
				e.remaining = &n
			}
			if n := next(); n%3 != 0 {
				e.expiresAt = &n
			}
			return e
		}
		d := s.succeed(answer(true))
		var stop *decision
		for len(raw) >= 8 {
			at := time.Duration(next())
			switch kind := next() % 5; kind {
			case 0, -1:
				d = s.succeed(answer(false))
			case 1, -2:
				d = s.fail(failure{
					at: at, class: failureClass(uint64(next()) % 5), reason: StopExpired,
					retryAfter: time.Duration(next()), hasRetryAfter: next()%2 == 0,
				})
			case 2, -3:
				d = s.clockTrouble(at)
			default:
				d = s.dispatch(at)
			}
			require.GreaterOrEqual(t, d.delay, time.Duration(0))
			require.Equal(t, d.action == actionStop, d.reason != "")
			require.LessOrEqual(t, d.action, actionStop)
			require.GreaterOrEqual(t, d.lead, time.Duration(0))
			require.GreaterOrEqual(t, d.attemptBudget, time.Second)
			require.GreaterOrEqual(t, d.safetyMargin, time.Second)
			require.GreaterOrEqual(t, d.retryReserve, d.attemptBudget)
			s.upperBound(at, time.Duration(ttl))
			if stop != nil {
				require.Equal(t, *stop, d)
			}
			if d.action == actionStop {
				last := d
				stop = &last
			}
		}
	})
}
