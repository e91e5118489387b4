package conformance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func virtual(clock *stopped) Target {
	t := acme(&little{})
	t.Clock = clock
	return t
}

func TestVirtualClockMovesToTheEarliestInstantWhenAllWait(t *testing.T) {
	clock := &stopped{at: noon}
	var mu sync.Mutex
	var woke []string
	sleeper := func(name string, naps ...time.Duration) suite.Check {
		return check("a."+name, func(ctx context.Context, t *suite.T) {
			for _, d := range naps {
				until := t.Now().Add(d)
				t.WaitUntil(ctx, until)
				if !t.Now().Equal(until) {
					t.Fail(until.String(), t.Now().String())
				}
				mu.Lock()
				woke = append(woke, name)
				mu.Unlock()
				unknown(ctx, t)
			}
		}, waits)
	}
	rep := judge(t, virtual(clock), Options{Parallel: 1},
		sleeper("slow", time.Hour, time.Hour), sleeper("quick", 5*time.Minute, 10*time.Minute), sleeper("twin", 15*time.Minute))
	assert.Equal(t, 3, rep.Counts.Pass, rep.Results)
	assert.Equal(t, []time.Duration{5 * time.Minute, 10 * time.Minute, 45 * time.Minute, time.Hour}, clock.moves)
	assert.Equal(t, "quick", woke[0])
	assert.ElementsMatch(t, []string{"quick", "twin"}, woke[1:3])
	assert.Equal(t, []string{"slow", "slow"}, woke[3:])
}

func TestChecksThatDoNotWaitAreOverBeforeTheClockMoves(t *testing.T) {
	clock := &stopped{at: noon}
	busy := check("a.busy", func(_ context.Context, t *suite.T) {
		if !t.Now().Equal(noon) {
			t.Fail("noon", t.Now().String())
		}
	})
	checks := []suite.Check{check("a.waits", func(ctx context.Context, t *suite.T) { t.Wait(ctx, time.Hour) }, waits)}
	for i := range 30 {
		busy.ID = "a.busy" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		checks = append(checks, busy)
	}
	rep := judge(t, virtual(clock), Options{}, checks...)
	assert.Equal(t, 31, rep.Counts.Pass)
}

func TestAnInstantThatHasPassedIsNotWaitedFor(t *testing.T) {
	clock := &stopped{at: noon}
	rep := judge(t, virtual(clock), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		t.WaitUntil(ctx, noon.Add(-time.Hour))
		t.WaitUntil(ctx, noon)
	}, waits))
	assert.Equal(t, 1, rep.Counts.Pass)
	assert.Empty(t, clock.moves)
}

func TestClockThatCannotBeMovedIsAnError(t *testing.T) {
	clock := &stopped{at: noon, err: errors.New("stuck")}
	rep := judge(t, virtual(clock), Options{},
		check("a.b", func(ctx context.Context, t *suite.T) { t.Wait(ctx, time.Hour) }, waits),
		check("a.c", func(ctx context.Context, t *suite.T) { t.Wait(ctx, time.Hour) }, waits))
	assert.Equal(t, report.Counts{Error: 2}, rep.Counts)
	assert.Contains(t, rep.Results[0].Reason, "stuck")
}

// lame goes only half the way.
type lame struct{ stopped }

func (c *lame) Advance(ctx context.Context, d time.Duration) error {
	return c.stopped.Advance(ctx, d/2)
}

func TestClockThatStopsShortIsAnError(t *testing.T) {
	tgt := acme(&little{})
	tgt.Clock = &lame{stopped{at: noon}}
	rep := judge(t, tgt, Options{}, check("a.b", func(ctx context.Context, t *suite.T) { t.Wait(ctx, time.Hour) }, waits))
	assert.Contains(t, only(t, rep).Reason, "it was moved to")
}

func TestMemberThatIsCancelledDoesNotHoldTheClock(t *testing.T) {
	clock := &stopped{at: noon}
	v, err := newVirtualTime(t.Context(), clock)
	require.NoError(t, err)
	v.join(2)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		left <- v.wait(ctx, noon.Add(time.Minute))
		v.leave(t.Context())
	}()
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	require.NoError(t, v.wait(t.Context(), noon.Add(time.Hour)))
	assert.Equal(t, []time.Duration{time.Hour}, clock.moves)
}

func TestEventuallyAsksUntilTheTimeIsOver(t *testing.T) {
	clock := &stopped{at: noon}
	asked := 0
	rep := judge(t, virtual(clock), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		if t.Eventually(ctx, 10*time.Second, 4*time.Second, func() bool { asked++; return false }) {
			t.Fail("never", "yes")
		}
		if !t.Eventually(ctx, 10*time.Second, time.Second, func() bool { return t.Now().Sub(noon) >= 11*time.Second }) {
			t.Fail("in time", "never")
		}
	}, waits))
	assert.Equal(t, 1, rep.Counts.Pass, rep.Results)
	assert.Equal(t, 3, asked, "at once, after 4 s and after 8 s")
}
