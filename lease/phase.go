package lease

// phase is where a lease's heartbeat is.
type phase uint8

const (
	// phaseScheduled: the next extend is planned for beatAt.
	phaseScheduled phase = iota
	// phaseWaiting: it is due, and waits for a slot.
	phaseWaiting
	// phaseFlying: it is under way.
	phaseFlying
	// phaseStopped: the heartbeat ended by itself. The reservation lives on until
	// it is settled or its time is over.
	phaseStopped
	// phaseFinished: the owner ended it.
	phaseFinished
)

// beating reports whether further extends are to be expected.
func (l *Lease) beating() bool { return l.phase < phaseStopped }

// busy reports whether an extend is under way or due, so that the reservation
// may yet be renewed although its proved lead is used up.
func (l *Lease) busy() bool { return l.phase == phaseWaiting || l.phase == phaseFlying }
