package ledger

import (
	"encoding/json"

	"github.com/cycles-protocol/cycles-go/gen"
)

// settlement is the remembered answer of the commit or release that ended a
// reservation.
type settlement struct {
	endpoint endpoint
	key      string
	record
}

// Commit charges what was used.
type Commit struct {
	Identity
	ReservationID string
	Unit          gen.UnitEnum
	Amount        int64
	Metadata      json.RawMessage
}

// Release gives the hold back. An empty Tenant is the admin.
type Release struct {
	Identity
	ReservationID string
}

// Settled answers a Commit or Release.
type Settled struct {
	Unit     gen.UnitEnum
	Charged  int64
	Released int64 // for a commit, 0 when nothing was left over
	Balances []Balance
	Replayed bool
}

// Commit ends a reservation by charging the actual amount.
func (l *Ledger) Commit(now int64, q *Commit) (Settled, *Denial) {
	now = l.step(now)
	r, was, d := l.settling(endpointCommit, &q.Identity, q.ReservationID)
	if d != nil || was != nil {
		return was.replay(), d
	}
	if q.Unit != r.Unit {
		d := deny(gen.ErrorCodeUnitMismatch, "actual is in %s, the reservation in %s", q.Unit, r.Unit)
		d.Details = map[string]any{"scope": r.Path, "requested_unit": q.Unit, "expected_units": []gen.UnitEnum{r.Unit}}
		return Settled{}, d
	}
	used := min(q.Amount, r.Estimate)
	over := q.Amount - used
	if over > 0 && r.overage == gen.CommitOveragePolicyReject {
		return Settled{}, deny(gen.ErrorCodeBudgetExceeded, "actual is more than was reserved and the reservation's overage policy is REJECT")
	}
	var space [levelCount]*Budget
	c, d := chargeBeyond(r.budgets(space[:0]), over, r.overage)
	if d != nil {
		return Settled{}, d
	}
	if d := c.apply(now, Row{Reserved: -r.Estimate, Spent: used}); d != nil {
		return Settled{}, d
	}
	r.Status = gen.ReservationStatusCommitted
	r.FinalizedAt = now
	r.Committed = used + c.amount
	r.CommittedMetadata = q.Metadata
	return r.settle(endpointCommit, &q.Identity, Settled{
		Unit: r.Unit, Charged: r.Committed, Released: r.Estimate - used,
	}), nil
}

// Release ends a reservation without a charge.
func (l *Ledger) Release(now int64, q *Release) (Settled, *Denial) {
	now = l.step(now)
	r, was, d := l.settling(endpointRelease, &q.Identity, q.ReservationID)
	if d != nil || was != nil {
		return was.replay(), d
	}
	r.giveBack(now)
	r.Status = gen.ReservationStatusReleased
	r.FinalizedAt = now
	return r.settle(endpointRelease, &q.Identity, Settled{Unit: r.Unit, Released: r.Estimate}), nil
}

// settling finds the reservation for a commit or release: the remembered answer
// when this is a replay, else a reservation that can still be settled.
func (l *Ledger) settling(e endpoint, id *Identity, reservation string) (*Reservation, *settlement, *Denial) {
	r, d := l.owned(id.Tenant, reservation)
	if d != nil {
		return nil, nil, d
	}
	if s := r.settled; s != nil && s.endpoint == e && s.key == id.Key {
		if d := s.compare(id); d != nil {
			return nil, nil, d
		}
		return nil, s, nil
	}
	return r, nil, r.mutable()
}

// mutable refuses what the tenant or the reservation's state does not allow.
func (r *Reservation) mutable() *Denial {
	if d := r.account.guard(); d != nil {
		return d
	}
	switch r.Status {
	case gen.ReservationStatusActive:
		return nil
	case gen.ReservationStatusExpired:
		return expired()
	}
	return deny(gen.ErrorCodeReservationFinalized, "the reservation is %s", r.Status)
}

func expired() *Denial {
	return deny(gen.ErrorCodeReservationExpired, "the reservation has expired")
}

func (r *Reservation) settle(e endpoint, id *Identity, answer Settled) Settled {
	answer.Balances = r.heldBalances()
	r.settled = &settlement{e, id.Key, record{id.Print, answer}}
	return answer
}

func (s *settlement) replay() Settled {
	if s == nil {
		return Settled{}
	}
	out := s.answer.(Settled)
	out.Replayed = true
	return out
}

func (r *Reservation) budgets(into []*Budget) []*Budget {
	for _, h := range r.holds {
		into = append(into, h.budget)
	}
	return into
}

// giveBack returns the hold. Returned budget never repays debt.
func (r *Reservation) giveBack(now int64) {
	for _, h := range r.holds {
		h.budget.Reserved -= r.Estimate
		h.budget.UpdatedAt = now
	}
}

func (r *Reservation) expire() {
	r.giveBack(r.deadline() + 1)
	r.Status = gen.ReservationStatusExpired
}
