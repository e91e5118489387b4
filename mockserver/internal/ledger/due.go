package ledger

// due is an ACTIVE reservation's place in the order of expiry. The deadline may
// be out of date: an extend moves the reservation's own and leaves this one.
type due struct {
	deadline    int64
	reservation *Reservation
}

// dueHeap is a binary heap with the earliest deadline on top. It is written out
// because container/heap costs an allocation for every push.
type dueHeap []due

func (h *dueHeap) push(d due) {
	s := append(*h, d)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if s[parent].deadline <= d.deadline {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = d
	*h = s
}

func (h *dueHeap) pop() due {
	s := *h
	top, last := s[0], s[len(s)-1]
	s[len(s)-1] = due{}
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].deadline < s[child].deadline {
			child++
		}
		if last.deadline <= s[child].deadline {
			break
		}
		s[i] = s[child]
		i = child
	}
	s[i] = last
	return top
}
