package lease

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// steps is an observer that keeps what it was told.
type steps struct {
	mu     sync.Mutex
	events []Event
}

func (s *steps) Observe(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// of are the events of some kinds, in order.
func (s *steps) of(kinds ...Step) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Event
	for _, e := range s.events {
		for _, k := range kinds {
			if e.Step == k {
				found = append(found, e)
			}
		}
	}
	return found
}

func TestUnprovenWhileTheExtendIsInFlightAndProvedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A create of no lead: the one immediate extend takes 3 s.
		w := scripted(1_000, func(c *wireCall) (*http.Response, bool) {
			if c.op != "extend" {
				return nil, false
			}
			time.Sleep(3 * time.Second)
			return replyExtended(60_000), true
		})
		seen := &steps{}
		m := manage(t, w, WithExtendTimeout(5*time.Second), WithObserver(seen))
		l := acquire(t, m, 60_000)
		work := l.Context(t.Context())
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		assert.Empty(t, seen.of(StepUnproven))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Len(t, seen.of(StepUnproven), 1, "at the very instant the lead is used up")
		assert.Zero(t, l.Lead())
		assert.False(t, isClosed(l.Lost()), "unproven is not lost")
		assert.NoError(t, work.Err(), "the policy is to warn")
		assert.False(t, isClosed(l.Done()))

		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, 57*time.Second, l.Lead(), "a proved success re-establishes it")
		assert.Empty(t, seen.of(StepLost, StepStopped))
		time.Sleep(time.Hour)
		assert.False(t, isClosed(l.Lost()))
		assert.Equal(t, uint64(1), m.Stats().Unproven)
	})
}

func TestUnprovenAndThenFailedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(1_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "extend" && c.hang() == nil })
		seen := &steps{}
		l := acquire(t, manage(t, w, WithExtendTimeout(5*time.Second), WithObserver(seen)), 60_000)
		start := time.Now()
		<-l.Lost()
		assert.Equal(t, 5*time.Second, time.Since(start))
		synctest.Wait()
		stop := stopOf(t, l)
		assert.Equal(t, StopRetryWindow, stop.Reason)
		assert.Zero(t, stop.Lead)
		var kinds []Step
		for _, e := range seen.of(StepUnproven, StepFailure, StepStopped, StepLost) {
			kinds = append(kinds, e.Step)
		}
		assert.Equal(t, []Step{StepUnproven, StepFailure, StepStopped, StepLost}, kinds)
	})
}

func TestLeadLeftAfterAStopIsUsedUpThenLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "extend" && c.hang() == nil })
		l := acquire(t, manage(t, w, WithExtendTimeout(7*time.Second)), 60_000)
		start := time.Now()
		<-l.Done()
		assert.Equal(t, 59*time.Second, time.Since(start), "two attempts of 7 s")
		assert.Equal(t, time.Second, stopOf(t, l).Lead)
		<-l.Lost()
		assert.Equal(t, time.Minute, time.Since(start), "loss at lead 0, not one ttl later")
	})
}

func TestUnknownTimingIsLostByTheUpperBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Handed over without timing, and the one extend is refused: nothing was ever
		// proved, but after its remaining_ttl_ms the reservation cannot live.
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(400, gen.ErrorCodeInvalidRequest), c.op == "extend"
		})
		m := manage(t, w)
		h := handover(m.clock, ptr(int64(20_000)))
		h.Meta.Sent = time.Time{}
		l, err := m.Keep(h)
		require.NoError(t, err)
		start := time.Now()
		<-l.Done()
		assert.Zero(t, stopOf(t, l).Lead)
		<-l.Lost()
		assert.Equal(t, 20*time.Second, time.Since(start))
	})
}

func TestFallbackIsLostByTheUpperBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := false
		w := &wire{}
		w.handle = func(c *wireCall) *http.Response {
			switch {
			case c.op == "create":
				return replyCreatedLegacy("rsv")
			case failing:
				return reply(503, "")
			}
			return replyExtendedLegacy(epochMs + 20_000*int64(len(w.sent("extend"))))
		}
		m := manage(t, w)
		l := acquire(t, m, 20_000)
		start := time.Now()
		synctest.Wait()
		assert.Equal(t, 20*time.Second, l.Lead(), "one grant, measured")
		failing = true
		<-l.Lost()
		// The ttl and one grant of 20 s, and the extend whose outcome nobody knows.
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, StopExpired, stopOf(t, l).Reason)
		assert.Equal(t, DispositionEvent, stopOf(t, l).Disposition)
		keys := map[string]bool{}
		for _, c := range w.sent("extend")[1:] {
			keys[c.key()] = true
		}
		assert.Len(t, keys, 1)
		// Every 2.5 s from 10 s on, until the end is certain.
		assert.Len(t, w.sent("extend"), 1+20)
	})
}

func TestFinishedInTheNickOfTimeIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(409, gen.ErrorCodeMaxExtensionsExceeded), c.op == "extend"
		})
		l := acquire(t, manage(t, w, WithOnLost(FailOnFinalize)), 60_000)
		<-l.Done()
		time.Sleep(l.Lead() - time.Millisecond)
		res, err := l.Commit(t.Context(), tokens(42))
		require.NoError(t, err)
		assert.True(t, res.Settled())
		time.Sleep(time.Hour)
		assert.False(t, isClosed(l.Lost()))
		assert.Equal(t, StopMaxExtensions, stopOf(t, l).Reason, "why the heartbeat ended stays known")
	})
}

func TestPoliciesOnLoss(t *testing.T) {
	gone := func(c *wireCall) (*http.Response, bool) {
		return replyRefused(404, gen.ErrorCodeNotFound), c.op == "extend"
	}
	t.Run("warn lets the work go on and settles", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := manage(t, scripted(60_000, gone))
			value, res, err := Run(t.Context(), m, reserve(60_000), func(ctx context.Context, l *Lease) (string, Usage, error) {
				<-l.Lost()
				assert.NoError(t, ctx.Err())
				return "done", Usage{Actual: tokens(42)}, nil
			})
			require.NoError(t, err)
			assert.Equal(t, "done", value)
			assert.Equal(t, settlement.Committed, res.Disposition)
		})
	})
	t.Run("cancel work ends its context with the reason", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := manage(t, scripted(60_000, gone), WithOnLost(CancelWork))
			_, res, err := Run(t.Context(), m, reserve(60_000), func(ctx context.Context, l *Lease) (string, Usage, error) {
				<-ctx.Done()
				assert.True(t, isClosed(l.Lost()))
				return "part", Usage{Actual: tokens(7)}, context.Cause(ctx)
			})
			var stop *StopError
			require.ErrorAs(t, err, &stop)
			assert.Equal(t, StopNotFound, stop.Reason)
			assert.Equal(t, settlement.Committed, res.Disposition, "what was used is committed all the same")
		})
	})
	t.Run("cancel work acts on unproven already", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := scripted(1_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "extend" && c.hang() == nil })
			l := acquire(t, manage(t, w, WithExtendTimeout(5*time.Second), WithOnLost(CancelWork)), 60_000)
			before := l.Context(t.Context())
			start := time.Now()
			<-before.Done()
			assert.Equal(t, time.Second, time.Since(start))
			assert.Equal(t, ErrUnproven, context.Cause(before))
			assert.False(t, isClosed(l.Lost()))
			after := l.Context(t.Context())
			assert.Equal(t, ErrUnproven, context.Cause(after), "a context asked for now is no better")
		})
	})
	t.Run("cancel work lets new work begin once the lease is proved again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// The one immediate extend takes longer than the lead that is left.
			w := scripted(1_000, func(c *wireCall) (*http.Response, bool) {
				if c.op != "extend" {
					return nil, false
				}
				time.Sleep(3 * time.Second)
				return replyExtended(60_000), true
			})
			seen := &steps{}
			l := acquire(t, manage(t, w, WithExtendTimeout(5*time.Second), WithOnLost(CancelWork), WithObserver(seen)), 60_000)
			before := l.Context(t.Context())
			time.Sleep(3 * time.Second)
			synctest.Wait()
			assert.Equal(t, ErrUnproven, context.Cause(before))
			assert.NoError(t, l.Context(t.Context()).Err(), "the answer re-established the lead")
			assert.Len(t, seen.of(StepUnproven), 1)
		})
	})
	t.Run("fail on finalize settles and returns the loss", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := manage(t, scripted(60_000, gone), WithOnLost(FailOnFinalize))
			value, res, err := Run(t.Context(), m, reserve(60_000), func(ctx context.Context, l *Lease) (string, Usage, error) {
				<-l.Lost()
				assert.NoError(t, ctx.Err())
				return "done", Usage{Actual: tokens(42)}, nil
			})
			var stop *StopError
			require.ErrorAs(t, err, &stop)
			assert.Equal(t, settlement.Committed, res.Disposition)
			assert.Equal(t, "done", value)

			l := acquire(t, m, 60_000)
			<-l.Lost()
			require.ErrorAs(t, l.Release(t.Context(), ""), &stop)
		})
	})
}
