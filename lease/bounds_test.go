package lease

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestUpperBoundIsTheFieldLessWhatElapsed(t *testing.T) {
	s := newSchedule(params{ttl: 20000, fixedTimeout: time.Second})
	s.succeed(untimed(created(5*time.Second, 0, 60000)))
	assert.Equal(t, 60*time.Second, s.upperBound(5*time.Second, 0))
	assert.Equal(t, 55*time.Second-1, s.upperBound(10*time.Second+1, 0), "exact: a bound rounds nowhere")
	assert.Equal(t, 40*time.Second, s.upperBound(10*time.Second, 15*time.Second), "the time the monotonic clock missed")
	assert.Equal(t, 55*time.Second, s.upperBound(10*time.Second, -time.Hour), "a wall clock set back adds nothing")
	assert.Equal(t, -5*time.Second, s.upperBound(70*time.Second, 0))
	assert.Equal(t, 60*time.Second, s.upperBound(0, 0), "an instant before the receipt adds nothing")
	assert.Negative(t, s.upperBound(math.MaxInt64, math.MaxInt64))
}

func TestUnresolvedExtendMayHaveAddedATTL(t *testing.T) {
	bound := func(s *schedule) time.Duration { return s.upperBound(10*time.Second, 0) }
	s := newSchedule(params{ttl: 20000, fixedTimeout: time.Second})
	s.succeed(created(0, 0, 60000))
	assert.Equal(t, 50*time.Second, bound(&s))

	s.dispatch(10 * time.Second)
	assert.Equal(t, 70*time.Second, bound(&s), "in flight")
	s.fail(throttled(10*time.Second, time.Second))
	assert.Equal(t, 50*time.Second, bound(&s), "refused by the server")
	s.dispatch(11 * time.Second)
	s.fail(failure{at: 10*time.Second + 1, class: failedAmbiguous})
	assert.Equal(t, 70*time.Second, bound(&s), "nobody knows")
	s.dispatch(11 * time.Second)
	s.fail(throttled(10*time.Second+2, time.Second))
	assert.Equal(t, 70*time.Second, bound(&s), "a refused retry says nothing about the attempt before it")
	s.succeed(proved(10*time.Second, 0, 60000))
	assert.Equal(t, 60*time.Second, bound(&s), "resolved by a proved success")

	s.dispatch(10 * time.Second)
	s.fail(failure{at: 10 * time.Second, class: failedRejected})
	assert.Equal(t, 60*time.Second, bound(&s), "a refusal resolves the attempt it answers")
}

func TestUpperBoundWithoutTheFieldIsTheTTLAndTheGrants(t *testing.T) {
	s := newSchedule(params{ttl: 20000})
	e := granted(5*time.Second, 0, 0)
	e.create = true
	s.succeed(e)
	assert.Equal(t, 15*time.Second, s.upperBound(10*time.Second, 0))
	s.succeed(granted(10*time.Second, 8000, 1))
	assert.Equal(t, 23*time.Second, s.upperBound(10*time.Second, 0))
	s.succeed(granted(12*time.Second+1, 8000, 2))
	assert.Equal(t, 29*time.Second-1, s.upperBound(12*time.Second+1, 0))

	e = granted(20*time.Second, 8000, 2)
	e.gap = 3 * time.Second
	s.succeed(e)
	assert.Equal(t, 18*time.Second, s.upperBound(20*time.Second, 0))
}

func TestUpperBoundFollowsTheFieldWhenItVanishes(t *testing.T) {
	s := newSchedule(params{ttl: 20000})
	expiry := int64(1_700_000_000_000)
	e := created(0, 0, 20000)
	e.expiresAt = &expiry
	s.succeed(e)
	s.succeed(granted(5*time.Second, 4000, 1))
	assert.Equal(t, 19*time.Second, s.upperBound(5*time.Second, 0))
}

func TestUpperBoundIsNeverBelowTheLead(t *testing.T) {
	for _, rtt := range []time.Duration{0, 1, atMs(0.4), atMs(600.25), time.Second} {
		for _, at := range []time.Duration{0, 1, atMs(0.7), time.Second, time.Minute} {
			s := newSchedule(params{ttl: 60000})
			s.succeed(created(0, rtt, 30000))
			if lead := s.lead(at, 0); lead > 0 {
				assert.GreaterOrEqual(t, s.upperBound(at, 0), lead)
			}
		}
	}
}
