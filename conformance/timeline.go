package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// timeline is the time that checks live in.
type timeline interface {
	now() time.Time
	// wait returns when until is reached, or with an error.
	wait(ctx context.Context, until time.Time) error
}

// realTime is the machine's own.
type realTime struct{}

func (realTime) now() time.Time { return time.Now() }

func (realTime) wait(ctx context.Context, until time.Time) error {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// virtualTime moves the clock of the target. The members of the group work
// between two instants, and only when all that still run wait does the clock
// move, to the earliest instant that one of them waits for: so nothing happens
// while the time changes, and each member wakes at exactly the time it asked
// for.
type virtualTime struct {
	clock target.Clock

	mu      sync.Mutex
	at      time.Time
	members int
	waiting []*sleeper
}

type sleeper struct {
	until time.Time
	woken chan error
}

func newVirtualTime(ctx context.Context, clock target.Clock) (*virtualTime, error) {
	at, err := clock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("the virtual clock cannot be read: %w", err)
	}
	return &virtualTime{clock: clock, at: at}, nil
}

func (v *virtualTime) now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at
}

// join adds n members. All of a group join before the first of them starts,
// else the clock could move while some have not begun.
func (v *virtualTime) join(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.members += n
}

// leave takes a member out that has ended.
func (v *virtualTime) leave(ctx context.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.members--
	v.moveIfAllWait(ctx)
}

func (v *virtualTime) wait(ctx context.Context, until time.Time) error {
	s := &sleeper{until: until, woken: make(chan error, 1)}
	v.mu.Lock()
	if !until.After(v.at) {
		v.mu.Unlock()
		return nil
	}
	v.waiting = append(v.waiting, s)
	v.moveIfAllWait(ctx)
	v.mu.Unlock()
	select {
	case err := <-s.woken:
		return err
	case <-ctx.Done():
		v.mu.Lock()
		defer v.mu.Unlock()
		v.forget(s)
		return context.Cause(ctx)
	}
}

func (v *virtualTime) forget(s *sleeper) {
	for i, other := range v.waiting {
		if other == s {
			v.waiting = append(v.waiting[:i:i], v.waiting[i+1:]...)
			return
		}
	}
}

// moveIfAllWait holds the lock while the clock moves: there is nobody who could
// do anything else meanwhile.
func (v *virtualTime) moveIfAllWait(ctx context.Context) {
	if len(v.waiting) == 0 || len(v.waiting) < v.members {
		return
	}
	earliest := v.waiting[0].until
	for _, s := range v.waiting {
		if s.until.Before(earliest) {
			earliest = s.until
		}
	}
	if err := v.move(ctx, earliest); err != nil {
		for _, s := range v.waiting {
			s.woken <- fmt.Errorf("the virtual clock did not move: %w", err)
		}
		v.waiting = nil
		return
	}
	var still []*sleeper
	for _, s := range v.waiting {
		if s.until.After(v.at) {
			still = append(still, s)
		} else {
			s.woken <- nil
		}
	}
	v.waiting = still
}

func (v *virtualTime) move(ctx context.Context, to time.Time) error {
	// The member whose wait moves the clock may be cancelled; the others are not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultRequestTimeout)
	defer cancel()
	if err := v.clock.Advance(ctx, to.Sub(v.at)); err != nil {
		return err
	}
	at, err := v.clock.Now(ctx)
	if err != nil {
		return err
	}
	if at.Before(to) {
		return fmt.Errorf("it was moved to %s and says %s", to.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	}
	v.at = at
	return nil
}
