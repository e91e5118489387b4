package ledger

import (
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Ledger is the whole state.
type Ledger struct {
	now          int64 // of the last step; never goes back
	seq          uint64
	salt         uint32
	accounts     map[string]*account
	keys         map[string]*Key
	reservations map[string]*Reservation
	due          dueHeap
}

// New returns an empty ledger. salt makes its ids differ from those of other
// ledgers.
func New(salt uint32) *Ledger {
	return &Ledger{
		salt:         salt,
		accounts:     make(map[string]*account),
		keys:         make(map[string]*Key),
		reservations: make(map[string]*Reservation),
	}
}

// step begins a step at now: everything that is due by then expires first. A
// clock that was set back is held until it has caught up.
func (l *Ledger) step(now int64) int64 {
	l.now = max(l.now, now)
	for len(l.due) > 0 && l.due[0].deadline < l.now {
		d := l.due.pop()
		r := d.reservation
		if r.Status != gen.ReservationStatusActive {
			continue
		}
		if deadline := r.deadline(); deadline > d.deadline {
			l.due.push(due{deadline, r})
			continue
		}
		r.expire()
	}
	return l.now
}

// ExpireDue expires everything that is due by now, in the order of the
// deadlines.
func (l *Ledger) ExpireDue(now int64) { l.step(now) }

// account returns the tenant that a key acts for. The key was checked, so it is
// there unless the tenant's record is gone.
func (l *Ledger) account(tenant string) (*account, *Denial) {
	a := l.accounts[tenant]
	if a == nil {
		return nil, deny(gen.ErrorCodeInternalError, "no record of tenant %s", tenant)
	}
	return a, nil
}

// OtherTenant is the message of a refusal to act for a tenant that a request
// names in member.
func OtherTenant(member, named, own string) string {
	return fmt.Sprintf("%s is %q, but the API key acts for tenant %s", member, named, own)
}

// subjectAccount is account for the steps that bring a subject.
func (l *Ledger) subjectAccount(tenant string, s *Subject) (*account, *Denial) {
	if named := s.Tenant(); named != "" && named != tenant {
		return nil, deny(gen.ErrorCodeForbidden, "%s", OtherTenant("subject.tenant", named, tenant))
	}
	return l.account(tenant)
}

// owned returns a reservation for the tenant that asks; the admin, who is no
// tenant, may have any.
func (l *Ledger) owned(tenant, id string) (*Reservation, *Denial) {
	r := l.reservations[id]
	if r == nil {
		return nil, deny(gen.ErrorCodeNotFound, "no reservation has this id")
	}
	if tenant != "" && r.account.ID != tenant {
		return nil, deny(gen.ErrorCodeForbidden, "the reservation belongs to another tenant than %s, for which the API key acts", tenant)
	}
	return r, nil
}
