package suite

// Ground ends the check without a verdict unless ok: what it builds on, and
// another check judges, is not so. what says what it needs.
func (t *T) Ground(ok bool, what string) {
	if !ok {
		t.stop(verdict{outcome: Errored, got: "no ground for the check: it needs " + what})
	}
}
