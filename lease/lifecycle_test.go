package lease

import (
	"errors"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// onExtend answers extends with f, whose n counts them from 1.
func onExtend(w **wire, f func(n int, c *wireCall) *http.Response) func(*wireCall) (*http.Response, bool) {
	return func(c *wireCall) (*http.Response, bool) {
		if c.op != "extend" {
			return nil, false
		}
		return f(len((*w).sent("extend")), c), true
	}
}

func stopOf(t testing.TB, l *Lease) *StopError {
	t.Helper()
	var stop *StopError
	require.ErrorAs(t, l.Err(), &stop)
	return stop
}

func TestStopCancelsTheExtendAndSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" {
				return c.hang(), true
			}
			return nil, false
		})
		m := manage(t, w)
		l := acquire(t, m, 60_000)
		time.Sleep(45 * time.Second)
		require.Equal(t, 1, m.Stats().InFlight)
		start := time.Now()
		l.Stop()
		<-l.Done()
		assert.Zero(t, time.Since(start))
		l.Stop()
		time.Sleep(time.Hour)
		assert.Len(t, w.calls, 2, "create and the cancelled extend")
		assert.NoError(t, l.Err())
		assert.False(t, isClosed(l.Lost()), "nobody watches a stopped lease")
		assert.Zero(t, m.Stats().InFlight)
	})
}

func TestStoppedAndTakenOverAgainBeatsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w, WithExtendTimeout(7*time.Second))
		for range 10 {
			l, err := m.Keep(handover(m.clock, ptr(int64(60_000))))
			require.NoError(t, err)
			time.Sleep(45 * time.Second) // to the instant of a beat
			l.Stop()
		}
		synctest.Wait() // a beat that was just leaving has left
		before := len(w.sent("extend"))
		l, err := m.Keep(handover(m.clock, ptr(int64(60_000))))
		require.NoError(t, err)
		time.Sleep(91 * time.Second)
		assert.Len(t, w.sent("extend"), before+2)
		assert.NoError(t, l.Err())
	})
}

// running counts the goroutines that the managers of this bubble have started and
// that have not ended. In the traces the caller comes first.
func running() int {
	synctest.Wait()
	buf := make([]byte, 256<<10)
	traces := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(traces[0])
	n := 0
	for _, trace := range traces {
		head, _, _ := strings.Cut(trace, "\n")
		if strings.HasSuffix(head, bubble+"]:") && strings.Contains(trace, "created by github.com/cycles-protocol/cycles-go/lease.(*Manager)") {
			n++
		}
	}
	return n
}

func TestNoGoroutineOutlivesItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		seen := &steps{}
		m := manage(t, w, WithObserver(seen))
		assert.Zero(t, running(), "a manager without a lease has none")
		var leases []*Lease
		for i := range 100 {
			leases = append(leases, acquireAs(t, m, w, strconv.Itoa(i)))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, running(), "one scheduler for a hundred leases")
		for _, l := range leases {
			l.Stop()
		}
		synctest.Wait()
		assert.Zero(t, running())
		acquireAs(t, m, w, "one more")
		time.Sleep(time.Hour)
		require.NoError(t, m.Close(t.Context()))
		assert.Zero(t, running())
		assert.NotEmpty(t, seen.of(StepFinished))
	})
}

