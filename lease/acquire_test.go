package lease

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

func ptr[T any](v T) *T { return &v }

// steady is a server that grants every extend the same lead.
func steady(lead int64) *wire {
	return &wire{handle: func(c *wireCall) *http.Response {
		switch c.op {
		case "create":
			return replyCreated("rsv", lead)
		case "extend":
			return replyExtended(lead)
		case "commit":
			return replyCommitted(42)
		}
		return replyReleased()
	}}
}

func TestAcquireKeepsAliveForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w)
		l := acquire(t, m, 60_000)
		assert.Equal(t, "rsv", l.ID())
		assert.Equal(t, "rsv", *l.Reservation().ReservationID)
		assert.Equal(t, time.UnixMilli(epochMs), l.ExpiresAt())
		assert.Equal(t, time.Minute, l.Lead())
		time.Sleep(10 * time.Second)
		assert.Equal(t, 50*time.Second, l.Lead(), "the lead runs down by itself")

		time.Sleep(time.Hour)
		sent := w.sent("extend")
		// An eighth of 59 s is the attempt's bound: beats every 60 - 2 x 7.375 - 1 s.
		require.Len(t, sent, 81)
		assert.Equal(t, 44250*time.Millisecond, sent[1].at.Sub(sent[0].at))
		require.NoError(t, l.Err())
		select {
		case <-l.Done():
			t.Fatal("Done while the heartbeat runs")
		case <-l.Lost():
			t.Fatal("Lost while the heartbeat runs")
		default:
		}
	})
}

func TestAcquireSendsTheDefaultTTLSpelledOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(20_000)
		req := reserve(0)
		req.TTLMs = nil
		m := manage(t, w)
		l, err := m.Acquire(t.Context(), req)
		require.NoError(t, err)
		assert.Nil(t, req.TTLMs, "the caller's request is not written to")
		time.Sleep(20 * time.Second)
		assert.EqualValues(t, 60_000, w.sent("create")[0].body["ttl_ms"])
		require.NotEmpty(t, w.sent("extend"))
		assert.EqualValues(t, 60_000, w.sent("extend")[0].body["extend_by_ms"])
		l.Stop()
	})
}

func TestAcquireContextEndsWithTheAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		l, err := m.Acquire(ctx, reserve(60_000))
		require.NoError(t, err)
		cancel()
		time.Sleep(10 * time.Minute)
		assert.NoError(t, l.Err())
		assert.Greater(t, len(w.sent("extend")), 10)
	})
}

func TestAcquireRefusesWhatCannotBeKept(t *testing.T) {
	w := steady(60_000)
	m := manage(t, w)
	for name, change := range map[string]func(*gen.ReservationCreateRequest){
		"dry run":       func(r *gen.ReservationCreateRequest) { r.DryRun = ptr(true) },
		"ttl too short": func(r *gen.ReservationCreateRequest) { r.TTLMs = ptr(int64(999)) },
		"ttl too long":  func(r *gen.ReservationCreateRequest) { r.TTLMs = ptr(int64(86_400_001)) },
		"ttl negative":  func(r *gen.ReservationCreateRequest) { r.TTLMs = ptr(int64(-1)) },
		"bad amount":    func(r *gen.ReservationCreateRequest) { r.Estimate.Amount = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			req := reserve(60_000)
			change(&req)
			l, err := m.Acquire(t.Context(), req)
			require.Nil(t, l)
			var refused *AcquireError
			require.ErrorAs(t, err, &refused)
			assert.Zero(t, refused.HeldFor)
			var bad *client.RequestError
			require.ErrorAs(t, err, &bad)
		})
	}
	assert.Empty(t, w.calls, "nothing was sent")
}

func TestAcquireSaysWhatAFailedCreateLeavesBehind(t *testing.T) {
	for name, test := range map[string]struct {
		reply   func(*wireCall) *http.Response
		heldFor time.Duration
		sent    int
	}{
		"denied":           {func(*wireCall) *http.Response { return replyRefused(409, gen.ErrorCodeBudgetExceeded) }, 0, 1},
		"throttled":        {func(*wireCall) *http.Response { return replyRefused(429, gen.ErrorCodeLimitExceeded) }, 0, 1},
		"no permission":    {func(*wireCall) *http.Response { return replyRefused(403, gen.ErrorCodeForbidden) }, 0, 1},
		"connection lost":  {func(*wireCall) *http.Response { return nil }, 65 * time.Second, 2},
		"server error":     {func(*wireCall) *http.Response { return reply(500, "") }, 65 * time.Second, 2},
		"unproved success": {func(*wireCall) *http.Response { return reply(202, "{}") }, 65 * time.Second, 2},
		"a proxy's page":   {func(*wireCall) *http.Response { return reply(400, "<html>") }, 65 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{handle: test.reply}
			m := manage(t, w)
			req := reserve(60_000)
			req.IdempotencyKey = "key-1"
			_, err := m.Acquire(t.Context(), req)
			var failed *AcquireError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.heldFor, failed.HeldFor)
			assert.Equal(t, "key-1", failed.IdempotencyKey)
			assert.Len(t, w.calls, test.sent)
			if test.heldFor > 0 {
				assert.ErrorContains(t, err, `budget may stay held for up to 1m5s under the key "key-1"`)
			}
		})
	}
}

