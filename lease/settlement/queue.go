package settlement

import "container/heap"

// notQueued is the slot of a settlement that is in no queue.
const notQueued = -1

// dueQueue is a heap of settlements, the next to be due first.
type dueQueue []*Settlement

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].queuedFor.Before(q[j].queuedFor) }

func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}

// Push is for package heap.
func (q *dueQueue) Push(x any) {
	s := x.(*Settlement)
	s.slot = len(*q)
	*q = append(*q, s)
}

// Pop is for package heap.
func (q *dueQueue) Pop() any {
	old := *q
	last := len(old) - 1
	s := old[last]
	old[last] = nil
	s.slot = notQueued
	*q = old[:last]
	return s
}

func (q *dueQueue) add(x *Settlement) {
	if x.slot != notQueued {
		heap.Fix(q, x.slot)
		return
	}
	heap.Push(q, x)
}

func (q *dueQueue) remove(x *Settlement) {
	if x.slot != notQueued {
		heap.Remove(q, x.slot)
	}
}

func (q *dueQueue) takeFirst() *Settlement { return heap.Pop(q).(*Settlement) }
