package ledger

import (
	"maps"
	"slices"
)

// Clone returns a ledger that is equal and shares nothing that can change.
func (l *Ledger) Clone() *Ledger {
	out := New(l.salt)
	out.now, out.seq = l.now, l.seq
	for secret, k := range l.keys {
		copied := *k
		out.keys[secret] = &copied
	}
	c := copier{
		budgets:      make(map[*Budget]*Budget),
		reservations: make(map[*Reservation]*Reservation, len(l.reservations)),
	}
	for id, a := range l.accounts {
		out.accounts[id] = c.account(a)
	}
	for id, r := range l.reservations {
		out.reservations[id] = c.reservations[r]
	}
	out.due = slices.Clone(l.due)
	for i := range out.due {
		out.due[i].reservation = c.reservations[l.due[i].reservation]
	}
	return out
}

// Continue makes the ids of l go on where those of other ended, so that no id
// comes twice in the life of a server.
func (l *Ledger) Continue(other *Ledger) {
	l.salt = other.salt
	l.seq = max(l.seq, other.seq)
}

// copier maps what was to what is.
type copier struct {
	budgets      map[*Budget]*Budget
	reservations map[*Reservation]*Reservation
}

func (c *copier) account(a *account) *account {
	out := newAccount(a.Tenant)
	out.policies = slices.Clone(a.policies) // never changed once added
	for _, b := range a.budgets {
		copied := *b
		c.budgets[b] = &copied
		out.budgets = append(out.budgets, &copied)
		out.byKey[budgetKey{b.Scope, b.Unit}] = &copied
	}
	out.reservations = make([]*Reservation, len(a.reservations))
	for i, r := range a.reservations {
		copied := *r
		copied.account = out
		copied.extended = maps.Clone(r.extended)
		copied.holds = slices.Clone(r.holds)
		for j := range copied.holds {
			copied.holds[j].budget = c.budgets[r.holds[j].budget]
		}
		c.reservations[r] = &copied
		out.reservations[i] = &copied
	}
	for key, rec := range a.answers {
		if r, ok := rec.answer.(*Reservation); ok {
			rec.answer = c.reservations[r]
		}
		out.answers[key] = rec
	}
	return out
}
