package defects

import (
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// errorAnswers has servers whose refusals look wrong.
func errorAnswers() []Defect {
	whenError := func(s spoil) spoil {
		return func(r *suite.Request, a *suite.Answer) *suite.Answer {
			if a.Code() == "" {
				return a
			}
			return s(r, a)
		}
	}
	return []Defect{
		{
			ID:    "errors.mismatch-is-400",
			About: "a mismatch is answered 400 IDEMPOTENCY_MISMATCH",
			Fails: []string{"errors.status-of-code", "idempotency.mismatch-*"},
			Wrap:  after(every, whenRefused(409, "IDEMPOTENCY_MISMATCH", refusal(400, "IDEMPOTENCY_MISMATCH"))),
		},
		{
			ID:    "errors.finalized-is-410",
			About: "a finalized reservation is answered 410 RESERVATION_FINALIZED",
			Fails: []string{"errors.status-of-code", "precedence.finalized-*", "concurrency.commits", "concurrency.commit-or-release"},
			Wrap:  after(every, whenRefused(409, "RESERVATION_FINALIZED", refusal(410, "RESERVATION_FINALIZED"))),
		},
		{
			ID:    "errors.request-id-of-its-own",
			About: "the request_id of an error is another one than the header's",
			Fails: []string{"errors.request-id"},
			Wrap:  after(every, whenError(set("request_id", "req-of-the-body"))),
		},
		{
			ID:    "errors.without-trace",
			About: "an error carries no trace_id",
			Fails: []string{"errors.trace-id", "tracing.refusals"},
			Wrap:  after(every, whenError(drop("trace_id"))),
		},
		{
			ID:    "errors.trace-of-its-own",
			About: "the trace_id of an error is another one than the header's",
			Fails: []string{"errors.trace-id", "tracing.refusals"},
			Wrap:  after(every, whenError(set("trace_id", strings.Repeat("e", 32)))),
		},
		{
			ID:    "errors.strays-break-server",
			About: "a request that is none of the contract's is answered 500",
			Fails: []string{"errors.unknown-path", "errors.wrong-method", "errors.wrong-content-type"},
			Wrap: after(func(r *suite.Request) bool {
				return r.Op == "" || r.Body != nil && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
			}, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if a.Status < 300 {
					return a
				}
				return refusal(500, "INTERNAL_ERROR")(r, a)
			}),
		},
	}
}
