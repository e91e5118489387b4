package lease

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
)

func TestContextEndsWithWhatEndedTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			return replyRefused(404, gen.ErrorCodeNotFound), c.op == "extend" && c.id == "gone"
		})
		m := manage(t, w)
		gone := acquireAs(t, m, w, "gone")
		ctx := gone.Context(t.Context())
		time.Sleep(time.Minute)
		assert.Same(t, stopOf(t, gone), context.Cause(ctx))
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.Same(t, stopOf(t, gone), context.Cause(gone.Context(t.Context())), "also when asked for later")

		for name, end := range map[string]func(*Lease){
			"commit":  func(l *Lease) { _, err := l.Commit(t.Context(), tokens(1)); require.NoError(t, err) },
			"release": func(l *Lease) { require.NoError(t, l.Release(t.Context(), "")) },
			"stop":    func(l *Lease) { l.Stop() },
			"close":   func(*Lease) { require.NoError(t, m.Close(t.Context())) },
		} {
			if name == "close" {
				continue
			}
			l := acquireAs(t, m, w, name)
			ctx := l.Context(t.Context())
			assert.NoError(t, ctx.Err())
			end(l)
			assert.Equal(t, ErrFinished, context.Cause(ctx), name)
			assert.Equal(t, ErrFinished, context.Cause(l.Context(t.Context())), name)
		}
		l := acquireAs(t, m, w, "close")
		ctx = l.Context(t.Context())
		require.NoError(t, m.Close(t.Context()))
		assert.Equal(t, ErrFinished, context.Cause(ctx))
	})
}

func TestContextEndsWithItsParentAndLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, manage(t, steady(60_000)), 60_000)
		parent, cancel := context.WithCancelCause(t.Context())
		ctx := l.Context(parent)
		cancel(http.ErrAbortHandler)
		<-ctx.Done()
		assert.Equal(t, http.ErrAbortHandler, context.Cause(ctx))
		time.Sleep(time.Hour)
		assert.NoError(t, l.Err())
	})
}

func TestContextsThatEndedDoNotPileUp(t *testing.T) {
	l := acquire(t, manage(t, steady(60_000)), 60_000)
	alive := l.Context(t.Context())
	for range 10_000 {
		ctx, cancel := context.WithCancel(t.Context())
		l.Context(ctx)
		cancel()
	}
	assert.Less(t, len(l.contexts.list), 20)
	l.Stop()
	assert.Equal(t, ErrFinished, context.Cause(alive), "the one that lived was kept")
}

func TestFromContextFindsTheInnermostLease(t *testing.T) {
	_, found := FromContext(t.Context())
	assert.False(t, found)
	w := &wire{handle: func(c *wireCall) *http.Response {
		switch c.op {
		case "create":
			return reply(200, `{"decision":"ALLOW_WITH_CAPS","caps":{"max_tokens":9},"reservation_id":"`+c.key()+
				`","affected_scopes":["tenant:acme"],"expires_at_ms":1700000000000,"remaining_ttl_ms":60000}`)
		case "commit":
			return replyCommitted(1)
		}
		return replyExtended(60_000)
	}}
	m := manage(t, w)
	named := func(key string) gen.ReservationCreateRequest {
		req := reserve(60_000)
		req.IdempotencyKey = key
		return req
	}
	leaseOf := func(ctx context.Context) string {
		l, ok := FromContext(ctx)
		require.True(t, ok)
		require.NotNil(t, l.Caps())
		assert.EqualValues(t, 9, *l.Caps().MaxTokens)
		assert.Positive(t, l.Lead())
		return l.ID()
	}
	_, _, err := Run(t.Context(), m, named("outer"), func(outer context.Context, l *Lease) (int, Usage, error) {
		assert.Equal(t, "outer", leaseOf(outer))
		_, _, err := Run(outer, m, named("inner"), func(inner context.Context, l *Lease) (int, Usage, error) {
			assert.Equal(t, "inner", leaseOf(inner))
			return 0, Usage{Actual: tokens(1)}, nil
		})
		require.NoError(t, err)
		assert.Equal(t, "outer", leaseOf(outer))
		assert.False(t, isClosed(l.Done()), "the inner run leaves the outer lease alone")
		assert.Equal(t, "outer", leaseOf(l.Context(outer)))
		return 0, Usage{Actual: tokens(1)}, nil
	})
	require.NoError(t, err)
	var order []string
	for _, c := range w.sent("commit") {
		order = append(order, c.id)
	}
	assert.Equal(t, []string{"inner", "outer"}, order)
}
