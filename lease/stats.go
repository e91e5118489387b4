package lease

import (
	"maps"
	"time"
)

// Stats is what a manager has done so far, and what it has on its hands now.
type Stats struct {
	// Active counts the leases whose heartbeat runs; Due those of them whose beat
	// is due and waits for a slot; InFlight the extends under way.
	Active, Due, InFlight int
	// Kept counts the leases ever taken over.
	Kept uint64
	// Attempts counts the extends sent; Succeeded and Failed how they ended, those
	// of leases that were finished meanwhile in neither.
	Attempts, Succeeded, Failed uint64
	// QueueWait is how long beats waited for a slot. Lateness is how long after
	// its due instant a beat left, the wait included.
	QueueWait, Lateness Spread
	// Unproven counts how often a proved lead was used up while an extend was
	// under way or due. Lost counts the leases lost.
	Unproven, Lost uint64
	// Stops counts the heartbeats that ended by themselves, by reason.
	Stops map[StopReason]uint64
	// EventsDropped counts the events that observers were too slow to take.
	EventsDropped uint64
}

// Spread sums up durations.
type Spread struct {
	Count      uint64
	Total, Max time.Duration
}

// Mean is the average, 0 when there is nothing to average.
func (s Spread) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Total / time.Duration(s.Count)
}

func (s *Spread) add(d time.Duration) {
	s.Count++
	s.Total = plus(s.Total, d)
	s.Max = max(s.Max, d)
}

type counts struct {
	active                            int
	kept, attempts, succeeded, failed uint64
	unproven, lost                    uint64
	queueWait, lateness               Spread
	stops                             map[StopReason]uint64
}

func (c *counts) launch(wait, lateness time.Duration) {
	c.attempts++
	c.queueWait.add(wait)
	c.lateness.add(lateness)
}

// Stats is a snapshot.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &m.counts
	return Stats{
		Active: c.active, Due: m.ready.Len(), InFlight: m.inFlight,
		Kept: c.kept, Attempts: c.attempts, Succeeded: c.succeeded, Failed: c.failed,
		QueueWait: c.queueWait, Lateness: c.lateness,
		Unproven: c.unproven, Lost: c.lost,
		Stops: maps.Clone(c.stops), EventsDropped: m.outbox.dropped,
	}
}
