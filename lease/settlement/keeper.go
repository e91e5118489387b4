package settlement

import (
	"container/heap"
	"time"
)

// lastWait is the wait between attempts while Close waits: there is no time for
// more.
const lastWait = time.Second

// hold keeps the background from a settlement while it is tried. It comes before
// the record is written, so that no sweep takes the record for somebody else's.
func (s *Settler) hold(x *Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(x)
	if _, known := s.pending[x]; !known {
		s.pending[x] = struct{}{}
		s.names[x.name]++
	}
}

// follow takes note of what an attempt led to: what is pending is tried again
// when it is due. The caller has the settlement's turn, and has held it.
func (s *Settler) follow(x *Settlement) {
	ended, due := x.ended(), x.dueAt()
	if ended {
		s.floors.forget(x.name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended {
		delete(s.pending, x)
		if s.names[x.name]--; s.names[x.name] == 0 {
			delete(s.names, x.name)
		}
	} else {
		if soon := s.clock.Now().Add(spread(lastWait)); s.closing && soon.Before(due) {
			due = soon
		}
		x.queuedFor = due
		s.queue.add(x)
		s.start()
	}
	s.announce()
	s.poke()
}

// announce wakes those who wait for something to end. Called with the mutex
// held.
func (s *Settler) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// poke makes the keeper look again.
func (s *Settler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// start runs the keeper when there is anything to do. Called with the mutex
// held.
func (s *Settler) start() {
	if s.keeping || !s.busy() {
		return
	}
	s.keeping = true
	s.running.Go(s.keep)
}

// busy reports whether the keeper has anything to do, now or later. Called with
// the mutex held.
func (s *Settler) busy() bool {
	return !s.closed && (!s.cfg.idle || s.flushing > 0) && (s.dir != nil || len(s.pending) > 0)
}

// keep starts attempts and sweeps when they are due. One goroutine does so, and
// there is none while there is nothing to wait for.
func (s *Settler) keep() {
	for {
		s.mu.Lock()
		if !s.busy() {
			s.keeping = false
			s.mu.Unlock()
			return
		}
		wait, timed := s.launch(s.clock.Now())
		s.mu.Unlock()
		s.pause(wait, timed)
	}
}

// pause waits to be woken, by the clock or by somebody.
func (s *Settler) pause(wait time.Duration, timed bool) {
	var due <-chan time.Time
	if timed {
		timer := s.clock.Timer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-s.wake:
	case <-s.ctx.Done():
	}
}

// launch starts what is due, and says how long it is until something else is.
// Called with the mutex held.
func (s *Settler) launch(now time.Time) (wait time.Duration, timed bool) {
	until := func(at time.Time) {
		if d := at.Sub(now); !timed || d < wait {
			wait, timed = d, true
		}
	}
	free := true
	for free && len(s.queue) > 0 && !s.queue[0].queuedFor.After(now) {
		select {
		case s.ownSlots <- struct{}{}:
			x := s.queue.takeFirst()
			s.running.Go(func() { s.retry(x) })
		default:
			free = false // the next to be done wakes the keeper
		}
	}
	if free && len(s.queue) > 0 {
		until(s.queue[0].queuedFor)
	}
	if s.dir != nil && !s.sweeps.active {
		if s.sweeps.next.After(now) {
			until(s.sweeps.next)
		} else {
			s.sweeps.active = true
			s.sweeps.begun++
			s.running.Go(s.sweep)
		}
	}
	return wait, timed
}

// retry makes one attempt in the background.
func (s *Settler) retry(x *Settlement) {
	x.turn <- struct{}{}
	tried := !x.ended() && s.ctx.Err() == nil
	if tried {
		s.hold(x)
		x.advance(s.ctx)
		s.follow(x)
	}
	<-x.turn
	<-s.ownSlots
	s.poke()
	if tried {
		s.report(x)
	}
}

// report tells the owner of the settler how a settlement ended in the
// background.
func (s *Settler) report(x *Settlement) {
	if result := x.Result(); result.Disposition != Pending && s.cfg.notify != nil {
		s.cfg.notify(result)
	}
}

// hurry makes everything due now. A server's wish not to be called yet still
// holds. Called with the mutex held.
func (s *Settler) hurry(now time.Time) {
	for _, x := range s.queue {
		if x.queuedFor.After(now) {
			x.queuedFor = now
		}
	}
	heap.Init(&s.queue)
	s.sweeps.next = now
	s.sweeps.failures = 0
	s.poke()
}
