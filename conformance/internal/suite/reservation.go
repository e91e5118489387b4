package suite

import (
	"context"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Reservation is one that a check made, or something that stands for one.
type Reservation struct {
	ID     string
	Tenant target.Tenant
	Budget *target.Budget
	// Amount is what it holds, in the unit of the budget.
	Amount int64
	// Create and Created are the request that made it and its answer; nil for a
	// stand-in.
	Create  *Request
	Created *Answer
	// Ends is the instant of the harness clock at which it has surely expired,
	// grace not included, if nobody extends it. Zero for a stand-in.
	Ends time.Time
	// Grace is the grace period asked for.
	Grace time.Duration
}

// Reserve creates a reservation of amount on the budget as the ground for a
// check. Change the request with edit; the answer must be a 200 with an id, else
// the check ends without a verdict.
func (t *T) Reserve(ctx context.Context, b *target.Budget, amount int64, edit ...func(*Request) *Request) *Reservation {
	r := t.Create(b, amount)
	for _, e := range edit {
		r = e(r)
	}
	a := t.Do(ctx, r)
	t.Given(a, http.StatusOK)
	if a.Str("reservation_id") == "" {
		t.stop(verdict{outcome: Errored, got: "no ground for the check: the create was answered without a reservation_id", at: a.Exchange, decided: true})
	}
	return t.Made(b, a)
}

// Made reads a reservation out of the answer of a create.
func (t *T) Made(b *target.Budget, a *Answer) *Reservation {
	res := &Reservation{ID: a.Str("reservation_id"), Tenant: b.Tenant, Budget: b, Create: a.Request, Created: a}
	if n, ok := number(a.Request.Body, "estimate.amount"); ok {
		res.Amount = n
	}
	ttl, ok := a.Int("remaining_ttl_ms")
	if !ok {
		if ttl, ok = number(a.Request.Body, "ttl_ms"); !ok {
			ttl = 60_000
		}
	}
	res.Ends = a.Received.Add(time.Duration(ttl) * time.Millisecond)
	grace, ok := number(a.Request.Body, "grace_period_ms")
	if !ok {
		grace = 5_000
	}
	res.Grace = time.Duration(grace) * time.Millisecond
	return res
}

// number reads a number that a check put into a request.
func number(body map[string]any, path string) (int64, bool) {
	v, _ := Lookup(any(body), path)
	return Integer(v)
}

// Stranger stands for a reservation that never existed, of the tenant of the
// budget.
func (t *T) Stranger(b *target.Budget) *Reservation {
	return &Reservation{ID: t.Name(), Tenant: b.Tenant, Budget: b}
}
