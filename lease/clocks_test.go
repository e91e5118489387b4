package lease

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// skew makes the two readings of a manager's clock disagree.
type skew struct {
	mu       sync.Mutex
	steps    []clockStep
	tick     time.Duration
	frozenAt *time.Duration
}

// clockStep moves all readings of later instants.
type clockStep struct {
	at         time.Time
	mono, wall time.Duration
}

// skewed is a manager whose clock can be tampered with.
func skewed(t *testing.T, w *wire, opts ...Option) (*Manager, *skew) {
	m := manage(t, w, opts...)
	k := &skew{}
	split := m.split
	m.split = func(at time.Time) (mono, wall time.Duration) {
		k.mu.Lock()
		defer k.mu.Unlock()
		mono, wall = split(at)
		for _, s := range k.steps {
			if !at.Before(s.at) {
				mono, wall = mono+s.mono, wall+s.wall
			}
		}
		if k.tick > 0 {
			mono, wall = mono.Truncate(k.tick), wall.Truncate(k.tick)
		}
		if k.frozenAt != nil {
			mono = *k.frozenAt
		}
		return mono, wall
	}
	return m, k
}

func (k *skew) step(mono, wall time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steps = append(k.steps, clockStep{time.Now(), mono, wall})
}

// suspend is a machine that slept for d: the wall clock went on, the monotonic
// one and all timers stood still. A negative d is a wall clock set back.
func (k *skew) suspend(d time.Duration) { k.step(0, d) }

// jump moves both readings.
func (k *skew) jump(d time.Duration) { k.step(d, d) }

func (k *skew) freeze(at time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.frozenAt = &at
}

func TestASuspendedMachineExtendsAtOnce(t *testing.T) {
	for name, slept := range map[string]time.Duration{
		"asleep for ten minutes": 10 * time.Minute, "asleep a little over a second": time.Second + 1, "wall clock set back": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := steady(60_000)
				seen := &steps{}
				m, k := skewed(t, w, WithExtendTimeout(7*time.Second), WithObserver(seen))
				l := acquire(t, m, 60_000)
				time.Sleep(11 * time.Second)
				assert.Equal(t, 49*time.Second, l.Lead())
				k.suspend(slept)
				assert.Zero(t, l.Lead(), "the lead is void from that instant")
				assert.Empty(t, w.sent("extend"))
				time.Sleep(4 * time.Second) // the next look at the clocks, at 15 s
				synctest.Wait()
				require.Len(t, w.sent("extend"), 1, "noticed within 5 s")
				require.Len(t, seen.of(StepWarning), 1)
				assert.Equal(t, WarnClock, seen.of(StepWarning)[0].Warning)
				assert.Equal(t, time.Minute, l.Lead(), "its answer was timed well")
				time.Sleep(45 * time.Second)
				synctest.Wait()
				assert.Len(t, w.sent("extend"), 2, "and the schedule goes on")
				assert.NotEqual(t, w.sent("extend")[0].key(), w.sent("extend")[1].key())
			})
		})
	}
}

func TestASuspendBeyondTheEndStopsAsExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asleep := false
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(410, gen.ErrorCodeReservationExpired), c.op == "extend" && asleep
		})
		m, k := skewed(t, w)
		l := acquire(t, m, 60_000)
		time.Sleep(time.Second)
		asleep = true
		k.suspend(time.Hour)
		<-l.Lost()
		assert.Equal(t, StopExpired, stopOf(t, l).Reason)
	})
}

func TestAGapWithinTheToleranceShortensTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(400, gen.ErrorCodeInvalidRequest), c.op == "extend"
		})
		seen := &steps{}
		m, k := skewed(t, w, WithExtendTimeout(7*time.Second), WithObserver(seen))
		l := acquire(t, m, 60_000)
		time.Sleep(time.Second)
		k.suspend(900 * time.Millisecond)
		assert.Equal(t, 58100*time.Millisecond, l.Lead())
		start := time.Now()
		<-l.Lost()
		assert.Equal(t, 58100*time.Millisecond, time.Since(start), "lost by the stricter of the two clocks")
		assert.Empty(t, seen.of(StepWarning))
	})
}

