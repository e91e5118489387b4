package client

import (
	"context"
	"io"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var decide = operation[gen.DecisionResponse]{op: OpDecide, status: http.StatusOK, answer: decisionResponse}

// Decide asks whether an action would be allowed, without holding budget for
// it. A denial is an answer with decision DENY and a reason code, not an error.
// A replay with the same key repeats the first answer and says nothing about the
// budget of now.
func (c *Client) Decide(ctx context.Context, req gen.DecisionRequest, opts ...CallOption) (*gen.DecisionResponse, error) {
	x := begin(c, &decide, opts)
	x.unit = req.Estimate.Unit
	req.Subject = withDefaults(req.Subject, c.cfg.subject)
	x.freeze(&req.IdempotencyKey, &req, func(k *checker) {
		k.spending(req.Subject, req.Action, "estimate", req.Estimate)
	})
	return x.send(ctx, true, func(body io.Reader) (*http.Request, error) {
		return gen.NewDecideRequestWithBody(c.server, nil, mediaType, body)
	})
}

// Allowed reports whether a decision lets the action happen. Anything but the
// two positive decisions does not, DENY as well as a value of a later edition.
func Allowed(d gen.DecisionEnum) bool {
	return d == gen.DecisionEnumAllow || d == gen.DecisionEnumAllowWithCaps
}
