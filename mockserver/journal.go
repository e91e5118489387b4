package mockserver

import (
	"maps"
	"slices"
	"sync"
)

// journal remembers the last requests in a ring.
type journal struct {
	mu      sync.Mutex
	ring    []Request
	size    int
	seq     uint64
	counts  Counters
	changed chan struct{} // closed by the next add; nil when nobody watches
}

func newJournal(size int) *journal { return &journal{size: size} }

func (j *journal) add(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	r.Seq = j.seq
	j.counts.add(&r)
	switch {
	case j.size <= 0:
	case len(j.ring) < j.size:
		j.ring = append(j.ring, r)
	default:
		j.ring[(j.seq-1)%uint64(j.size)] = r
	}
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// each calls f for the remembered requests from the oldest on.
func (j *journal) each(f func(*Request)) {
	start := 0
	if len(j.ring) == j.size && j.size > 0 {
		start = int(j.seq % uint64(j.size))
	}
	for i := range j.ring {
		f(&j.ring[(start+i)%len(j.ring)])
	}
}

func (j *journal) requests(match []Match) []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.matching(match)
}

func (j *journal) matching(match []Match) []Request {
	var out []Request
	j.each(func(r *Request) {
		if len(match) == 0 || slices.ContainsFunc(match, func(m Match) bool { return m.matches(r) }) {
			out = append(out, *r)
		}
	})
	return out
}

// watch returns what matches now, and a channel that is closed when another
// request comes.
func (j *journal) watch(match []Match) ([]Request, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.matching(match), j.changed
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring, j.seq, j.counts = nil, 0, Counters{}
}

func (j *journal) counters() Counters {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.counts
	out.Requests = make(map[Operation]map[int]int, len(j.counts.Requests))
	for op, n := range j.counts.Requests {
		out.Requests[op] = maps.Clone(n)
	}
	return out
}

func (c *Counters) add(r *Request) {
	if r.Operation != "" {
		if c.Requests == nil {
			c.Requests = make(map[Operation]map[int]int)
		}
		if c.Requests[r.Operation] == nil {
			c.Requests[r.Operation] = make(map[int]int)
		}
		c.Requests[r.Operation][r.Status]++
	}
	if r.Route == "" {
		c.Unmatched++
	}
	if r.Fault != "" {
		c.Faults++
	}
	switch r.Idempotency {
	case VerdictReplay:
		c.Replays++
	case VerdictMismatch:
		c.Mismatches++
	}
}