func TestAGapAfterTheHeartbeatEndedBringsTheLossForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(400, gen.ErrorCodeInvalidRequest), c.op == "extend"
		})
		m, k := skewed(t, w, WithExtendTimeout(7*time.Second))
		l := acquire(t, m, 60_000)
		start := time.Now()
		<-l.Done()
		time.Sleep(time.Second)
		k.suspend(900 * time.Millisecond)
		<-l.Lost()
		assert.Equal(t, 59100*time.Millisecond, time.Since(start))
	})
}

func TestAWallClockSetBackALittleExtendsNoLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := skewed(t, steady(60_000))
		l := acquire(t, m, 60_000)
		time.Sleep(time.Second)
		k.suspend(-900 * time.Millisecond)
		assert.Equal(t, 59*time.Second, l.Lead())
	})
}

func TestASuspendInsideAnAttemptVoidsItsTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *skew
		var w *wire
		w = scripted(60_000, onExtend(&w, func(n int, c *wireCall) *http.Response {
			if n == 1 {
				time.Sleep(time.Second)
				k.suspend(30 * time.Second)
				time.Sleep(time.Second)
			}
			return replyExtended(60_000)
		}))
		m, skew := skewed(t, w, WithExtendTimeout(7*time.Second))
		k = skew
		l := acquire(t, m, 60_000)
		start := time.Now()
		time.Sleep(47 * time.Second)
		synctest.Wait()
		sent := w.sent("extend")
		require.Len(t, sent, 2, "nothing is proved by the first, one immediate extend decides")
		assert.Equal(t, 47*time.Second, sent[1].at.Sub(start))
		assert.NotEqual(t, sent[0].key(), sent[1].key())
		assert.Equal(t, time.Minute, l.Lead())
	})
}

func TestASuspendInsideARecoveryStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) { return reply(503, ""), c.op == "extend" })
		m, k := skewed(t, w, WithExtendTimeout(7*time.Second))
		l := acquire(t, m, 60_000)
		time.Sleep(46 * time.Second) // one attempt failed, the next is due at 48.75 s
		k.suspend(2 * time.Second)
		<-l.Done()
		stop := stopOf(t, l)
		assert.Equal(t, StopRetryWindow, stop.Reason)
		assert.Zero(t, stop.Lead)
		assert.Len(t, w.sent("extend"), 1, "a fresh key would orphan the outstanding one")
	})
}

func TestASuspendBeforeAFailureStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *skew
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" {
				k.suspend(2 * time.Second)
			}
			return reply(503, ""), c.op == "extend"
		})
		seen := &steps{}
		m, skew := skewed(t, w, WithExtendTimeout(7*time.Second), WithObserver(seen))
		k = skew
		l := acquire(t, m, 60_000)
		<-l.Done()
		assert.Equal(t, StopRetryWindow, stopOf(t, l).Reason)
		assert.Len(t, w.sent("extend"), 1)
		synctest.Wait()
		require.Len(t, seen.of(StepFailure), 1)
		assert.Equal(t, StopRetryWindow, seen.of(StepFailure)[0].Reason, "no retry was planned on it")
	})
}

func TestAClockThatStandsStillEndsInATypedStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		seen := &steps{}
		m, k := skewed(t, w, WithObserver(seen))
		k.freeze(0)
		l := acquire(t, m, 60_000)
		select {
		case <-l.Done():
		case <-time.After(time.Minute):
			t.Fatal("nothing ended it")
		}
		assert.Equal(t, StopLeaseTooShort, stopOf(t, l).Reason)
		assert.LessOrEqual(t, len(w.sent("extend")), 2)
		synctest.Wait()
		require.NotEmpty(t, seen.of(StepWarning))
		assert.Equal(t, WarnClock, seen.of(StepWarning)[0].Warning)
	})
}

