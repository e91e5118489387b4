package mockserver

import (
	"strconv"
	"sync"
)

// snapshots are those taken over HTTP, by id.
type snapshots struct {
	mu  sync.Mutex
	seq int
	all map[string]*Snapshot
}

func (s *snapshots) add(snap *Snapshot) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	id := "snapshot-" + strconv.Itoa(s.seq)
	if s.all == nil {
		s.all = make(map[string]*Snapshot)
	}
	s.all[id] = snap
	return id
}

func (s *snapshots) get(id string) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

func (s *snapshots) drop(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.all[id]
	delete(s.all, id)
	return ok
}

func (s *snapshots) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}
