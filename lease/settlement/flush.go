package settlement

import (
	"context"
	"time"
)

// Flush tries everything that is pending now, in this process and in the
// journal, and again with the usual waits, until nothing is left or ctx ends. A
// server's wish not to be called yet still holds. When spends are left the error
// is a *LeftError, or that of ctx when it ended before they were counted; their
// records stay as they are.
func (s *Settler) Flush(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		defer s.mu.Unlock()
		return s.leftover(s.sweeps.left, nil)
	}
	s.flushing++
	s.hurry(s.clock.Now())
	// A sweep that is under way may already have passed what is to be settled.
	sweep := s.sweeps.begun + 1
	s.sweeps.wanted = sweep
	s.start()
	clean := func() bool {
		return len(s.pending) == 0 && (s.dir == nil || s.sweeps.done >= sweep && s.sweeps.left == 0)
	}
	err := s.leftover(s.sweeps.left, s.wait(ctx, nil, clean))
	s.flushing--
	s.mu.Unlock()
	s.poke()
	return err
}

// Close tries the pending spends of this process once a second until they are
// settled, the flush timeout is over or ctx ends; it then cancels what is under way and
// waits for it to return. When spends are left the error is a *LeftError: those
// with a journal are settled by the next process. A closed settler settles no
// more by itself; Settle still works.
func (s *Settler) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed && len(s.pending) > 0 && s.cfg.flushTimeout > 0 {
		s.flushing++
		s.closing = true
		s.hurry(s.clock.Now())
		s.start()
		timer := s.clock.Timer(s.cfg.flushTimeout)
		// What is left is told below.
		_ = s.wait(ctx, timer.C, func() bool { return len(s.pending) == 0 })
		timer.Stop()
		s.flushing--
	}
	s.closed = true
	s.announce()
	s.mu.Unlock()
	s.cancel()

	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leftover(0, err)
}

// wait returns when done holds or the settler is closed, or when the time or
// ctx ends before, and then with ctx's error. Called with the mutex held, which
// it gives up while it waits.
func (s *Settler) wait(ctx context.Context, timeout <-chan time.Time, done func() bool) error {
	for !done() && !s.closed {
		changed := s.changed
		s.mu.Unlock()
		var err error
		over := false
		select {
		case <-changed:
		case <-timeout:
			over = true
		case <-ctx.Done():
			over, err = true, context.Cause(ctx)
		}
		s.mu.Lock()
		if over {
			return err
		}
	}
	return nil
}

// leftover is the *LeftError that tells how much is pending, found of it in the
// journal alone; when nothing is, it is err. Called with the mutex held.
func (s *Settler) leftover(found int64, err error) error {
	left := &LeftError{Err: err, Kept: int(found)}
	for x := range s.pending {
		if x.Result().Journaled {
			left.Kept++
		} else {
			left.Lost++
		}
	}
	if left.Kept+left.Lost == 0 {
		return err
	}
	return left
}
