package client

import (
	"context"
	"io"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var (
	getReservation = operation[gen.ReservationDetail]{
		op: OpGetReservation, status: http.StatusOK, answer: reservationDetail, lenient: true, access: tenantOrAdminKey}
	extendReservation = operation[gen.ReservationExtendResponse]{
		op: OpExtendReservation, status: http.StatusOK, answer: reservationExtendResponse}
	commitReservation = operation[gen.CommitResponse]{
		op: OpCommitReservation, status: http.StatusOK, answer: commitResponse}
	releaseReservation = operation[gen.ReleaseResponse]{
		op: OpReleaseReservation, status: http.StatusOK, answer: releaseResponse, access: tenantOrAdminKey}
)

// GetReservation reads one reservation. The server answers 410 for an expired
// one, which is an *Error with outcome Expired; a listing still shows it. A
// server need not offer this operation.
func (c *Client) GetReservation(ctx context.Context, id string, opts ...CallOption) (*gen.ReservationDetail, error) {
	x := begin(c, &getReservation, opts)
	x.onReservation(id)
	return x.send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewGetReservationRequest(c.server, id)
	})
}

// ExtendReservation moves the reservation's expiry outward by req.ExtendByMs
// (1..86400000) from where it is. It sends exactly one attempt: when and with
// which key an extend is repeated is for the lease to decide. The attempt is
// bounded by WithAttemptTimeout, else by the client's request timeout.
func (c *Client) ExtendReservation(ctx context.Context, id string, req gen.ReservationExtendRequest, opts ...CallOption) (*gen.ReservationExtendResponse, error) {
	x := begin(c, &extendReservation, opts)
	x.onReservation(id)
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.number("extend_by_ms", &req.ExtendByMs, 1, maxExtend)
	})
	return x.send(ctx, false, func(body io.Reader) (*http.Request, error) {
		return gen.NewExtendReservationRequestWithBody(c.server, id, nil, mediaType, body)
	})
}

// CommitReservation settles a reservation with what was really used. What was
// held and not needed goes back; what was not held falls under the overage
// policy of the create (CommitOveragePolicy of the protocol document), under
// which less than the actual amount may be charged. It is taken until the expiry
// plus the grace period, then refused with outcome Expired. A repetition with
// the same key and body returns the first answer.
func (c *Client) CommitReservation(ctx context.Context, id string, req gen.CommitRequest, opts ...CallOption) (*gen.CommitResponse, error) {
	x := begin(c, &commitReservation, opts)
	x.onReservation(id)
	x.unit = req.Actual.Unit
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.amount("actual", req.Actual)
		k.metrics(req.Metrics)
	})
	return x.send(ctx, true, func(body io.Reader) (*http.Request, error) {
		return gen.NewCommitReservationRequestWithBody(c.server, id, nil, mediaType, body)
	})
}

// ReleaseReservation gives the whole of a reservation's budget back. Use it only
// when nothing was spent. The reason, at most 256 characters, is kept by the
// server.
func (c *Client) ReleaseReservation(ctx context.Context, id string, req gen.ReleaseRequest, opts ...CallOption) (*gen.ReleaseResponse, error) {
	x := begin(c, &releaseReservation, opts)
	x.onReservation(id)
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.optionalText("reason", req.Reason, reasonLimit)
	})
	return x.send(ctx, true, func(body io.Reader) (*http.Request, error) {
		return gen.NewReleaseReservationRequestWithBody(c.server, id, nil, mediaType, body)
	})
}
