package conformance

import (
	"context"
	"sync"
)

// slots bounds how many checks work at a time. A check gives its slot back
// while it waits for time to pass. Such checks go before the others: at the
// start, so that their waiting overlaps with all the work, and when they wake,
// since what they waited for may soon be over.
type slots struct {
	mu          sync.Mutex
	free        int
	first, rest []chan struct{}
}

func newSlots(n int) *slots { return &slots{free: n} }

// queue takes a place in the line; turn is closed when the slot is there.
func (s *slots) queue(first bool) (turn chan struct{}) {
	turn = make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.free > 0:
		s.free--
		close(turn)
	case first:
		s.first = append(s.first, turn)
	default:
		s.rest = append(s.rest, turn)
	}
	return turn
}

// wait waits for a turn. After an error there is no slot to release.
func (s *slots) wait(ctx context.Context, turn chan struct{}) error {
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.giveUp(turn)
		return ctx.Err()
	}
}

// giveUp leaves the queue, or passes the slot on that came just now.
func (s *slots) giveUp(turn chan struct{}) {
	s.mu.Lock()
	for _, queue := range []*[]chan struct{}{&s.first, &s.rest} {
		for i, c := range *queue {
			if c == turn {
				*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
				s.mu.Unlock()
				return
			}
		}
	}
	s.mu.Unlock()
	s.release()
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&s.first, &s.rest} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = (*queue)[1:]
			return
		}
	}
	s.free++
}
