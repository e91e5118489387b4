package mockserver

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

func createReservation(x *exchange) (int, any, error) {
	var q ledger.Reserve
	err := decodeReserve(x.entry.Body, &q)
	if err != nil {
		return 0, nil, err
	}
	if q.Identity, err = x.identity(q.Key); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Reserved, *ledger.Denial) { return l.Reserve(now, &q) })
	x.outcome(out.Replayed, !q.DryRun, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	x.entry.ReservationID = out.ReservationID
	return http.StatusOK, reservedBody(&out), nil
}

func reservedBody(out *ledger.Reserved) *gen.ReservationCreateResponse {
	body := &gen.ReservationCreateResponse{
		Decision:       out.Decision,
		AffectedScopes: ledger.Scopes(out.Path),
		ScopePath:      &out.Path,
		Caps:           out.Caps,
		Balances:       balanceBodies(out.Balances),
	}
	if out.Reason != "" {
		body.ReasonCode = &out.Reason
		return body
	}
	body.Reserved = amount(out.Unit, out.Amount)
	if out.ReservationID != "" {
		body.ReservationID = &out.ReservationID
		body.ExpiresAtMs = &out.ExpiresAt
		if !out.Legacy {
			body.RemainingTTLMs = &out.Remaining
		}
	}
	return body
}

// forReservation does what the three operations on a reservation have in
// common before the ledger is asked: body, then id, then key header.
func (x *exchange) forReservation(decode func() error, id *ledger.Identity, reservation *string) error {
	if err := decode(); err != nil {
		return err
	}
	if err := x.pathID(); err != nil {
		return err
	}
	*reservation = x.entry.ReservationID
	var err error
	*id, err = x.identity(id.Key)
	return err
}

func commitReservation(x *exchange) (int, any, error) {
	var q ledger.Commit
	decode := func() error { return decodeCommit(x.entry.Body, &q) }
	if err := x.forReservation(decode, &q.Identity, &q.ReservationID); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Settled, *ledger.Denial) { return l.Commit(now, &q) })
	x.outcome(out.Replayed, true, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	body := &gen.CommitResponse{
		Status:   gen.CommitResponseStatusCommitted,
		Charged:  *amount(out.Unit, out.Charged),
		Balances: balanceBodies(out.Balances),
	}
	if out.Released > 0 {
		body.Released = amount(out.Unit, out.Released)
	}
	return http.StatusOK, body, nil
}

func releaseReservation(x *exchange) (int, any, error) {
	var q ledger.Release
	decode := func() error { return decodeRelease(x.entry.Body, &q) }
	if err := x.forReservation(decode, &q.Identity, &q.ReservationID); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Settled, *ledger.Denial) { return l.Release(now, &q) })
	x.outcome(out.Replayed, true, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, &gen.ReleaseResponse{
		Status:   gen.ReleaseResponseStatusReleased,
		Released: *amount(out.Unit, out.Released),
		Balances: balanceBodies(out.Balances),
	}, nil
}

func extendReservation(x *exchange) (int, any, error) {
	var q ledger.Extend
	decode := func() error { return decodeExtend(x.entry.Body, &q) }
	if err := x.forReservation(decode, &q.Identity, &q.ReservationID); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Extended, *ledger.Denial) { return l.Extend(now, &q) })
	x.outcome(out.Replayed, true, d)
	if d != nil {
		return 0, nil, denied(d)
	}
	body := &gen.ReservationExtendResponse{
		Status:      gen.ReservationExtendResponseStatusActive,
		ExpiresAtMs: out.ExpiresAt,
		Balances:    balanceBodies(out.Balances),
	}
	if !out.Legacy {
		body.RemainingTTLMs = &out.Remaining
	}
	return http.StatusOK, body, nil
}

func getReservation(x *exchange) (int, any, error) {
	if err := x.pathID(); err != nil {
		return 0, nil, err
	}
	r, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Reservation, *ledger.Denial) {
		return l.Get(now, x.entry.Tenant, x.entry.ReservationID)
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	body, err := detailBody(&r)
	return http.StatusOK, body, err
}
