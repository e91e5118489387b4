package mockserver

import (
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// Snapshot is the state of a server at one moment: tenants, keys, budgets,
// reservations, remembered answers, armed faults and, in virtual time, the
// time. The journal of requests is no part of it.
type Snapshot struct {
	of     *Server
	ledger *ledger.Ledger
	faults []armedFault
	at     time.Time
}

// Snapshot keeps the state for Restore. No request is half done in it.
func (s *Server) Snapshot() *Snapshot {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Snapshot{of: s, ledger: s.ledger.Clone(), faults: s.faults.snapshot(), at: s.clock.now()}
}

// Restore goes back to a snapshot of this server, any number of times. Virtual
// time goes back too; real time does not, so what has become due meanwhile is
// expired. It panics when snap is nil or of another server, whose ids and clock
// have nothing to do with this one's: that is a mistake in the test.
func (s *Server) Restore(snap *Snapshot) {
	switch {
	case snap == nil:
		panic("mockserver: there is no snapshot to restore, it is nil")
	case snap.of != s:
		panic("mockserver: the snapshot to restore is of another server")
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(snap.ledger.Clone(), snap.at)
	s.faults.restore(snap.faults)
}

// replace puts another ledger in place, whose ids go on from the old one's.
func (s *Server) replace(l *ledger.Ledger, at time.Time) {
	l.Continue(s.ledger)
	s.ledger = l
	if s.clock.real == nil {
		s.clock.set(at)
	}
}

// Reset goes back to how the server started: the tenants, budgets and faults of
// its options, an empty journal, and virtual time at its start.
func (s *Server) Reset() {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.cfg.start
	if s.clock.real != nil {
		at = s.clock.now()
	}
	l, err := s.fresh(at.UnixMilli())
	if err != nil {
		panic(err) // the same options were good when the server started
	}
	s.replace(l, at)
	s.faults.restore(nil)
	for _, f := range s.cfg.faults {
		_, _ = s.faults.inject(f) // checked when the server started
	}
	s.journal.clear()
}

// Seed adds what a configuration describes, all of it or nothing: its tenants
// with their budgets and policies, and its faults. Other settings of the
// configuration (the clock, the admin key) are those of a start and are refused.
func (s *Server) Seed(yaml []byte) error {
	doc, err := parseSeed(yaml)
	if err != nil {
		return err
	}
	return s.seed(doc)
}

func (s *Server) seed(doc *seedDoc) error {
	var c contents
	c.add(doc)
	return s.add(&c)
}

// add puts contents into the running server, all of them or nothing.
func (s *Server) add(c *contents) error {
	for _, f := range c.faults {
		if err := f.complete(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Filled apart, so that a mistake half-way leaves nothing behind.
	l := s.ledger.Clone()
	if err := c.fill(l, s.nowMs()); err != nil {
		return err
	}
	s.ledger = l
	for _, f := range c.faults {
		_, _ = s.faults.inject(f) // checked above
	}
	return nil
}

// Counters count what a server did since it started, or since Reset.
type Counters struct {
	// Requests by operation and answered status; status 0 counts connections
	// that were reset.
	Requests map[Operation]map[int]int
	// Unmatched are the requests that are no route of this server.
	Unmatched int
	// Replays and Mismatches are verdicts of the idempotency rule.
	Replays, Mismatches int
	// Faults are the requests that a fault acted on.
	Faults int
	// What the ledger holds now.
	Tenants, Budgets, Events int
	Reservations             map[gen.ReservationStatus]int
}

// Counters returns the current counts.
func (s *Server) Counters() Counters {
	s.mu.Lock()
	held := s.ledger.Counts(s.nowMs())
	s.mu.Unlock()
	out := s.journal.counters()
	out.Tenants, out.Budgets, out.Events, out.Reservations = held.Tenants, held.Budgets, held.Events, held.Reservations
	return out
}
