package lease

import (
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
)

const (
	// clockCheckInterval bounds how long a suspend or a step of the wall clock
	// can go unnoticed: while a machine sleeps, its monotonic clock and with it
	// every timer stand still.
	clockCheckInterval = 5 * time.Second
	// sweepStep is by how much the clocks have to part since the last look at all
	// leases before the next one is worth it.
	sweepStep = clockTolerance / 10
	// armSlack is how far the clock may move while a timer is being armed. A
	// clock moved by hand in that moment would otherwise leave the timer late.
	armSlack = time.Millisecond
	// timerSlack is how late the timers of a busy process may fire, the beat's and
	// its attempt's together. It is taken off the delays of a real clock; a virtual
	// one, which has no monotonic reading, is exact.
	timerSlack = 100 * time.Millisecond
)

// reading is one look at the clock, taken apart into its two opinions.
type reading struct {
	at         time.Time
	mono, wall time.Duration
}

// drift grows when the wall clock runs ahead of the monotonic one: when the
// machine was suspended, or somebody set the time.
func (r reading) drift() time.Duration { return r.wall - r.mono }

// clockSeam splits an instant of the clock into offsets from the manager's
// origin, by its monotonic and by its wall reading. It is the one place where
// tests make the two disagree.
type clockSeam func(time.Time) (mono, wall time.Duration)

func splitFrom(origin time.Time) clockSeam {
	wallOrigin := origin.Round(0)
	return func(t time.Time) (mono, wall time.Duration) {
		return t.Sub(origin), t.Round(0).Sub(wallOrigin)
	}
}

func (m *Manager) read(t time.Time) reading {
	mono, wall := m.split(t)
	return reading{at: t, mono: mono, wall: wall}
}

func (m *Manager) now() reading { return m.read(m.clock.Now()) }

// timing is when an answer's own attempt was sent and received. It is false when
// that is not known: nothing was recorded, the instants lost their monotonic
// reading on the way, they are out of order, or the clocks parted in between.
// Unknown must not pass for zero, so both are now then.
func (m *Manager) timing(meta client.Meta, now reading) (sent, received reading, ok bool) {
	known := !meta.Sent.IsZero() && !meta.Received.IsZero() &&
		monotonic(meta.Sent) == monotonic(now.at) && monotonic(meta.Received) == monotonic(now.at)
	if !known || m.suspect {
		return now, now, false
	}
	sent, received = m.read(meta.Sent), m.read(meta.Received)
	if sent.mono > received.mono || received.mono > now.mono {
		return now, now, false
	}
	return sent, received, (received.drift() - sent.drift()).Abs() <= clockTolerance
}

// monotonic reports whether an instant carries a monotonic reading. Under a
// virtual clock none does.
func monotonic(t time.Time) bool { return t != t.Round(0) }

// compareClocks looks for time that passed unseen or went back. It costs nothing
// while the clocks agree with what they said before.
func (m *Manager) compareClocks(now reading) {
	wentBack := now.mono < m.seen
	m.seen = now.mono
	if !wentBack && (now.drift()-m.sweptDrift).Abs() <= sweepStep {
		return
	}
	m.sweptDrift = now.drift()
	m.sweep(now, wentBack)
}

// compareTimer holds the clock against a timer that has fired. When the clock
// stands still, no round trip it measures is worth anything. One that went back
// is another matter, see compareClocks.
func (m *Manager) compareTimer(now reading) {
	if short := minus(m.armed, now.mono); short > 0 && now.mono >= m.seen {
		m.stalled = plus(m.stalled, short)
	} else {
		m.stalled = 0
	}
	if m.suspect = m.stalled > timerSlack; m.suspect {
		m.sweep(now, true)
	}
}

// sweep judges all leases by the present clocks; with distrustAll, those too
// whose own clocks still agree.
func (m *Manager) sweep(now reading, distrustAll bool) {
	for _, l := range slices.Clone(m.timeline.leases) {
		if distrustAll || l.distrusted(now) {
			m.trouble(l, now)
		}
		m.place(l, now) // what is left of its lead may have changed
	}
}

// trouble tells a lease's schedule that its timing is void.
func (m *Manager) trouble(l *Lease, now reading) {
	if l.troubled || !l.beating() {
		return
	}
	l.troubled = true
	if m.observed() {
		e := l.event(StepWarning, now)
		e.Warning = WarnClock
		m.post(e)
	}
	m.follow(l, l.schedule.clockTrouble(now.mono), now.mono, now)
}

// gap is how far the wall clock ran ahead since the last proved success.
func (l *Lease) gap(now reading) time.Duration { return max(0, now.drift()-l.drift) }

// distrusted reports whether the clocks parted, either way, by more than the
// tolerance since the last proved success.
func (l *Lease) distrusted(now reading) bool {
	return (now.drift() - l.drift).Abs() > clockTolerance
}
