package client

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var createReservation = operation[gen.ReservationCreateResponse]{
	op: OpCreateReservation, status: http.StatusOK, answer: reservationCreateResponse}

// CreateReservation reserves budget for a planned action. An empty idempotency
// key is filled with a random one, which Meta and every error carry. A live
// denial is an *Error (409 BUDGET_EXCEEDED and its kin); a dry run reports it as
// decision DENY.
//
// An absent ttl_ms means 60000 to the server (1000..86400000), an absent
// grace_period_ms 5000 (0..60000).
//
// After a timeout, a connection error, a 5xx or an ambiguous 2xx the same bytes
// go out once more at once, with the same key; then what is known is returned. A
// 429 is returned at once. An error with outcome Transient, Ambiguous or
// Canceled leaves it open whether budget is held for up to ttl_ms:
// FindReservation with the error's key is the way back.
func (c *Client) CreateReservation(ctx context.Context, req gen.ReservationCreateRequest, opts ...CallOption) (*gen.ReservationCreateResponse, error) {
	x := begin(c, &createReservation, opts)
	x.unit = req.Estimate.Unit
	req.Subject = withDefaults(req.Subject, c.cfg.subject)
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.spending(req.Subject, req.Action, "estimate", req.Estimate)
		k.number("ttl_ms", req.TTLMs, minTTL, maxTTL)
		k.number("grace_period_ms", req.GracePeriodMs, 0, maxGrace)
		k.overage(req.OveragePolicy)
	})
	build := func(body io.Reader) (*http.Request, error) {
		return gen.NewCreateReservationRequestWithBody(c.server, nil, mediaType, body)
	}
	answer, err := x.send(ctx, false, build)
	if x.options.once {
		return answer, err
	}
	switch OutcomeOf(err) {
	case Transient, Ambiguous:
		c.cfg.logger.LogAttrs(ctx, slog.LevelWarn, "cycles: create left open, sending the same key once more",
			slog.String("key", x.key), slog.String("outcome", OutcomeOf(err).String()),
			slog.Int("status", x.meta.Status), slog.String("request_id", x.meta.RequestID))
		return x.send(ctx, false, build)
	}
	return answer, err
}