func TestHeartbeatStopsForEachKindOfAnswer(t *testing.T) {
	page := func(status int) *http.Response { return reply(status, "<html>") }
	for name, test := range map[string]struct {
		answer *http.Response
		want   StopReason
		lost   bool
	}{
		"expired":                   {replyRefused(410, gen.ErrorCodeReservationExpired), StopExpired, true},
		"expired on another status": {replyRefused(409, gen.ErrorCodeReservationExpired), StopExpired, true},
		"bodyless 410":              {reply(410, ""), StopExpired, true},
		"finalized":                 {replyRefused(409, gen.ErrorCodeReservationFinalized), StopFinalized, true},
		"max extensions":            {replyRefused(409, gen.ErrorCodeMaxExtensionsExceeded), StopMaxExtensions, false},
		"tenant closed":             {replyRefused(409, gen.ErrorCodeTenantClosed), StopTenantClosed, true},
		"tenant closed on a 403":    {replyRefused(403, gen.ErrorCodeTenantClosed), StopTenantClosed, true},
		"not found":                 {replyRefused(404, gen.ErrorCodeNotFound), StopNotFound, true},
		"bodyless 404":              {reply(404, ""), StopNotFound, true},
		"404 with a page":           {page(404), StopNotFound, true},
		"unauthorized":              {replyRefused(401, gen.ErrorCodeUnauthorized), StopRejected, false},
		"forbidden":                 {replyRefused(403, gen.ErrorCodeForbidden), StopRejected, false},
		"bad request":               {replyRefused(400, gen.ErrorCodeInvalidRequest), StopRejected, false},
		"key used otherwise":        {replyRefused(409, gen.ErrorCodeIdempotencyMismatch), StopRejected, false},
		"limit exceeded on a 400":   {replyRefused(400, gen.ErrorCodeLimitExceeded), StopRejected, false},
		"unknown code":              {replyRefused(418, "TEAPOT"), StopRejected, false},
		"codeless 409":              {reply(409, ""), StopRejected, false},
		"redirect":                  {page(302), StopRejected, false},
		"throttled without a wait":  {replyRefused(429, gen.ErrorCodeLimitExceeded), StopThrottled, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *wire
				w = scripted(60_000, onExtend(&w, func(n int, c *wireCall) *http.Response {
					time.Sleep(5 * time.Millisecond)
					return test.answer
				}))
				m := manage(t, w, WithExtendTimeout(7*time.Second))
				l := acquire(t, m, 60_000)
				<-l.Done()
				stop := stopOf(t, l)
				assert.Equal(t, test.want, stop.Reason)
				assert.Equal(t, "rsv", stop.ReservationID)
				assert.Equal(t, w.sent("extend")[0].key(), stop.IdempotencyKey)
				assert.Equal(t, 14995*time.Millisecond, stop.Lead)
				assert.Equal(t, 1, stop.Attempts)
				assert.Equal(t, test.want.disposition(), stop.Disposition)
				var answered *client.Error
				require.ErrorAs(t, stop, &answered)
				assert.Equal(t, test.answer.StatusCode, answered.Status)
				assert.Equal(t, uint64(1), m.Stats().Stops[test.want])

				assert.Equal(t, test.lost, isClosed(l.Lost()))
				if !test.lost {
					assert.Equal(t, stop.Lead, l.Lead())
					time.Sleep(14994 * time.Millisecond)
					synctest.Wait()
					assert.False(t, isClosed(l.Lost()), "there is lead left")
					time.Sleep(time.Millisecond)
				}
				<-l.Lost()
				assert.Zero(t, l.Lead())
				assert.Same(t, stop, stopOf(t, l), "the first reason stays")
				assert.Len(t, w.sent("extend"), 1)
			})
		})
	}
}

func TestDoneAndLostMayBeAskedForAfterTheFact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = scripted(60_000, onExtend(&w, func(int, *wireCall) *http.Response { return reply(410, "") }))
		early := acquire(t, manage(t, w), 60_000)
		done, lost := early.Done(), early.Lost()
		time.Sleep(time.Hour)
		assert.True(t, isClosed(done))
		assert.True(t, isClosed(lost))
		assert.True(t, isClosed(early.Done()))
		late := acquire(t, early.m, 60_000)
		time.Sleep(time.Hour)
		assert.True(t, isClosed(late.Done()))
		assert.True(t, isClosed(late.Lost()))
	})
}

