package client

import (
	"context"
	"io"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var createEvent = operation[gen.EventCreateResponse]{
	op: OpCreateEvent, status: http.StatusCreated, answer: eventCreateResponse}

// CreateEvent records spending that was not reserved. When the answer has
// Charged, less than the actual amount was applied, because the budget ran out.
func (c *Client) CreateEvent(ctx context.Context, req gen.EventCreateRequest, opts ...CallOption) (*gen.EventCreateResponse, error) {
	x := begin(c, &createEvent, opts)
	x.unit = req.Actual.Unit
	req.Subject = withDefaults(req.Subject, c.cfg.subject)
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.spending(req.Subject, req.Action, "actual", req.Actual)
		k.overage(req.OveragePolicy)
		k.metrics(req.Metrics)
		k.notNegative("client_time_ms", req.ClientTimeMs)
	})
	return x.send(ctx, true, func(body io.Reader) (*http.Request, error) {
		return gen.NewCreateEventRequestWithBody(c.server, nil, mediaType, body)
	})
}
