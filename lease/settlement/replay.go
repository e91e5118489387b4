package settlement

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// sweepAgain is the first wait after a sweep that left records; it doubles up to
// the ordinary interval.
const sweepAgain = time.Second

// sweeps is how the journal is looked through for records that no settlement
// of this process stands for. Guarded by the settler's mutex.
type sweeps struct {
	active bool
	next   time.Time
	// failures counts the sweeps in a row that left records and settled none.
	failures int
	// begun and done number the sweeps; left is what the last one left.
	begun, done, left int64
	// wanted is the sweep that somebody waits for.
	wanted int64
	// stuck are the keys of records, by file name, that cannot be moved away.
	stuck map[string]string
}

// sweep goes through the journal once and plans the next time.
func (s *Settler) sweep() {
	left, settled := s.replay(s.ctx)
	now := s.clock.Now()
	floor, floored := s.floors.next(now)

	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.sweeps
	p.active = false
	p.done++
	p.left = left
	wait := spread(s.cfg.rescan)
	if left == 0 || settled > 0 {
		p.failures = 0
	}
	if left > 0 {
		p.failures++
		wait = backoff{first: min(sweepAgain, s.cfg.rescan), most: s.cfg.rescan, factor: 2}.after(p.failures)
	}
	p.next = now.Add(wait)
	if floored && floor.Before(p.next) {
		p.next = floor
	}
	if p.done < p.wanted {
		p.next = now
	}
	s.announce()
	s.poke()
}

// replay makes one attempt at each record in the journal that has no settlement
// in this process. It returns how many are left that may be settled yet.
func (s *Settler) replay(ctx context.Context) (left, settled int64) {
	names, err := s.dir.Names()
	if err != nil {
		s.trouble.failed(&JournalError{Err: err})
		return 1, 0
	}
	there := make(map[string]struct{}, len(names))
	for _, name := range names {
		there[name] = struct{}{}
	}
	s.floors.keep(func(name string) bool { _, ok := there[name]; return ok || s.isOwn(name) })

	right, err := s.dir.Sweep()
	if err != nil {
		// Somebody else is at it.
		return int64(len(names)), 0
	}
	defer right.Close()
	var counts struct{ left, settled atomic.Int64 }
	var refused atomic.Bool
	var attempts sync.WaitGroup
	for _, name := range names {
		if s.isOwn(name) {
			continue
		}
		if !take(ctx, s.foundSlots) {
			counts.left.Add(1)
			continue
		}
		right.Touch()
		attempts.Go(func() {
			defer func() { <-s.foundSlots }()
			if refused.Load() {
				counts.left.Add(1)
				return
			}
			switch s.replayOne(ctx, name) {
			case replayedEnded:
				counts.settled.Add(1)
			case replayedRefused:
				refused.Store(true)
				counts.left.Add(1)
			case replayedLeft:
				counts.left.Add(1)
			}
		})
	}
	attempts.Wait()
	return counts.left.Load(), counts.settled.Load()
}

// take waits for a slot; it reports false when ctx ends first.
func take(ctx context.Context, slots chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// replayed is what became of one file of the journal.
type replayed int

const (
	replayedNothing replayed = iota // nothing to be settled here
	replayedEnded
	replayedLeft
	// replayedRefused: left, as all others would be, for the credentials.
	replayedRefused
)

// replayOne makes one attempt at the record in a file.
func (s *Settler) replayOne(ctx context.Context, name string) replayed {
	claim, rec, err := s.dir.Take(name)
	switch {
	case err == nil:
	case errors.Is(err, journal.ErrClaimed):
		return replayedLeft
	case errors.Is(err, journal.ErrGone), errors.Is(err, journal.ErrDuplicate):
		return replayedNothing
	default:
		s.trouble.found(name, &JournalError{Err: err})
		return replayedNothing
	}
	key := keyOf(rec.Body())
	if s.isStuck(claim.Name(), key) {
		claim.Release()
		return replayedNothing
	}
	x := s.settlement(rec)
	x.name, x.recorded = claim.Name(), true
	x.result.IdempotencyKey, x.result.Journaled = key, true
	if actual := actualOf(rec.Body()); actual != nil {
		x.result.Actual = *actual
	}
	x.attempt(ctx, claim)
	claim.Release()
	s.report(x)
	switch {
	case x.ended():
		return replayedEnded
	case x.credentialsRefused():
		return replayedRefused
	}
	return replayedLeft
}

// isOwn reports whether a settlement of this process stands for the file.
func (s *Settler) isOwn(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name] > 0
}

// leaveStuck remembers a record that is done with and cannot be moved away, so
// that this process does not send it again and again.
func (s *Settler) leaveStuck(name, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweeps.stuck == nil {
		s.sweeps.stuck = map[string]string{}
	}
	s.sweeps.stuck[name] = key
}

func (s *Settler) isStuck(name, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stuck, ok := s.sweeps.stuck[name]
	return ok && stuck == key
}
