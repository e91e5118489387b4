package lease

import "time"

// unknownBudget says that nobody told how many extensions the server grants.
const unknownBudget = -1

// Forecast says how far the extension budget reaches.
type Forecast struct {
	// ExtensionsLeft is the budget of WithExtensionBudget less the extensions
	// that were proved.
	ExtensionsLeft int
	// Lasts is for how long they will keep the reservation alive from now, at the
	// present pace, what it has left included. It is an estimate on the low side.
	Lasts time.Duration
}

// Forecast tells when the extension budget runs out. It is false unless
// WithExtensionBudget named one.
func (l *Lease) Forecast() (Forecast, bool) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.forecast(l.m.now())
}

func (l *Lease) forecast(now reading) (Forecast, bool) {
	budget := l.m.cfg.extensionBudget
	if budget == unknownBudget {
		return Forecast{}, false
	}
	f := Forecast{ExtensionsLeft: max(0, budget-l.extensions), Lasts: max(0, l.lifeLeft(now))}
	if f.ExtensionsLeft > 0 {
		// In a steady state each extension adds what passes until the next one, on
		// an additive server as under a maximum lead.
		f.Lasts = plus(f.Lasts, times(l.interval, time.Duration(f.ExtensionsLeft)))
	}
	return f, true
}
