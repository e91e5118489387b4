package mockserver_test

import (
	"math/rand/v2"

	"github.com/cycles-protocol/cycles-go/gen"
)

// model is what one agent's budget should do, written down as plainly as
// possible: one scope, one caller, no concern for speed. The tenant's budget
// above it is so large that it decides nothing; it is checked as a sum.
type model struct {
	now          int64
	allocated    int64
	reserved     int64
	spent        int64
	debt         int64
	limit        int64
	capped       bool
	frozen       bool
	reservations []*modelReservation
	// What the agent has moved in the tenant's budget.
	spentAbove int64
}

type modelReservation struct {
	id        string
	estimate  int64
	policy    gen.CommitOveragePolicy
	expires   int64
	grace     int64
	extends   int
	state     gen.ReservationStatus
	lastExt   *modelAnswer // of the last extend, for a replay
	extKey    string
	extBy     int64
	final     *modelAnswer
	finalOp   string
	finalKey  string
	finalArgs int64
}

// modelAnswer is the part of an answer that the model predicts.
type modelAnswer struct {
	status    int
	code      gen.ErrorCode
	charged   int64
	released  int64
	expires   int64
	remaining int64 // of the budget
	lead      int64 // remaining_ttl_ms
}

func refuse(status int, code gen.ErrorCode) modelAnswer {
	return modelAnswer{status: status, code: code}
}

func (m *model) remaining() int64 { return m.allocated - m.spent - m.reserved - m.debt }

func (m *model) over() bool { return m.capped || m.limit > 0 && m.debt > m.limit }

// denial is why an amount cannot be reserved; "" when it can.
func (m *model) denial(amount int64) gen.ErrorCode {
	switch {
	case m.over():
		return gen.ErrorCodeOverdraftLimitExceeded
	case m.frozen:
		return gen.ErrorCodeBudgetFrozen
	case m.debt > 0 && m.limit == 0:
		return gen.ErrorCodeDebtOutstanding
	case m.remaining() < amount:
		return gen.ErrorCodeBudgetExceeded
	}
	return ""
}

func (m *model) reserve(amount, ttl, grace int64, policy gen.CommitOveragePolicy) (modelAnswer, *modelReservation) {
	if code := m.denial(amount); code != "" {
		return refuse(409, code), nil
	}
	m.reserved += amount
	r := &modelReservation{estimate: amount, policy: policy, expires: m.now + ttl, grace: grace, state: gen.ReservationStatusActive}
	m.reservations = append(m.reservations, r)
	return modelAnswer{status: 200, expires: r.expires, lead: ttl, remaining: m.remaining()}, r
}

// extra works out what is charged beyond a hold, and by which debt.
func (m *model) extra(wanted int64, policy gen.CommitOveragePolicy) (charge, debt int64, capped, ok bool) {
	left := max(m.remaining(), 0)
	if wanted <= left {
		return wanted, 0, false, true
	}
	if policy == gen.CommitOveragePolicyAllowWithOverdraft && m.limit > 0 {
		debt = wanted - left
		return wanted, debt, false, m.debt+debt <= m.limit
	}
	return left, 0, true, true
}

func (m *model) commit(r *modelReservation, key string, amount int64) modelAnswer {
	if a, done := r.settled("commit", key, amount); done {
		return a
	}
	used := min(amount, r.estimate)
	beyond := amount - used
	if beyond > 0 && r.policy == gen.CommitOveragePolicyReject {
		return refuse(409, gen.ErrorCodeBudgetExceeded)
	}
	var charge, debt int64
	if beyond > 0 {
		var capped, ok bool
		if charge, debt, capped, ok = m.extra(beyond, r.policy); !ok {
			return refuse(409, gen.ErrorCodeOverdraftLimitExceeded)
		}
		m.capped = m.capped || capped
	}
	m.reserved -= r.estimate
	m.spent += used + charge - debt
	m.debt += debt
	m.spentAbove += used + charge
	r.state = gen.ReservationStatusCommitted
	return r.settle("commit", key, amount, modelAnswer{status: 200, charged: used + charge, released: r.estimate - used, remaining: m.remaining()})
}

