package client

import (
	"context"

	"github.com/cycles-protocol/cycles-go/gen"
)

// CreateReservation reserves budget for a planned action. An empty idempotency
// key is filled with a random one, which Meta and every error carry.
//
// After a timeout, a connection error, a 5xx or an ambiguous 2xx it sends the
// same bytes with the same key once more, at once; a 429 is returned at once.
// When the second attempt leaves it open whether the budget is held,
// FindReservation is the way back.
func (c *Client) CreateReservation(ctx context.Context, req gen.ReservationCreateRequest, opts ...CallOption) (*gen.ReservationCreateResponse, error) {
	panic("being written")
}

// GetReservation reads one reservation. An expired one is a 410.
func (c *Client) GetReservation(ctx context.Context, id string, opts ...CallOption) (*gen.ReservationDetail, error) {
	panic("being written")
}

// ExtendReservation moves the expiry outward by req.ExtendByMs. It sends
// exactly one attempt: when and with which key an extend is repeated is the
// lease's decision. The attempt is bounded by WithAttemptTimeout, else by the
// client's request timeout.
func (c *Client) ExtendReservation(ctx context.Context, id string, req gen.ReservationExtendRequest, opts ...CallOption) (*gen.ReservationExtendResponse, error) {
	panic("being written")
}

// CommitReservation settles a reservation with what was really used.
func (c *Client) CommitReservation(ctx context.Context, id string, req gen.CommitRequest, opts ...CallOption) (*gen.CommitResponse, error) {
	panic("being written")
}

// ReleaseReservation gives all of a reservation's budget back.
func (c *Client) ReleaseReservation(ctx context.Context, id string, req gen.ReleaseRequest, opts ...CallOption) (*gen.ReleaseResponse, error) {
	panic("being written")
}

// GetBalances reads one page of balances. The protocol asks for at least one
// subject filter.
func (c *Client) GetBalances(ctx context.Context, params gen.GetBalancesParams, opts ...CallOption) (*gen.BalanceResponse, error) {
	panic("being written")
}
