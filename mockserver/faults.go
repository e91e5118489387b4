package mockserver

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// faults are the armed faults of a server.
type faults struct {
	mu     sync.Mutex
	seq    int
	armed  []*armedFault
	delays atomic.Int32 // how many of the armed ones delay
	any    atomic.Bool
}

type armedFault struct {
	Fault
	id   string
	seen int // calls that it selected
}

// mayDelay reports whether the next request may have to wait.
func (f *faults) mayDelay() bool { return f.delays.Load() > 0 }

func (f *faults) inject(fault Fault) (string, error) {
	if err := fault.complete(); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	a := &armedFault{Fault: fault, id: "fault-" + strconv.Itoa(f.seq)}
	f.armed = append(f.armed, a)
	f.count()
	return a.id, nil
}

func (f *faults) withdraw(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.armed)
	f.armed = slices.DeleteFunc(f.armed, func(a *armedFault) bool { return a.id == id })
	f.count()
	return len(f.armed) < before
}

func (f *faults) count() {
	n := int32(0)
	for _, a := range f.armed {
		if a.Delay > 0 {
			n++
		}
	}
	f.delays.Store(n)
	f.any.Store(len(f.armed) > 0)
}

// take returns the fault that acts on a call, or nil, and its id.
func (f *faults) take(op Operation, reservation string) (*Fault, string) {
	if !f.any.Load() {
		return nil, ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var acts *armedFault
	for _, a := range f.armed {
		if a.Operation != "" && a.Operation != op || a.ReservationID != "" && a.ReservationID != reservation {
			continue
		}
		a.seen++
		if acts == nil && a.seen >= a.Nth {
			acts = a
		}
	}
	f.armed = slices.DeleteFunc(f.armed, func(a *armedFault) bool {
		return a.Count > 0 && a.seen >= a.Nth+a.Count-1
	})
	f.count()
	if acts == nil {
		return nil, ""
	}
	return &acts.Fault, acts.id
}

// snapshot copies what is armed.
func (f *faults) snapshot() []armedFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]armedFault, len(f.armed))
	for i, a := range f.armed {
		out[i] = *a
	}
	return out
}

// restore arms these and nothing else.
func (f *faults) restore(armed []armedFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = nil
	for _, a := range armed {
		f.armed = append(f.armed, &a)
	}
	f.count()
}

var operations = []Operation{
	Decide, CreateReservation, ListReservations, GetReservation, CommitReservation, ReleaseReservation,
	ExtendReservation, GetEvidence, GetEvidenceJWKS, GetBalances, CreateEvent,
}

// complete fills in what was left out and refuses what cannot act.
func (f *Fault) complete() error {
	if f.Kind == "" {
		switch {
		case f.Body != "" && f.Status == 0:
			f.Kind = FaultBody
		case f.Status != 0:
			f.Kind = FaultStatus
		case f.Delay > 0:
			f.Kind = FaultDelay
		}
	}
	f.Nth = max(f.Nth, 1)
	if f.Count == 0 {
		f.Count = 1
	}
	if f.Operation != "" && !slices.Contains(operations, f.Operation) {
		return fmt.Errorf("mockserver: fault: there is no operation %q", f.Operation)
	}
	switch f.Kind {
	case FaultStatus:
		if f.Status < 200 || f.Status > 599 {
			return fmt.Errorf("mockserver: fault: a status of 200 to 599 is needed, not %d", f.Status)
		}
	case FaultReset, FaultResponseLost:
	case FaultDelay:
		if f.Delay <= 0 {
			return fmt.Errorf("mockserver: fault: a delay above 0 is needed")
		}
	case FaultBody:
		if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
			return fmt.Errorf("mockserver: fault: a status of 200 to 599 is needed, not %d", f.Status)
		}
	case FaultTruncate:
		if f.Bytes < 0 {
			return fmt.Errorf("mockserver: fault: bytes has to be at least 0")
		}
	default:
		return fmt.Errorf("mockserver: fault: there is no kind %q", f.Kind)
	}
	if f.Delay < 0 {
		return fmt.Errorf("mockserver: fault: a delay cannot be negative")
	}
	return nil
}