func TestAClockThatStandsStillBeforeAShortWaitIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A lead of a millisecond more than the reserve: the beat is due in 1 ms, and
		// by this clock it never is.
		m, k := skewed(t, steady(15_001), WithExtendTimeout(7*time.Second))
		k.freeze(0)
		l := acquire(t, m, 60_000)
		start := time.Now()
		select {
		case <-l.Done():
		case <-time.After(time.Minute):
			t.Fatal("nothing ended it")
		}
		assert.Equal(t, StopLeaseTooShort, stopOf(t, l).Reason)
		assert.LessOrEqual(t, time.Since(start), time.Second)
	})
}

func TestACoarseClockIsNoClockThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(*wireCall) (*http.Response, bool) {
			time.Sleep(7 * time.Millisecond)
			return nil, false
		})
		seen := &steps{}
		m, k := skewed(t, w, WithObserver(seen))
		k.tick = 16 * time.Millisecond
		l := acquire(t, m, 60_000)
		time.Sleep(time.Hour)
		assert.NoError(t, l.Err())
		assert.Empty(t, seen.of(StepWarning))
		assert.InDelta(t, 81, len(w.sent("extend")), 2)
	})
}

func TestAClockThatStandsStillForALegacyServerKeepsBeatingSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		w.handle = func(c *wireCall) *http.Response {
			if c.op == "create" {
				return replyCreatedLegacy("rsv")
			}
			return replyExtendedLegacy(epochMs + 60_000*int64(len(w.sent("extend"))))
		}
		m, k := skewed(t, w)
		k.freeze(time.Second)
		l := acquire(t, m, 60_000)
		time.Sleep(10 * time.Minute)
		beats := len(w.sent("extend"))
		assert.Positive(t, beats, "it rather beats too often than not at all")
		assert.LessOrEqual(t, beats, 1+10*60/5)
		assert.NoError(t, l.Err())
	})
}

func TestAClockThatJumpsBackExtendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m, k := skewed(t, w, WithExtendTimeout(7*time.Second))
		l := acquire(t, m, 60_000)
		time.Sleep(11 * time.Second)
		k.jump(-time.Hour)
		assert.Zero(t, l.Lead())
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, w.sent("extend"), 1)
		time.Sleep(10 * time.Minute)
		assert.NoError(t, l.Err())
		beats := len(w.sent("extend"))
		assert.InDelta(t, 1+600/45, beats, 1)
	})
}

func TestAClockThatJumpsAnHourAheadExtendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m, k := skewed(t, w, WithExtendTimeout(7*time.Second))
		l := acquire(t, m, 60_000)
		time.Sleep(11 * time.Second)
		k.jump(time.Hour)
		assert.Zero(t, l.Lead())
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, w.sent("extend"), 1, "the beat is an hour late by then")
		assert.Equal(t, time.Minute, l.Lead())
		assert.Positive(t, m.Stats().Lateness.Max)
		time.Sleep(10 * time.Minute)
		assert.NoError(t, l.Err())
	})
}

func TestEveryLeaseHearsOfATroubledClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m, k := skewed(t, w)
		for i := range 50 {
			acquireAs(t, m, w, string(rune('A'+i)))
			time.Sleep(10 * time.Millisecond)
		}
		k.suspend(time.Minute)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		extended := map[string]int{}
		for _, c := range w.sent("extend") {
			extended[c.id]++
		}
		assert.Len(t, extended, 50)
		for id, n := range extended {
			assert.Equal(t, 1, n, id)
		}
	})
}

