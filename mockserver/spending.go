package mockserver

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

func decide(x *exchange) (int, any, error) {
	var q ledger.Decide
	err := decodeDecide(x.entry.Body, &q)
	if err != nil {
		return 0, nil, err
	}
	if q.Identity, err = x.identity(q.Key); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Decided, *ledger.Denial) { return l.Decide(now, &q) })
	x.outcome(out.Replayed, false, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	body := &gen.DecisionResponse{Decision: out.Decision, AffectedScopes: ledger.Scopes(out.Path), Caps: out.Caps}
	if out.Reason != "" {
		body.ReasonCode = &out.Reason
	}
	return http.StatusOK, body, nil
}

func createEvent(x *exchange) (int, any, error) {
	var q ledger.Event
	err := decodeEvent(x.entry.Body, &q)
	if err != nil {
		return 0, nil, err
	}
	if q.Identity, err = x.identity(q.Key); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Recorded, *ledger.Denial) { return l.Event(now, &q) })
	x.outcome(out.Replayed, true, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	body := &gen.EventCreateResponse{
		Status:   gen.EventCreateResponseStatusApplied,
		EventID:  out.EventID,
		Balances: balanceBodies(out.Balances),
	}
	if out.Capped {
		body.Charged = amount(out.Unit, out.Charged)
	}
	return http.StatusCreated, body, nil
}
