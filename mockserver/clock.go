package mockserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// clock is the server's only source of time: real, or virtual and moved by
// command.
type clock struct {
	real func() time.Time // nil when virtual

	mu      sync.Mutex
	at      time.Time
	waiters []waiter // by due time
}

type waiter struct {
	due  time.Time
	done chan time.Time // closed when due
}

// lastInstant bounds virtual time, so that no sum of times overflows.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

var (
	errRealClock = errors.New("mockserver: the server runs on real time; it moves only under WithVirtualTime")
	errClockBack = errors.New("mockserver: virtual time does not move backwards")
	errClockEnd  = errors.New("mockserver: virtual time ends with the year 9999")
)

func newClock(c *config) *clock {
	if c.virtual {
		return &clock{at: c.start}
	}
	return &clock{real: c.now}
}

func (c *clock) now() time.Time {
	if c.real != nil {
		return c.real()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// advance moves virtual time to target, stopping at each waiter that is due on
// the way, the earliest first. reached is called for every instant the time
// stands at, the last one included, before the waiters of that instant wake.
func (c *clock) advance(target time.Time, reached func(time.Time)) error {
	switch {
	case c.real != nil:
		return errRealClock
	case target.Before(c.now()):
		return errClockBack
	case target.After(lastInstant):
		return errClockEnd
	}
	for {
		next, done := c.step(target)
		reached(next)
		for _, w := range done {
			close(w.done)
		}
		if next.Equal(target) {
			return nil
		}
	}
}

// step moves to the next waiter's due time, at most to target, and takes the
// waiters due by then.
func (c *clock) step(target time.Time) (time.Time, []waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := target
	if len(c.waiters) > 0 && c.waiters[0].due.Before(target) {
		next = c.waiters[0].due
	}
	if next.After(c.at) {
		c.at = next
	}
	n := 0
	for n < len(c.waiters) && !c.waiters[n].due.After(next) {
		n++
	}
	done := slices.Clone(c.waiters[:n])
	c.waiters = slices.Delete(c.waiters, 0, n)
	return next, done
}

// set puts virtual time at t, in either direction: Reset and Restore go back.
func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// sleep waits for d of the server's time, or until stop is closed or ctx ends.
func (c *clock) sleep(ctx context.Context, stop <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	var done <-chan time.Time
	if c.real == nil {
		done = c.after(d)
	} else {
		t := time.NewTimer(d)
		defer t.Stop()
		done = t.C
	}
	select {
	case <-done:
		return nil
	case <-stop:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{due: c.at.Add(d), done: make(chan time.Time)}
	i, _ := slices.BinarySearchFunc(c.waiters, w.due, func(w waiter, due time.Time) int {
		if w.due.After(due) {
			return 1
		}
		return -1
	})
	c.waiters = slices.Insert(c.waiters, i, w)
	return w.done
}

// waiting is how many sleep in virtual time.
func (c *clock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiters)
}