func TestPersistentFailureNeitherStormsNorEndsSilently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = scripted(60_000, onExtend(&w, func(int, *wireCall) *http.Response { return reply(500, "") }))
		m := manage(t, w)
		l := acquire(t, m, 60_000)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, len(w.sent("extend")), 6, "a handful of attempts in an hour of errors")
		require.Error(t, l.Err())
		assert.True(t, isClosed(l.Lost()))
		for _, c := range w.sent("extend") {
			assert.Equal(t, w.sent("extend")[0].raw, c.raw)
		}
	})
}

func TestAHungExtendHoldsUpNoOtherLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" && c.id == "hung" {
				return c.hang(), true
			}
			return nil, false
		})
		m := manage(t, w, WithExtendTimeout(7*time.Second))
		start := time.Now()
		acquireAs(t, m, w, "hung")
		acquireAs(t, m, w, "healthy")
		time.Sleep(10 * time.Minute)
		beats := 0
		for _, c := range w.sent("extend") {
			if c.id == "healthy" {
				beats++
				assert.Equal(t, time.Duration(beats)*45*time.Second, c.at.Sub(start))
			}
		}
		assert.Equal(t, 13, beats)
		assert.Zero(t, m.Stats().Lateness.Max)
	})
}

func TestBeatsAreOnTimeWhileOneSlotIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" && strings.HasPrefix(c.id, "hung") {
				<-c.ctx.Done()
				time.Sleep(time.Hour) // a transport that ignores its bound
				return nil, true
			}
			return nil, false
		})
		m := manage(t, w, WithMaxInFlight(4), WithExtendTimeout(7*time.Second))
		for i := range 3 {
			acquireAs(t, m, w, "hung"+strconv.Itoa(i))
		}
		time.Sleep(time.Second)
		for i := range 100 {
			acquireAs(t, m, w, strconv.Itoa(i))
		}
		time.Sleep(30*time.Minute - time.Second)
		stats := m.Stats()
		assert.Equal(t, 3, stats.InFlight)
		assert.Equal(t, uint64(100*39), stats.Succeeded)
		assert.Zero(t, stats.Lateness.Max)
		assert.Empty(t, stats.Stops)
		time.Sleep(time.Hour) // lets the three go
	})
}

func TestADueBeatIsNotGivenUpBeforeItIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Nothing is proved of the second lease, and its turn comes after the last
		// instant that its remaining_ttl_ms allows. The server may know better.
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" && c.id == "first" {
				time.Sleep(6 * time.Second)
			}
			return nil, false
		})
		m := manage(t, w, WithMaxInFlight(1), WithExtendTimeout(7*time.Second))
		untimed := func(id string, remaining int64) *Lease {
			h := handover(m.clock, ptr(remaining))
			h.Created.ReservationID, h.Meta = &id, client.Meta{}
			l, err := m.Keep(h)
			require.NoError(t, err)
			return l
		}
		untimed("first", 60_000)
		second := untimed("second", 4_000)
		time.Sleep(5 * time.Second)
		assert.False(t, isClosed(second.Done()))
		time.Sleep(2 * time.Second)
		assert.NoError(t, second.Err())
		assert.Equal(t, 59*time.Second, second.Lead())
	})
}

func TestAStopAfterASuccessNamesNoOldFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = scripted(60_000, onExtend(&w, func(n int, _ *wireCall) *http.Response {
			if n == 1 {
				return reply(503, "")
			}
			return replyExtended(10_000)
		}))
		l := acquire(t, manage(t, w, WithExtendTimeout(7*time.Second)), 60_000)
		<-l.Done()
		stop := stopOf(t, l)
		assert.Equal(t, StopLeaseTooShort, stop.Reason)
		assert.Equal(t, 3, stop.Attempts)
		assert.NoError(t, stop.Err)
		assert.NoError(t, stop.Unwrap())
		assert.Equal(t, 10*time.Second, stop.Lead)
		assert.ErrorContains(t, stop, `reservation "rsv" stopped (lease-too-short) after 3 extend attempts with 10s of lead left, finish-within-lead`)
	})
	assert.ErrorContains(t, &StopError{Attempts: 1}, "after 1 extend attempt with")
}

