package lease

import (
	"context"
	"errors"
	"math"
	"net/http"
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

func openStream(t *testing.T, ctx context.Context, m *Manager, opts ...CommitOption) *Stream {
	t.Helper()
	s, err := m.OpenStream(ctx, reserve(60_000), opts...)
	require.NoError(t, err)
	return s
}

func charged(c *wireCall) any { return c.body["actual"].(map[string]any)["amount"] }

func TestStreamCommitsWhatWasAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		s := openStream(t, t.Context(), manage(t, w), WithMetadata(map[string]any{"stream": true}))
		l, ok := FromContext(s.Context())
		require.True(t, ok)
		assert.Same(t, s.Lease(), l)
		for range 10 {
			require.NoError(t, s.Add(4))
			time.Sleep(10 * time.Second)
		}
		assert.Equal(t, tokens(40), s.Used())
		res, err := s.Commit(t.Context(), WithMetrics(gen.StandardMetrics{TokensOutput: ptr(int64(40))}))
		require.NoError(t, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
		sent := w.sent("commit")
		require.Len(t, sent, 1)
		assert.EqualValues(t, 40, charged(sent[0]))
		assert.Equal(t, map[string]any{"stream": true}, sent[0].body["metadata"])
		assert.Equal(t, map[string]any{"tokens_output": 40.0, "latency_ms": 100_000.0}, sent[0].body["metrics"])
		assert.NotEmpty(t, w.sent("extend"))
		require.ErrorIs(t, s.Add(1), ErrFinished)
		assert.Equal(t, tokens(40), s.Used())
	})
}

func TestStreamCommitsAtTheEndOfItsContextAndReleasesNothing(t *testing.T) {
	for name, used := range map[string]int64{"something was used": 12, "nothing was used": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := steady(60_000)
				m := manage(t, w)
				ctx, cancel := context.WithCancel(t.Context())
				s := openStream(t, ctx, m)
				require.NoError(t, s.Add(used))
				cancel()
				synctest.Wait()
				require.Len(t, w.sent("commit"), 1)
				assert.EqualValues(t, used, charged(w.sent("commit")[0]))
				assert.Empty(t, w.sent("release"))
				assert.ErrorIs(t, s.Context().Err(), context.Canceled)

				res, err := s.Commit(t.Context())
				require.NoError(t, err)
				assert.Equal(t, settlement.Committed, res.Disposition, "the result waits for whoever asks")
				assert.Len(t, w.sent("commit"), 1)
				var settled *SettledError
				require.ErrorAs(t, s.Release(t.Context(), ""), &settled)
			})
		})
	}
}

func TestStreamPendingAfterTheEndOfItsContextIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = scripted(60_000, onCommit(&w, func(n int) *http.Response {
			if n == 1 {
				return nil
			}
			return replyCommitted(5)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		s := openStream(t, ctx, manage(t, w))
		require.NoError(t, s.Add(5))
		cancel()
		synctest.Wait()
		res, err := s.Commit(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, res.Attempts)
		assert.Equal(t, w.sent("commit")[0].raw, w.sent("commit")[1].raw)
	})
}

func TestStreamReleaseBeforeTheEndOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		ctx, cancel := context.WithCancel(t.Context())
		s := openStream(t, ctx, manage(t, w))
		require.NoError(t, s.Release(t.Context(), "never started"))
		cancel()
		synctest.Wait()
		assert.Len(t, w.sent("release"), 1)
		assert.Empty(t, w.sent("commit"))
	})
}

func TestStreamRefusesBadAmounts(t *testing.T) {
	s := openStream(t, t.Context(), manage(t, steady(60_000)))
	var bad *client.RequestError
	require.ErrorAs(t, s.Add(-1), &bad)
	require.ErrorContains(t, s.Add(-1), `Stream.Add(-1) to reservation "rsv"`)
	require.NoError(t, s.Add(math.MaxInt64))
	require.ErrorAs(t, s.Add(1), &bad)
	assert.Equal(t, int64(math.MaxInt64), s.Used().Amount)
	require.NoError(t, s.Release(t.Context(), ""))
}

func TestStreamNeedsALease(t *testing.T) {
	m := manage(t, &wire{handle: func(*wireCall) *http.Response { return replyRefused(409, gen.ErrorCodeBudgetFrozen) }})
	_, err := m.OpenStream(t.Context(), reserve(60_000))
	require.ErrorIs(t, err, client.ErrBudgetFrozen)
}

func TestStreamRaceSettlesOnceWithAllThatWasAdded(t *testing.T) {
	for round := range 30 {
		synctest.Test(t, func(t *testing.T) {
			w := scripted(60_000, func(*wireCall) (*http.Response, bool) {
				time.Sleep(time.Millisecond)
				return nil, false
			})
			m := manage(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			s := openStream(t, ctx, m)
			var added int64
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for s.Add(1) == nil {
						mu.Lock()
						added++
						mu.Unlock()
						time.Sleep(time.Microsecond)
					}
				})
			}
			time.Sleep(100 * time.Microsecond)
			wg.Go(cancel)
			wg.Go(func() {
				_, err := s.Commit(t.Context())
				assert.True(t, err == nil || errors.As(err, new(*SettledError)), "%v", err)
			})
			if round%2 == 0 {
				wg.Go(func() {
					err := s.Release(t.Context(), "race")
					assert.True(t, err == nil || errors.As(err, new(*SettledError)), "%v", err)
				})
			}
			wg.Wait()
			require.NoError(t, m.Close(t.Context()), "close waits for the settlement at the end of the context")
			all := append(w.sent("commit"), w.sent("release")...)
			require.Len(t, all, 1)
			if all[0].op == "commit" {
				assert.EqualValues(t, added, charged(all[0]))
			}
		})
	}
}
