package defects

import (
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

const (
	requestIDHeader = "X-Request-Id"
	tenantHeader    = "X-Cycles-Tenant"
)

func headers() []Defect {
	return []Defect{
		{
			ID:    "headers.no-request-id",
			About: "answers carry no X-Request-Id",
			Fails: []string{"headers.request-id", "headers.request-id-unique", "errors.request-id"},
			Wrap:  after(every, setHeader(requestIDHeader, "")),
		},
		{
			ID:    "headers.request-id-adopted",
			About: "X-Request-Id is taken from the request",
			Fails: []string{"headers.request-id-unique"},
			Wrap: after(every, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if id := r.Header.Get(requestIDHeader); id != "" {
					return setHeader(requestIDHeader, id)(r, a)
				}
				return a
			}),
		},
		{
			ID:    "headers.request-id-of-the-first",
			About: "the answer to a replay has the X-Request-Id of the first answer",
			Fails: []string{"headers.request-id-unique"},
			Wrap: replays(every, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				return setHeader(requestIDHeader, first.Header.Get(requestIDHeader))(r, next(r))
			}),
		},
		{
			ID:    "headers.tenant-of-the-first",
			About: "X-Cycles-Tenant names the first tenant that asked",
			Fails: []string{"headers.tenant"},
			Wrap: remembering(func() rule {
				var tenants memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if tenant := a.Header.Get(tenantHeader); tenant != "" {
						tenant, _ = tenants.first("", tenant)
						return setHeader(tenantHeader, tenant)(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "headers.rate-limit-in-words",
			About: "X-RateLimit-Reset is a date",
			Fails: []string{"headers.rate-limit"},
			Wrap:  after(every, setHeader("X-RateLimit-Reset", "tomorrow")),
		},
	}
}