func (m *model) release(r *modelReservation, key string) modelAnswer {
	if a, done := r.settled("release", key, 0); done {
		return a
	}
	m.reserved -= r.estimate
	r.state = gen.ReservationStatusReleased
	return r.settle("release", key, 0, modelAnswer{status: 200, released: r.estimate, remaining: m.remaining()})
}

// settled answers a commit or release that changes nothing.
func (r *modelReservation) settled(op, key string, args int64) (modelAnswer, bool) {
	if r.final != nil && r.finalOp == op && r.finalKey == key {
		if r.finalArgs != args {
			return refuse(409, gen.ErrorCodeIdempotencyMismatch), true
		}
		return *r.final, true
	}
	return r.closed()
}

func (r *modelReservation) closed() (modelAnswer, bool) {
	switch r.state {
	case gen.ReservationStatusExpired:
		return refuse(410, gen.ErrorCodeReservationExpired), true
	case gen.ReservationStatusActive:
		return modelAnswer{}, false
	}
	return refuse(409, gen.ErrorCodeReservationFinalized), true
}

func (r *modelReservation) settle(op, key string, args int64, a modelAnswer) modelAnswer {
	r.final, r.finalOp, r.finalKey, r.finalArgs = &a, op, key, args
	return a
}

func (m *model) extend(r *modelReservation, key string, by int64) modelAnswer {
	if r.lastExt != nil && r.extKey == key {
		if r.extBy != by {
			return refuse(409, gen.ErrorCodeIdempotencyMismatch)
		}
		again := *r.lastExt
		again.lead = max(0, again.expires-m.now)
		if r.state != gen.ReservationStatusActive {
			again.lead = 0
		}
		return again
	}
	if a, done := r.closed(); done {
		return a
	}
	if m.now > r.expires {
		return refuse(410, gen.ErrorCodeReservationExpired)
	}
	if r.extends == 10 {
		return refuse(409, gen.ErrorCodeMaxExtensionsExceeded)
	}
	r.extends++
	r.expires += by
	r.lastExt = &modelAnswer{status: 200, expires: r.expires, lead: r.expires - m.now, remaining: m.remaining()}
	r.extKey, r.extBy = key, by
	return *r.lastExt
}

func (m *model) event(amount int64, policy gen.CommitOveragePolicy) modelAnswer {
	if m.frozen {
		return refuse(409, gen.ErrorCodeBudgetFrozen)
	}
	if policy == gen.CommitOveragePolicyReject && m.remaining() < amount {
		return refuse(409, gen.ErrorCodeBudgetExceeded)
	}
	charge, debt, capped := int64(0), int64(0), false
	if amount > 0 {
		var ok bool
		if charge, debt, capped, ok = m.extra(amount, policy); !ok {
			return refuse(409, gen.ErrorCodeOverdraftLimitExceeded)
		}
	}
	m.capped = m.capped || capped
	m.spent += charge - debt
	m.debt += debt
	m.spentAbove += charge
	a := modelAnswer{status: 201, remaining: m.remaining()}
	if capped {
		a.charged = charge
	}
	return a
}

// credit is the operator's help, without which a scope over its limit stays so.
func (m *model) credit(amount int64) modelAnswer {
	if m.frozen {
		return refuse(409, gen.ErrorCodeBudgetFrozen)
	}
	repaid := min(amount, m.debt)
	m.allocated += amount
	m.debt -= repaid
	m.spent += repaid
	m.capped = false
	return modelAnswer{status: 200, remaining: m.remaining()}
}

// advance moves the time and expires.
func (m *model) advance(ms int64) {
	m.now += ms
	for _, r := range m.reservations {
		if r.state == gen.ReservationStatusActive && m.now > r.expires+r.grace {
			r.state = gen.ReservationStatusExpired
			m.reserved -= r.estimate
		}
	}
}

// any is a reservation to do something with, more often a late one.
func (m *model) any(random *rand.Rand) *modelReservation {
	if len(m.reservations) == 0 {
		return nil
	}
	if last := len(m.reservations) - 1; random.IntN(4) > 0 {
		return m.reservations[last-random.IntN(min(4, last+1))]
	}
	return m.reservations[random.IntN(len(m.reservations))]
}
