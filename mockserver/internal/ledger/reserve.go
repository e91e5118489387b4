package ledger

import (
	"encoding/json"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Reservation is a hold on budgets with a lease. Its metadata is the JSON that
// was sent.
type Reservation struct {
	ID      string
	Key     string // idempotency key of the create
	Status  gen.ReservationStatus
	Subject Subject
	Action  gen.Action
	Unit    gen.UnitEnum
	// Estimate is what is or was held, Committed what was charged.
	Estimate, Committed int64
	Path                string
	CreatedAt           int64
	ExpiresAt           int64
	FinalizedAt         int64 // 0 unless COMMITTED or RELEASED
	Extensions          int64 // applied so far
	Metadata            json.RawMessage
	CommittedMetadata   json.RawMessage

	account       *account
	overage       gen.CommitOveragePolicy
	grace         int64
	maxExtensions int64
	holds         []hold
	// What the create answered, beyond the fields above.
	caps            *gen.Caps
	originalExpires int64
	// The remembered answers of its own operations.
	settled  *settlement
	extended map[string]record
}

// hold is a budget that the reservation was taken from, with the balance that
// the create showed. Budgets created later are no part of the reservation.
type hold struct {
	budget *Budget
	shown  Balance
}

// deadline is the last millisecond in which it can be committed.
func (r *Reservation) deadline() int64 { return r.ExpiresAt + r.grace }

// Tenant is the owner.
func (r *Reservation) Tenant() string { return r.account.ID }

// Spend is what decide, reserve and event have in common: who spends how much
// on what.
type Spend struct {
	Identity
	Subject  Subject
	Action   gen.Action
	Unit     gen.UnitEnum
	Amount   int64
	Metadata json.RawMessage
}

// Reserve asks for a hold.
type Reserve struct {
	Spend
	TTL     *int64                  // ms; nil takes the tenant's default
	Grace   int64                   // ms
	Overage gen.CommitOveragePolicy // "" takes the tenant's default
	DryRun  bool
}

// Reserved answers a Reserve. A dry run has neither a reservation nor times.
type Reserved struct {
	Decision      gen.DecisionEnum
	Reason        string // on DENY
	ReservationID string
	Path          string
	Unit          gen.UnitEnum
	Amount        int64
	ExpiresAt     int64
	Remaining     int64 // ms
	Legacy        bool  // the remaining time is not to be shown
	Balances      []Balance
	Caps          *gen.Caps
	Replayed      bool
}

// Reserve takes the amount from every budgeted scope of the subject, or from
// none.
func (l *Ledger) Reserve(now int64, q *Reserve) (Reserved, *Denial) {
	now = l.step(now)
	a, d := l.subjectAccount(q.Tenant, &q.Subject)
	if d != nil {
		return Reserved{}, d
	}
	if answer, ok, d := a.recall(endpointReserve, &q.Identity); d != nil {
		return Reserved{}, d
	} else if ok {
		return replayReserve(now, answer), nil
	}
	if q.DryRun {
		return a.dryRun(q)
	}
	if d := a.guard(); d != nil {
		return Reserved{}, d
	}
	path := q.Subject.Path()
	var space [levelCount]*Budget
	budgets := a.budgeted(space[:0], path, q.Unit)
	if len(budgets) == 0 {
		return Reserved{}, a.unbudgeted(path, q.Unit)
	}
	if d := admit(budgets, q.Amount); d != nil {
		return Reserved{}, d
	}
	r := a.newReservation(q, path, now)
	r.ID = l.nextID(now)
	r.caps = a.caps(path, budgets)
	r.holds = make([]hold, len(budgets))
	for i, b := range budgets {
		// Admitted: at least the amount remains, so nothing overflows.
		b.Reserved += q.Amount
		b.UpdatedAt = now
		r.holds[i] = hold{b, b.balance()}
	}
	l.reservations[r.ID] = r
	a.reservations = append(a.reservations, r)
	a.remember(endpointReserve, &q.Identity, r)
	l.due.push(due{r.deadline(), r})
	return r.reserved(now), nil
}

func (a *account) newReservation(q *Reserve, path string, now int64) *Reservation {
	p := a.leasePolicy(path)
	ttl := p.DefaultTTL
	if q.TTL != nil {
		ttl = *q.TTL
	}
	ttl = min(ttl, p.MaxTTL)
	if p.MaxLead > 0 {
		ttl = min(ttl, p.MaxLead)
	}
	r := &Reservation{
		Key:             q.Key,
		Status:          gen.ReservationStatusActive,
		Subject:         q.Subject,
		Action:          q.Action,
		Unit:            q.Unit,
		Estimate:        q.Amount,
		Path:            path,
		CreatedAt:       now,
		ExpiresAt:       now + ttl,
		Metadata:        q.Metadata,
		account:         a,
		overage:         q.Overage,
		grace:           q.Grace,
		maxExtensions:   p.MaxExtensions,
		originalExpires: now + ttl,
	}
	if r.overage == "" {
		r.overage = p.Overage
	}
	return r
}

// reserved is the answer of the create that made r, at now: the original one
// but for the remaining time.
func (r *Reservation) reserved(now int64) Reserved {
	e := evaluation{caps: r.caps}
	out := Reserved{
		Decision:      e.decision(),
		ReservationID: r.ID,
		Path:          r.Path,
		Unit:          r.Unit,
		Amount:        r.Estimate,
		ExpiresAt:     r.originalExpires,
		Remaining:     r.remaining(now, r.originalExpires),
		Legacy:        r.account.Policy.Legacy,
		Balances:      make([]Balance, len(r.holds)),
		Caps:          r.caps,
	}
	for i := range r.holds {
		out.Balances[i] = r.holds[i].shown
	}
	return out
}

// remaining is the time left until expires as an answer given at now shows it.
func (r *Reservation) remaining(now, expires int64) int64 {
	if r.Status != gen.ReservationStatusActive {
		return 0
	}
	return max(0, expires-now)
}

func replayReserve(now int64, answer any) Reserved {
	var out Reserved
	switch was := answer.(type) {
	case *Reservation:
		out = was.reserved(now)
	case Reserved: // a dry run
		out = was
	}
	out.Replayed = true
	return out
}

// dryRun answers as if, and changes nothing. The balances are the current ones.
func (a *account) dryRun(q *Reserve) (Reserved, *Denial) {
	path := q.Subject.Path()
	e, d := a.evaluate(path, q.Unit, q.Amount)
	if d != nil {
		return Reserved{}, d
	}
	out := Reserved{Decision: e.decision(), Reason: e.reason, Path: path, Caps: e.caps}
	if e.reason == "" {
		out.Unit, out.Amount = q.Unit, q.Amount
		out.Balances = balances(e.budgets)
	}
	a.remember(endpointReserve, &q.Identity, out)
	return out, nil
}

func balances(budgets []*Budget) []Balance {
	out := make([]Balance, len(budgets))
	for i, b := range budgets {
		out[i] = b.balance()
	}
	return out
}

// heldBalances are the current balances of what r was taken from.
func (r *Reservation) heldBalances() []Balance {
	out := make([]Balance, len(r.holds))
	for i, h := range r.holds {
		out[i] = h.budget.balance()
	}
	return out
}