func TestAcquireCancelledInTheMiddleMayHoldBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, &wire{handle: (*wireCall).hang})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req := reserve(30_000)
		req.GracePeriodMs = ptr(int64(0))
		_, err := m.Acquire(ctx, req)
		var failed *AcquireError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 30*time.Second, failed.HeldFor)
		assert.NotEmpty(t, failed.IdempotencyKey)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		_, err = m.Acquire(ctx, req)
		require.ErrorAs(t, err, &failed)
		assert.Zero(t, failed.HeldFor, "it never left")
	})
}

func TestAcquireOnAManagerThatClosesMeanwhileGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *Manager
		w := steady(60_000)
		inner := w.handle
		w.handle = func(c *wireCall) *http.Response {
			if c.op == "create" {
				require.NoError(t, m.Close(context.Background()))
			}
			return inner(c)
		}
		m = manage(t, w)
		_, err := m.Acquire(t.Context(), reserve(60_000))
		require.ErrorIs(t, err, ErrClosed)
		var failed *AcquireError
		require.ErrorAs(t, err, &failed)
		assert.Zero(t, failed.HeldFor)
		assert.Len(t, w.sent("release"), 1)

		_, err = m.Acquire(t.Context(), reserve(60_000))
		require.ErrorIs(t, err, ErrClosed)
		assert.Len(t, w.sent("create"), 1, "a closed manager does not create")
	})
}

// handover is a reservation created just now, in no time.
func handover(k clock.Clock, remaining *int64) Handover {
	now := k.Now()
	return Handover{
		Request: reserve(60_000),
		Created: &gen.ReservationCreateResponse{
			Decision: gen.DecisionEnumAllow, ReservationID: ptr("rsv"), AffectedScopes: []string{"tenant:acme"},
			ExpiresAtMs: ptr(epochMs), RemainingTTLMs: remaining,
		},
		Meta: client.Meta{IdempotencyKey: "k", Sent: now, Received: now},
	}
}

func TestKeepRefusesBadHandovers(t *testing.T) {
	m := manage(t, steady(60_000))
	for name, test := range map[string]struct {
		change func(*Handover)
		want   error
	}{
		"no answer":            {func(h *Handover) { h.Created = nil }, ErrNoReservation},
		"no id":                {func(h *Handover) { h.Created.ReservationID = nil }, ErrNoReservation},
		"empty id":             {func(h *Handover) { h.Created.ReservationID = ptr("") }, ErrNoReservation},
		"denied":               {func(h *Handover) { h.Created.Decision = gen.DecisionEnumDeny }, ErrDenied},
		"over long ago":        {func(h *Handover) { back(&h.Meta, time.Hour) }, ErrOver},
		"dry run":              {func(h *Handover) { h.Request.DryRun = ptr(true) }, nil},
		"ttl out of range":     {func(h *Handover) { h.Request.TTLMs = ptr(int64(1)) }, nil},
		"unknown decision":     {func(h *Handover) { h.Created.Decision = "MAYBE" }, nil},
		"no decision":          {func(h *Handover) { h.Created.Decision = "" }, nil},
		"negative remaining":   {func(h *Handover) { h.Created.RemainingTTLMs = ptr(int64(-1)) }, nil},
		"most negative of all": {func(h *Handover) { h.Created.RemainingTTLMs = ptr(int64(math.MinInt64)) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := handover(m.clock, ptr(int64(60_000)))
			test.change(&h)
			l, err := m.Keep(h)
			require.Nil(t, l)
			var refused *AcquireError
			require.ErrorAs(t, err, &refused)
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			} else {
				var bad *client.RequestError
				require.ErrorAs(t, err, &bad)
			}
		})
	}
	assert.Zero(t, m.Stats().Kept)
}

// back makes an answer older.
func back(meta *client.Meta, by time.Duration) {
	meta.Sent, meta.Received = meta.Sent.Add(-by), meta.Received.Add(-by)
}

func TestKeepTwiceIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, steady(60_000))
		first, err := m.Keep(handover(m.clock, ptr(int64(60_000))))
		require.NoError(t, err)
		_, err = m.Keep(handover(m.clock, ptr(int64(60_000))))
		require.ErrorIs(t, err, ErrKept)
		first.Stop()
		_, err = m.Keep(handover(m.clock, ptr(int64(60_000))))
		require.NoError(t, err, "a stopped one can be taken over again")
	})
}

func TestKeepCountsTheTimeSinceTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w, WithExtendTimeout(7*time.Second))
		h := handover(m.clock, ptr(int64(60_000)))
		h.Meta.Sent = h.Meta.Sent.Add(-500 * time.Millisecond)
		start := time.Now()
		time.Sleep(2 * time.Second) // set-up between the answer and the hand-over
		l, err := m.Keep(h)
		require.NoError(t, err)
		assert.Equal(t, 57500*time.Millisecond, l.Lead())
		time.Sleep(time.Minute)
		assert.Equal(t, 44500*time.Millisecond, w.sent("extend")[0].at.Sub(start))
	})
}

func TestKeepWithoutTimingSendsOneExtendAtOnce(t *testing.T) {
	for name, change := range map[string]func(*client.Meta){
		"none recorded":           func(m *client.Meta) { *m = client.Meta{} },
		"sent is missing":         func(m *client.Meta) { m.Sent = time.Time{} },
		"received before sent":    func(m *client.Meta) { m.Sent = m.Received.Add(1) },
		"received in the future":  func(m *client.Meta) { m.Received = m.Received.Add(time.Hour) },
		"both in the future":      func(m *client.Meta) { back(m, -time.Hour) },
		"received is the zero of": func(m *client.Meta) { m.Received = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := scripted(60_000, func(*wireCall) (*http.Response, bool) {
					time.Sleep(time.Second)
					return nil, false
				})
				m := manage(t, w)
				h := handover(m.clock, ptr(int64(60_000)))
				change(&h.Meta)
				l, err := m.Keep(h)
				require.NoError(t, err)
				assert.Zero(t, l.Lead())
				synctest.Wait()
				assert.Len(t, w.sent("extend"), 1)
				time.Sleep(time.Second)
				synctest.Wait()
				assert.Equal(t, 59*time.Second, l.Lead(), "its own round trip is known")
				assert.Len(t, w.sent("extend"), 1)
			})
		})
	}
}

func TestKeepTakesVeryLongRemainingTTLs(t *testing.T) {
	// The second is more than a time.Duration holds in nanoseconds.
	for _, remaining := range []int64{math.MaxInt64, 9_300_000_000_000, 9_200_000_000_000} {
		synctest.Test(t, func(t *testing.T) {
			w := steady(60_000)
			m := manage(t, w)
			l, err := m.Keep(handover(m.clock, ptr(remaining)))
			require.NoError(t, err)
			time.Sleep(time.Hour)
			assert.Empty(t, w.sent("extend"), remaining)
			assert.NoError(t, l.Err())
			assert.Greater(t, l.Lead(), 200*365*24*time.Hour)
		})
	}
}

func TestKeepNeedsNoExpiry(t *testing.T) {
	for name, remaining := range map[string]*int64{"remaining_ttl_ms alone": ptr(int64(60_000)), "neither": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// An answer takes its time, so that the first one is not there yet below.
				w := scripted(60_000, func(*wireCall) (*http.Response, bool) {
					time.Sleep(time.Second)
					return nil, false
				})
				m := manage(t, w, WithExtendTimeout(7*time.Second))
				h := handover(m.clock, remaining)
				h.Created.ExpiresAtMs = nil
				l, err := m.Keep(h)
				require.NoError(t, err)
				assert.True(t, l.ExpiresAt().IsZero())
				time.Sleep(50 * time.Second)
				assert.Equal(t, time.UnixMilli(epochMs), l.ExpiresAt())
				assert.NotEmpty(t, w.sent("extend"))
				assert.NoError(t, l.Err())
			})
		})
	}
}

func TestNewManagerRefusesBadSettings(t *testing.T) {
	c := newClient(t, steady(1))
	for name, opt := range map[string]Option{
		"nil option":          nil,
		"nil logger":          WithLogger(nil),
		"nil observer":        WithObserver(nil),
		"nil function":        WithObserver(ObserverFunc(nil)),
		"slog of nil":         WithObserver(NewSlogObserver(nil)),
		"meter of nil":        WithObserver(NewMeterObserver(nil)),
		"nil clock":           WithClock(nil),
		"another clock":       WithClock(clock.NewMock()),
		"no slots":            WithMaxInFlight(0),
		"timeout zero":        WithExtendTimeout(0),
		"timeout negative":    WithExtendTimeout(-time.Second),
		"jitter negative":     WithJitter(-0.1),
		"jitter above one":    WithJitter(1.1),
		"jitter not a number": WithJitter(math.NaN()),
		"policy unknown":      WithOnLost(7),
		"budget negative":     WithExtensionBudget(-1),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := NewManager(c, opt)
			require.Nil(t, m)
			var bad *client.ConfigError
			require.ErrorAs(t, err, &bad)
		})
	}
	_, err := NewManager(nil)
	require.Error(t, err)
	_, err = NewManager(c, WithClock(c.Clock()))
	require.NoError(t, err)
	assert.False(t, errors.Is(err, ErrClosed))
}
