package lease

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

func TestCloseFromAnObserverTellsOnceThatItsTimeIsOver(t *testing.T) {
	for name, lost := range map[string]int{"nothing pending": 0, "a commit pending": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := scripted(60_000, func(c *wireCall) (*http.Response, bool) { return nil, c.op == "commit" && lost > 0 })
				var m *Manager
				told := make(chan error, 1)
				m = manage(t, w, WithObserver(ObserverFunc(func(e Event) {
					if e.Step == StepFinished {
						short, cancel := context.WithTimeout(context.Background(), time.Second)
						defer cancel()
						told <- m.Close(short)
					}
				})))
				_, err := acquire(t, m, 60_000).Commit(t.Context(), tokens(42))
				assert.Equal(t, lost > 0, err != nil)
				closed := <-told
				require.ErrorIs(t, closed, context.DeadlineExceeded)
				assert.Equal(t, 1, strings.Count(closed.Error(), context.DeadlineExceeded.Error()), closed)
				left, some := errors.AsType[*settlement.LeftError](closed)
				require.Equal(t, lost > 0, some)
				if some {
					assert.Equal(t, lost, left.Lost)
				}
			})
		})
	}
}

func TestCloseStopsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(c *wireCall) (*http.Response, bool) {
			if c.op == "extend" {
				<-c.ctx.Done()
				time.Sleep(time.Second)
				return nil, true
			}
			return nil, false
		})
		m := manage(t, w)
		flying := acquire(t, m, 60_000)
		time.Sleep(45 * time.Second)
		idle := acquireAs(t, m, w, "idle")

		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := m.Close(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		require.NoError(t, m.Close(t.Context()))
		assert.Equal(t, 900*time.Millisecond, time.Since(start), "the extend was waited for")
		require.NoError(t, m.Close(t.Context()), "closing again is fine")
		for _, l := range []*Lease{flying, idle} {
			assert.True(t, isClosed(l.Done()))
			assert.NoError(t, l.Err())
		}
		_, err = m.Keep(handover(m.clock, ptr(int64(60_000))))
		require.ErrorIs(t, err, ErrClosed)
		assert.Zero(t, m.Stats().Active)
	})
}
