package lease

import "container/heap"

// leaseHeap orders leases and knows where each one stands, so that a lease can
// be moved or taken out.
type leaseHeap struct {
	leases []*Lease
	before func(a, b *Lease) bool
	// slot is the lease's own note of its index plus one; 0 when it is not here.
	slot func(*Lease) *int
}

// newTimeline orders by the instant at which a lease has to be looked at.
func newTimeline() leaseHeap {
	return leaseHeap{
		before: func(a, b *Lease) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq },
		slot:   func(l *Lease) *int { return &l.timelineSlot },
	}
}

// newQueue orders by the instant at which the lease expires.
func newQueue() leaseHeap {
	return leaseHeap{
		before: func(a, b *Lease) bool { return a.expiry < b.expiry || a.expiry == b.expiry && a.seq < b.seq },
		slot:   func(l *Lease) *int { return &l.queueSlot },
	}
}

// first is the first lease in order, nil when there is none.
func (h *leaseHeap) first() *Lease {
	if len(h.leases) == 0 {
		return nil
	}
	return h.leases[0]
}

// put adds a lease, or moves it to where it belongs now.
func (h *leaseHeap) put(l *Lease) {
	if at := *h.slot(l); at > 0 {
		heap.Fix(h, at-1)
		return
	}
	heap.Push(h, l)
}

// take removes a lease if it is here.
func (h *leaseHeap) take(l *Lease) {
	if at := *h.slot(l); at > 0 {
		heap.Remove(h, at-1)
	}
}

// Len, Less, Swap, Push and Pop are for package heap.

func (h *leaseHeap) Len() int           { return len(h.leases) }
func (h *leaseHeap) Less(i, j int) bool { return h.before(h.leases[i], h.leases[j]) }

func (h *leaseHeap) Swap(i, j int) {
	h.leases[i], h.leases[j] = h.leases[j], h.leases[i]
	*h.slot(h.leases[i]), *h.slot(h.leases[j]) = i+1, j+1
}

func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	h.leases = append(h.leases, l)
	*h.slot(l) = len(h.leases)
}

func (h *leaseHeap) Pop() any {
	last := len(h.leases) - 1
	l := h.leases[last]
	h.leases[last] = nil
	h.leases = h.leases[:last]
	*h.slot(l) = 0
	return l
}
