package settlement

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// Spend is what was really used under a reservation.
type Spend struct {
	ReservationID string
	// Created is the request that made the reservation. It says for whom and for
	// what the spend was.
	Created gen.ReservationCreateRequest
	// Commit is the request to settle with. An empty idempotency key is filled.
	Commit gen.CommitRequest
}

// Settler settles spends with one client. It is safe for concurrent use.
type Settler struct{ client *client.Client }

// New makes a settler that keeps nothing on disk.
func New(c *client.Client) *Settler { return &Settler{client: c} }

// Begin fixes key and bytes of a settlement. It sends nothing, and later changes
// to the maps and pointers inside the spend do not reach it.
func (s *Settler) Begin(spend Spend) (*Settlement, error) {
	commit := spend.Commit
	if commit.IdempotencyKey == "" {
		commit.IdempotencyKey = uuid.NewString()
	}
	body, err := json.Marshal(commit)
	if err != nil {
		return nil, &client.RequestError{Op: client.OpCommitReservation, Field: "metadata", Limit: fmt.Sprintf("made of values that JSON can hold (%v)", err)}
	}
	return &Settlement{client: s.client, body: body, actual: commit.Actual, result: Result{
		ReservationID: spend.ReservationID, IdempotencyKey: commit.IdempotencyKey,
	}}, nil
}

// Settlement is one spend on its way to the ledger. It is not safe for
// concurrent use.
type Settlement struct {
	client *client.Client
	body   json.RawMessage
	actual gen.Amount
	result Result
}

// Actual is the amount that is being settled.
func (x *Settlement) Actual() gen.Amount { return x.actual }

// Result is the state after the last attempt.
func (x *Settlement) Result() Result { return x.result }

// Settle sends the settlement once, bounded by the client's request timeout, and
// returns the state it is in then. The error is nil exactly when the spend is
// settled, else an *Error. When the spend is Pending a further call sends the
// same key and bytes; when it is settled or Rejected a further call sends
// nothing.
func (x *Settlement) Settle(ctx context.Context) (Result, error) {
	if x.result.Disposition == Pending {
		x.attempt(ctx)
	}
	if x.result.Settled() {
		return x.result, nil
	}
	return x.result, &Error{
		ReservationID: x.result.ReservationID, IdempotencyKey: x.result.IdempotencyKey,
		Disposition: x.result.Disposition, Err: x.result.Err,
	}
}

func (x *Settlement) attempt(ctx context.Context) {
	var meta client.Meta
	answer, err := x.client.CommitReservation(ctx, x.result.ReservationID, gen.CommitRequest{},
		client.WithRawBody(x.body), client.WithoutRetry(), client.WithMeta(&meta))
	x.result.Attempts += meta.Attempts
	x.result.Commit, x.result.Err = answer, err
	switch client.OutcomeOf(err) {
	case client.Success:
		x.result.Disposition = Committed
	case client.Finalized, client.Mismatch, client.Rejected, client.Invalid:
		x.result.Disposition = Rejected
	}
}
