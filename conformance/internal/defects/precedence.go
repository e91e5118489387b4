package defects

import (
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func precedence() []Defect {
	return []Defect{
		{
			ID:    "precedence.time-before-state",
			About: "a finalized reservation is answered 410 RESERVATION_EXPIRED",
			Fails: []string{"precedence.finalized-before-clock", "precedence.finalized-before-budget"},
			Wrap:  after(every, whenRefused(409, "RESERVATION_FINALIZED", refusal(410, "RESERVATION_EXPIRED"))),
		},
		{
			ID:    "precedence.budget-before-state",
			About: "a commit of a finalized reservation for more than it held is answered BUDGET_EXCEEDED",
			Fails: []string{"precedence.finalized-before-budget"},
			Wrap: after(on(suite.Commit).and("actual.amount", func(v any) bool { n, _ := suite.Integer(v); return n > 1000 }),
				whenRefused(409, "RESERVATION_FINALIZED", refusal(409, "BUDGET_EXCEEDED"))),
		},
		{
			ID:    "precedence.state-before-stranger",
			About: "a stranger is told that a reservation is finalized",
			Fails: []string{"precedence.stranger-before-state"},
			Wrap: withSettled(func(r *suite.Request, next server, settled func(string) bool) *suite.Answer {
				a := next(r)
				if a.Code() == "FORBIDDEN" && settled(r.Reservation) {
					return refused(409, "RESERVATION_FINALIZED")
				}
				return a
			}),
		},
		{
			ID:    "precedence.budget-before-tenant",
			About: "a subject of another tenant is told that there is too little budget",
			Fails: []string{"precedence.tenant-before-budget"},
			Wrap: after(on(suite.Create).and("estimate.amount", func(v any) bool { n, _ := suite.Integer(v); return n > 1<<60 }),
				whenRefused(403, "FORBIDDEN", refusal(409, "BUDGET_EXCEEDED"))),
		},
		{
			ID:    "precedence.unknown-is-forbidden",
			About: "a reservation that never existed is answered 403 FORBIDDEN",
			Fails: []string{"precedence.unknown-before-stranger", "get.unknown", "extend.unknown-reservation"},
			Wrap:  after(func(r *suite.Request) bool { return r.Reservation != "" }, whenRefused(404, "NOT_FOUND", refusal(403, "FORBIDDEN"))),
		},
		{
			ID:    "precedence.body-before-key",
			About: "a broken body is refused for that also when there is no key",
			Fails: []string{"precedence.key-before-body"},
			Wrap: after(on(suite.Create), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if a.Code() == "UNAUTHORIZED" && r.Body["subject"] == nil {
					return refusal(400, "INVALID_REQUEST")(r, a)
				}
				return a
			}),
		},
		{
			ID:    "precedence.tenant-before-body",
			About: "a subject of another tenant is refused before the rest of the body is looked at",
			Fails: []string{"precedence.body-before-tenant"},
			Wrap: after(on(suite.Create).and("estimate", equals(nil)), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if tenant, _ := suite.Lookup(any(r.Body), "subject.tenant"); a.Status == 400 && tenant != a.Header.Get(tenantHeader) {
					return refusal(403, "FORBIDDEN")(r, a)
				}
				return a
			}),
		},
	}
}
