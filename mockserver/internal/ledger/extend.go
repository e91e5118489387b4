package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Extend moves the expiry of a reservation.
type Extend struct {
	Identity
	ReservationID string
	By            int64 // ms
}

// Extended answers an Extend.
type Extended struct {
	ExpiresAt int64
	Remaining int64 // ms
	Legacy    bool  // the remaining time is not to be shown
	Balances  []Balance
	Replayed  bool
}

// Extend moves the expiry by what is asked for and the policy grants. Grace
// does not count here: the reservation has to be within expires_at_ms itself.
func (l *Ledger) Extend(now int64, q *Extend) (Extended, *Denial) {
	now = l.step(now)
	r, d := l.owned(q.Tenant, q.ReservationID)
	if d != nil {
		return Extended{}, d
	}
	if rec, ok := r.extended[q.Key]; ok {
		if d := rec.compare(&q.Identity); d != nil {
			return Extended{}, d
		}
		out := rec.answer.(Extended)
		out.Remaining = r.remaining(now, out.ExpiresAt)
		out.Replayed = true
		return out, nil
	}
	if d := r.mutable(); d != nil {
		return Extended{}, d
	}
	if now > r.ExpiresAt {
		return Extended{}, expired()
	}
	if r.Extensions >= r.maxExtensions {
		return Extended{}, deny(gen.ErrorCodeMaxExtensionsExceeded, "the reservation was extended %d times, which is all it may", r.Extensions)
	}
	r.Extensions++
	r.ExpiresAt = r.granted(now, q.By)
	out := Extended{
		ExpiresAt: r.ExpiresAt,
		Remaining: r.remaining(now, r.ExpiresAt),
		Legacy:    r.account.Policy.Legacy,
		Balances:  r.heldBalances(),
	}
	if r.extended == nil {
		r.extended = make(map[string]record)
	}
	r.extended[q.Key] = record{q.Print, out}
	return out, nil
}

// granted is the new expiry. It never lies before the old one.
func (r *Reservation) granted(now, by int64) int64 {
	p := &r.account.Policy
	if p.MaxGrant > 0 {
		by = min(by, p.MaxGrant)
	}
	expires := r.ExpiresAt + by
	if p.MaxLead > 0 {
		expires = min(expires, now+p.MaxLead)
	}
	return max(expires, r.ExpiresAt)
}