func TestTheRealClockKeepsItsMonotonicReading(t *testing.T) {
	// Virtual clocks have none, so only this one sees code that strips it.
	w := scripted(60_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "extend" && c.hang() == nil })
	planned := make(chan Event, 10)
	m := manage(t, w, WithExtendTimeout(7*time.Second), WithObserver(ObserverFunc(func(e Event) {
		if e.Step == StepScheduled {
			planned <- e
		}
	})))
	require.True(t, monotonic(m.now().at))
	assert.Contains(t, m.now().at.String(), "m=")
	l := acquire(t, m, 60_000)
	assert.Positive(t, l.Lead())
	assert.Empty(t, w.sent("extend"), "the create's timing was trusted")
	first := <-planned
	assert.Equal(t, first.LeadFloor-first.RetryReserve-timerSlack, first.Delay, "its timers may be late")
	assert.Equal(t, timerSlack, first.TimerSlack)

	// A hand-over whose timing went through JSON lost it: that time is wall time.
	h := handover(m.clock, ptr(int64(60_000)))
	h.Created.ReservationID = ptr("stored")
	raw, err := json.Marshal(h.Meta)
	require.NoError(t, err)
	h.Meta = client.Meta{}
	require.NoError(t, json.Unmarshal(raw, &h.Meta))
	stored, err := m.Keep(h)
	require.NoError(t, err)
	assert.Zero(t, stored.Lead())
	assert.Equal(t, 1, m.Stats().InFlight, "one extend went out at once")
	stored.Stop()
	<-stored.Done()
}

func TestTheFiguresOfAnEventExplainItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := faulty()
		seen := &steps{}
		l := acquire(t, manage(t, w, WithExtendTimeout(7*time.Second), WithObserver(seen)), 60_000)
		<-l.Lost()
		synctest.Wait()
		for _, e := range seen.of(StepScheduled) {
			assert.Zero(t, e.TimerSlack, "a virtual clock is exact")
			if !e.SameKey {
				assert.Equal(t, e.LeadFloor-e.RetryReserve, e.Delay)
			}
		}
	})

	s := newSchedule(params{ttl: 60000, fixedTimeout: 7 * time.Second, timerSlack: timerSlack})
	explained := func(d decision) (e Event) {
		e.explain(d)
		e.Delay = d.delay
		return e
	}
	planned := explained(s.succeed(created(0, 0, 60000)))
	assert.Equal(t, timerSlack, planned.TimerSlack)
	assert.Equal(t, planned.LeadFloor-planned.RetryReserve-planned.TimerSlack, planned.Delay)
	s.dispatch(planned.Delay)
	failed := explained(s.fail(failure{at: planned.Delay, class: failedTransient}))
	assert.Zero(t, failed.TimerSlack, "a recovery is not shortened")
	short := explained(s.succeed(proved(50*time.Second, 0, 15050)))
	assert.Equal(t, time.Millisecond, short.Delay, "a positive delay never becomes 0")
	assert.Equal(t, timerSlack, short.TimerSlack)
	none := explained(s.succeed(proved(51*time.Second, 0, 15000)))
	assert.Zero(t, none.Delay)
	assert.Zero(t, none.TimerSlack)
}

func TestAMockClockDrivesTheWholeManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that what the clock sets in motion can be waited for
		k := clock.NewMock()
		w := steady(60_000)
		m, err := NewManager(newClient(t, w, client.WithClock(k)), WithExtendTimeout(7*time.Second), WithClock(k))
		require.NoError(t, err)
		l := acquire(t, m, 60_000)
		synctest.Wait()
		k.Add(44999 * time.Millisecond)
		synctest.Wait()
		assert.Empty(t, w.sent("extend"))
		assert.Equal(t, 15001*time.Millisecond, l.Lead())
		k.Add(time.Millisecond)
		synctest.Wait()
		assert.Len(t, w.sent("extend"), 1)
		assert.Equal(t, time.Minute, l.Lead())
		for range 10 {
			k.Add(45 * time.Second)
			synctest.Wait()
		}
		assert.Len(t, w.sent("extend"), 11)
		require.NoError(t, l.Err())
		_, err = l.Commit(t.Context(), tokens(42))
		require.NoError(t, err)
		require.NoError(t, m.Close(t.Context()))
		assert.Zero(t, running())
	})
}
