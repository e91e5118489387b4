package lease

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

func TestACommitThatIsRefusedAsItIsLeavesTheLeaseAlone(t *testing.T) {
	for name, commit := range map[string]func(*Lease) (settlement.Result, error){
		"another unit": func(l *Lease) (settlement.Result, error) {
			other := tokens(1)
			other.Unit = "CREDITS"
			return l.Commit(context.Background(), other)
		},
		"negative": func(l *Lease) (settlement.Result, error) { return l.Commit(context.Background(), tokens(-1)) },
		"metadata that JSON cannot hold": func(l *Lease) (settlement.Result, error) {
			return l.Commit(context.Background(), tokens(1), WithMetadata(map[string]any{"c": make(chan int)}))
		},
		"nil option": func(l *Lease) (settlement.Result, error) { return l.Commit(context.Background(), tokens(1), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := steady(60_000)
				m := manage(t, w)
				l := acquire(t, m, 60_000)
				result, err := commit(l)
				if name == "nil option" {
					require.ErrorAs(t, err, new(*client.ConfigError))
				} else {
					require.ErrorAs(t, err, new(*client.RequestError))
				}
				assert.Equal(t, settlement.None, result.Disposition)
				assert.Empty(t, w.sent("commit"))
				time.Sleep(time.Minute)
				assert.NotEmpty(t, w.sent("extend"), "the heartbeat goes on")
				result, err = l.Commit(t.Context(), tokens(1))
				require.NoError(t, err)
				assert.Equal(t, settlement.Committed, result.Disposition)
			})
		})
	}
}

func TestWhatNeverBecameASpendIsNotPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, steady(60_000))
		l := acquire(t, m, 60_000)
		require.NoError(t, l.Release(t.Context(), "not needed"))
		result, err := l.Commit(t.Context(), tokens(1))
		require.ErrorAs(t, err, new(*SettledError))
		assert.Equal(t, settlement.None, result.Disposition, "a commit after a release")

		require.NoError(t, m.Close(t.Context()))
		_, result, err = Run(t.Context(), m, reserve(60_000), func(context.Context, *Lease) (int, Usage, error) { return 0, Usage{}, nil })
		require.ErrorIs(t, err, ErrClosed)
		assert.Equal(t, settlement.None, result.Disposition, "work that never ran")
	})
}

func TestNothingIsReservedForACallThatCannotWork(t *testing.T) {
	w := steady(60_000)
	m := manage(t, w)
	_, result, err := Run[int](t.Context(), m, reserve(60_000), nil)
	require.ErrorAs(t, err, new(*AcquireError))
	require.ErrorAs(t, err, new(*client.ConfigError))
	assert.Equal(t, settlement.None, result.Disposition)
	s, err := m.OpenStream(t.Context(), reserve(60_000), nil)
	require.Nil(t, s)
	require.ErrorAs(t, err, new(*AcquireError))
	require.ErrorAs(t, err, new(*client.ConfigError))
	assert.Empty(t, w.calls)
}

func TestAStreamRefusesANilOptionAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		ctx, end := context.WithCancel(t.Context())
		s := openStream(t, ctx, manage(t, w))
		_, err := s.Commit(ctx, nil)
		require.ErrorAs(t, err, new(*client.ConfigError))
		require.NoError(t, s.Add(5), "the amount is not frozen")
		end()
		synctest.Wait()
		require.Len(t, w.sent("commit"), 1, "the end of the context still commits")
		assert.EqualValues(t, 5, charged(w.sent("commit")[0]))
	})
}

func TestAManagerNeedsAClientThatWasMade(t *testing.T) {
	for name, c := range map[string]*client.Client{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			m, err := NewManager(c)
			require.Nil(t, m)
			require.ErrorAs(t, err, new(*client.ConfigError))
		})
	}
}
