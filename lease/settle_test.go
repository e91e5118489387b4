package lease

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// scripted is steady, except for what override answers; override returns false
// to let the steady server answer.
func scripted(lead int64, override func(*wireCall) (*http.Response, bool)) *wire {
	w := steady(lead)
	inner := w.handle
	w.handle = func(c *wireCall) *http.Response {
		if resp, mine := override(c); mine {
			return resp
		}
		return inner(c)
	}
	return w
}

// onCommit answers the n-th commit (from 1) with what f says; nil from f is a
// lost connection.
func onCommit(w **wire, f func(n int) *http.Response) func(*wireCall) (*http.Response, bool) {
	return func(c *wireCall) (*http.Response, bool) {
		if c.op != "commit" {
			return nil, false
		}
		return f(len((*w).sent("commit"))), true
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestCommitEndsTheHeartbeatAndSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w)
		l := acquire(t, m, 60_000)
		time.Sleep(time.Minute)
		res, err := l.Commit(t.Context(), tokens(42),
			WithMetrics(gen.StandardMetrics{TokensInput: ptr(int64(7))}), WithMetadata(map[string]any{"a": "b"}), WithCommitKey("ck"))
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
		assert.True(t, res.Settled())
		assert.EqualValues(t, 42, res.Commit.Charged.Amount)
		assert.Equal(t, "rsv", res.ReservationID)
		assert.Equal(t, "ck", res.IdempotencyKey)
		assert.Equal(t, 1, res.Attempts)
		assert.JSONEq(t, `{"idempotency_key":"ck","actual":{"amount":42,"unit":"TOKENS"},"metrics":{"tokens_input":7,"latency_ms":60000},"metadata":{"a":"b"}}`,
			w.sent("commit")[0].raw)

		assert.True(t, isClosed(l.Done()))
		assert.NoError(t, l.Err())
		beats := len(w.sent("extend"))
		time.Sleep(time.Hour)
		assert.Len(t, w.sent("extend"), beats, "no extend after the commit")
		assert.False(t, isClosed(l.Lost()))
		assert.Zero(t, m.Stats().Active)
	})
}

func TestCommitJoinsTheExtendInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		extendEnded := make(chan struct{})
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			switch c.op {
			case "extend":
				<-c.ctx.Done()
				time.Sleep(time.Second) // a transport that is slow to let go
				close(extendEnded)
				return nil, true
			case "commit":
				assert.True(t, isClosed(extendEnded), "the commit left before the extend had returned")
			}
			return nil, false
		})
		m := manage(t, w)
		l := acquire(t, m, 60_000)
		time.Sleep(45 * time.Second)
		require.Len(t, w.sent("extend"), 1)
		start := time.Now()
		_, err := l.Commit(t.Context(), tokens(1))
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(start))
		require.Len(t, w.sent("commit"), 1)
		assert.NoError(t, l.Err(), "a cancelled extend is no failure")
		assert.Zero(t, m.Stats().Failed)
		assert.Zero(t, m.Stats().Stops[StopRetryWindow])
	})
}

func TestALateAnswerChangesNothing(t *testing.T) {
	for name, late := range map[string]*http.Response{
		"success": replyExtended(60_000), "failure": reply(503, ""), "end": replyRefused(410, gen.ErrorCodeReservationExpired),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				letGo := make(chan struct{})
				w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
					if c.op == "extend" {
						c.deaf = true // a transport that ignores cancellation
						<-letGo
						return late, true
					}
					return nil, false
				})
				m := manage(t, w, WithExtendTimeout(3*time.Second))
				l := acquire(t, m, 60_000)
				time.Sleep(54 * time.Second)
				start := time.Now()
				_, err := l.Commit(t.Context(), tokens(1))
				require.NoError(t, err)
				assert.Equal(t, 3*time.Second, time.Since(start), "waited for as long as an attempt may take")
				assert.False(t, isClosed(l.Done()), "the extend has not returned")

				lead := l.Lead()
				close(letGo)
				synctest.Wait()
				assert.True(t, isClosed(l.Done()))
				assert.Equal(t, lead, l.Lead())
				assert.NoError(t, l.Err())
				assert.Zero(t, m.Stats().Succeeded+m.Stats().Failed)
				time.Sleep(time.Hour)
				assert.Len(t, w.sent("extend"), 1)
				assert.False(t, isClosed(l.Lost()))
			})
		})
	}
}

func TestCommitOutlivesACancelledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "commit" {
				time.Sleep(2 * time.Second)
			}
			return nil, false
		})
		l := acquire(t, manage(t, w), 60_000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res, err := l.Commit(ctx, tokens(42))
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
	})
}

func TestCommitIsBoundedWhenTheServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "create" || c.op == "extend" {
				return nil, false
			}
			return c.hang(), true
		})
		l := acquire(t, manage(t, w), 60_000)
		start := time.Now()
		res, err := l.Commit(t.Context(), tokens(1))
		assert.Equal(t, client.DefaultRequestTimeout, time.Since(start))
		assert.Equal(t, settlement.Pending, res.Disposition)
		var unsettled *settlement.Error
		require.ErrorAs(t, err, &unsettled)
		assert.Equal(t, res.IdempotencyKey, unsettled.IdempotencyKey)

		l = acquireAs(t, l.m, w, "other")
		start = time.Now()
		require.ErrorIs(t, l.Release(t.Context(), ""), errReleaseBound)
		assert.Equal(t, 3*client.DefaultRequestTimeout, time.Since(start))
	})
}

// acquireAs keeps a second reservation of the same server.
func acquireAs(t *testing.T, m *Manager, _ *wire, id string) *Lease {
	h := handover(m.clock, ptr(int64(60_000)))
	h.Created.ReservationID = &id
	l, err := m.Keep(h)
	require.NoError(t, err)
	return l
}

func TestCommitAgainAfterAnAmbiguousFailureSendsTheSameBytes(t *testing.T) {
	for name, first := range map[string]*http.Response{
		"connection lost": nil, "server error": reply(500, ""), "unproved": reply(200, `{"status":"COMMITTED"}`),
		"throttled": replyRefused(429, gen.ErrorCodeLimitExceeded), "unauthorized": replyRefused(401, gen.ErrorCodeUnauthorized),
		"proxy page": reply(403, "<html>"), "codeless": reply(400, ""),
	} {
		t.Run(name, func(t *testing.T) {
			var w *wire
			w = scripted(60_000, onCommit(&w, func(n int) *http.Response {
				if n == 1 {
					return first
				}
				return replyCommitted(42)
			}))
			l := acquire(t, manage(t, w), 60_000)
			metadata := map[string]any{"n": 1}
			res, err := l.Commit(t.Context(), tokens(42), WithMetadata(metadata))
			require.Error(t, err)
			assert.Equal(t, settlement.Pending, res.Disposition)
			assert.False(t, res.Settled())
			require.Error(t, res.Err)
			metadata["n"] = 2 // the caller's map is not what is sent

			var settled *SettledError
			require.ErrorAs(t, l.Release(t.Context(), "give up"), &settled)
			assert.True(t, settled.Pending)
			_, err = l.Commit(t.Context(), tokens(43))
			require.ErrorAs(t, err, &settled)
			assert.Equal(t, res.IdempotencyKey, settled.IdempotencyKey)
			require.Len(t, w.sent("commit"), 1, "another amount cannot go under the same key")

			again, err := l.Commit(t.Context(), tokens(42), WithMetadata(metadata))
			require.NoError(t, err)
			assert.Equal(t, settlement.Committed, again.Disposition)
			assert.Equal(t, 2, again.Attempts)
			sent := w.sent("commit")
			require.Len(t, sent, 2)
			assert.Equal(t, sent[0].raw, sent[1].raw)
			assert.Empty(t, w.sent("release"))
		})
	}
}

func TestCommitAfterARejectedOneIsANewCommit(t *testing.T) {
	for _, rejection := range []*http.Response{
		replyRefused(409, gen.ErrorCodeBudgetExceeded), replyRefused(409, gen.ErrorCodeIdempotencyMismatch),
	} {
		var w *wire
		w = scripted(60_000, onCommit(&w, func(n int) *http.Response {
			if n == 1 {
				return rejection
			}
			return replyCommitted(42)
		}))
		l := acquire(t, manage(t, w), 60_000)
		res, err := l.Commit(t.Context(), tokens(1000))
		require.Error(t, err)
		assert.Equal(t, settlement.Rejected, res.Disposition)
		res, err = l.Commit(t.Context(), tokens(42))
		require.NoError(t, err)
		assert.True(t, res.Settled())
		sent := w.sent("commit")
		assert.NotEqual(t, sent[0].key(), sent[1].key())
	}
}

func TestCommitRefusedBeforeSendingKeepsTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		l := acquire(t, manage(t, w), 60_000)
		for name, amount := range map[string]gen.Amount{
			"negative": tokens(-1), "another unit": {Unit: gen.UnitEnumCredits, Amount: 1},
		} {
			_, err := l.Commit(t.Context(), amount)
			var bad *client.RequestError
			require.ErrorAs(t, err, &bad, name)
		}
		_, err := l.Commit(t.Context(), tokens(1), WithMetadata(map[string]any{"f": func() {}}))
		require.Error(t, err)
		assert.False(t, isClosed(l.Done()))
		time.Sleep(time.Minute)
		assert.NotEmpty(t, w.sent("extend"))
		assert.Empty(t, w.sent("commit"))
		_, err = l.Commit(t.Context(), gen.Amount{Amount: 42})
		require.NoError(t, err)
		assert.Equal(t, "TOKENS", w.sent("commit")[0].body["actual"].(map[string]any)["unit"], "the reservation's unit is filled in")
	})
}