func TestBeatsWaitForASlotTheFirstToExpireFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" {
				time.Sleep(time.Second)
			}
			return nil, false
		})
		m := manage(t, w, WithMaxInFlight(1), WithExtendTimeout(4*time.Second))
		for i, lead := range []int64{40_000, 30_000, 20_000} {
			// All become due at the same time, with different leads left.
			h := handover(m.clock, ptr(lead))
			h.Created.ReservationID = ptr(strconv.Itoa(i))
			h.Meta = client.Meta{} // timing unknown: due at once
			_, err := m.Keep(h)
			require.NoError(t, err)
		}
		assert.Equal(t, 1, m.Stats().InFlight, "the first took the only slot")
		assert.Equal(t, 2, m.Stats().Due)
		time.Sleep(10 * time.Second)
		var order []string
		for _, c := range w.sent("extend") {
			order = append(order, c.id)
		}
		assert.Equal(t, []string{"0", "2", "1"}, order)
		stats := m.Stats()
		assert.Equal(t, 2*time.Second, stats.QueueWait.Max)
		assert.Equal(t, time.Second, stats.QueueWait.Mean())
		assert.Equal(t, uint64(3), stats.Succeeded)
	})
}

func TestALeaseStoppedInTheQueueSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" {
				time.Sleep(6 * time.Second)
			}
			return nil, false
		})
		m := manage(t, w, WithMaxInFlight(1), WithExtendTimeout(7*time.Second))
		acquireAs(t, m, w, "hog")
		queued := acquireAs(t, m, w, "queued")
		time.Sleep(46 * time.Second)
		require.Equal(t, 1, m.Stats().Due)
		queued.Stop()
		assert.True(t, isClosed(queued.Done()))
		assert.Zero(t, m.Stats().Due)
		time.Sleep(10 * time.Second)
		assert.Len(t, w.sent("extend"), 1)
	})
}

func TestTimeInTheQueueIsElapsedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The only slot hangs until far into the other lease's reserve.
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" && c.id == "hog" {
				time.Sleep(6 * time.Second)
			}
			return nil, false
		})
		m := manage(t, w, WithMaxInFlight(1), WithExtendTimeout(7*time.Second))
		start := time.Now()
		acquireAs(t, m, w, "hog")
		late := acquireAs(t, m, w, "late")
		time.Sleep(46 * time.Second)
		assert.Equal(t, 14*time.Second, late.Lead(), "waiting does not stop the clock")
		time.Sleep(7 * time.Second)
		sent := w.sent("extend")
		require.Len(t, sent, 2)
		assert.Equal(t, 51*time.Second, sent[1].at.Sub(start))
		assert.Equal(t, 58*time.Second, late.Lead())
		assert.Equal(t, 6*time.Second, m.Stats().Lateness.Max)
	})
}

func TestARecoveryThatWaitedTooLongForASlotIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hogging := make(chan struct{})
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op != "extend" {
				return nil, false
			}
			if c.id == "hog" {
				<-hogging // ignores its bound
				return nil, true
			}
			return reply(503, ""), true
		})
		m := manage(t, w, WithMaxInFlight(1), WithExtendTimeout(7*time.Second))
		l := acquireAs(t, m, w, "unlucky")
		time.Sleep(46 * time.Second) // its first attempt failed
		h := handover(m.clock, ptr(int64(60_000)))
		h.Created.ReservationID, h.Meta = ptr("hog"), client.Meta{}
		_, err := m.Keep(h)
		require.NoError(t, err)
		time.Sleep(8 * time.Second) // 6 s of lead are left, less than an attempt takes
		close(hogging)
		synctest.Wait()
		stop := stopOf(t, l)
		assert.Equal(t, StopRetryWindow, stop.Reason)
		assert.Equal(t, 1, stop.Attempts)
		assert.True(t, errors.As(stop, new(*client.Error)), "the failure that led here is kept")
	})
}