func TestCommitTwiceChargesOnce(t *testing.T) {
	w := steady(60_000)
	l := acquire(t, manage(t, w), 60_000)
	first, err := l.Commit(t.Context(), tokens(42))
	require.NoError(t, err)
	second, err := l.Commit(t.Context(), tokens(42))
	require.NoError(t, err)
	assert.Equal(t, first, second)
	_, err = l.Commit(t.Context(), tokens(41))
	var settled *SettledError
	require.ErrorAs(t, err, &settled)
	assert.False(t, settled.Pending)
	require.ErrorAs(t, l.Release(t.Context(), ""), &settled)
	assert.Equal(t, client.OpCommitReservation, settled.Op)
	assert.Len(t, w.sent("commit"), 1)
	assert.Empty(t, w.sent("release"))
}

func TestReleaseGivesBackOnce(t *testing.T) {
	w := steady(60_000)
	l := acquire(t, manage(t, w), 60_000)
	require.NoError(t, l.Release(t.Context(), strings.Repeat("ü", 300)))
	require.NoError(t, l.Release(t.Context(), "again"))
	sent := w.sent("release")
	require.Len(t, sent, 1)
	assert.Equal(t, strings.Repeat("ü", 256), sent[0].body["reason"])
	assert.True(t, isClosed(l.Done()))
	assert.NoError(t, l.Err())
	_, err := l.Commit(t.Context(), tokens(1))
	var settled *SettledError
	require.ErrorAs(t, err, &settled)
	assert.Equal(t, client.OpReleaseReservation, settled.Op)
	assert.Empty(t, w.sent("commit"))
}

func TestReleaseThatWasRefusedLeavesTheCommitOpen(t *testing.T) {
	w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
		return replyRefused(403, gen.ErrorCodeForbidden), c.op == "release"
	})
	l := acquire(t, manage(t, w), 60_000)
	require.ErrorIs(t, l.Release(t.Context(), "x"), client.ErrForbidden)
	_, err := l.Commit(t.Context(), tokens(1))
	require.NoError(t, err)
}

func TestReleaseWithAnOpenOutcomeKeepsItsKeyAndBlocksTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "release" && fail })
		l := acquire(t, manage(t, w), 60_000)
		require.Error(t, l.Release(t.Context(), "one"))
		_, err := l.Commit(t.Context(), tokens(1))
		var settled *SettledError
		require.ErrorAs(t, err, &settled)
		assert.True(t, settled.Pending)
		fail = false
		require.NoError(t, l.Release(t.Context(), "two"))
		sent := w.sent("release")
		assert.Greater(t, len(sent), 1)
		for _, c := range sent {
			assert.Equal(t, sent[0].raw, c.raw)
		}
	})
}

func TestCommitAndReleaseRaceSettlesOnce(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
				time.Sleep(time.Millisecond)
				return nil, false
			})
			l := acquire(t, manage(t, w), 60_000)
			time.Sleep(44250 * time.Millisecond) // an extend is under way, too
			errs := make([]error, 8)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					if i%2 == 0 {
						_, errs[i] = l.Commit(t.Context(), tokens(42))
					} else {
						errs[i] = l.Release(t.Context(), "race")
					}
				})
			}
			wg.Wait()
			assert.Len(t, append(w.sent("commit"), w.sent("release")...), 1)
			won := 0
			for _, err := range errs {
				var settled *SettledError
				if err == nil {
					won++
				} else {
					require.True(t, errors.As(err, &settled), "%v", err)
				}
			}
			assert.Equal(t, 4, won, "all calls of the winner's kind succeed")
		})
	}
}

func TestCommitAfterStopAndAfterCloseStillSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w)
		stopped := acquireAs(t, m, w, "stopped")
		closed := acquireAs(t, m, w, "closed")
		stopped.Stop()
		require.NoError(t, m.Close(t.Context()))
		assert.Empty(t, w.calls, "neither stop nor close sends anything")
		for _, l := range []*Lease{stopped, closed} {
			assert.True(t, isClosed(l.Done()))
			assert.NoError(t, l.Err())
			_, err := l.Commit(t.Context(), tokens(42))
			require.NoError(t, err)
		}
		assert.Len(t, w.sent("commit"), 2)
	})
}
