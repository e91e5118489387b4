package defects

import (
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// applied is the body of an event that was applied.
func applied(r *suite.Request) map[string]any {
	return map[string]any{"status": "APPLIED", "event_id": r.Key()}
}

func events() []Defect {
	event := on(suite.Event)
	under := func(policies ...string) which {
		return event.and("overage_policy", func(v any) bool { s, _ := v.(string); return slices.Contains(policies, s) })
	}
	created := func(s spoil) spoil {
		return func(r *suite.Request, a *suite.Answer) *suite.Answer {
			a = s(r, a)
			c := *a
			c.Status = http.StatusCreated
			return &c
		}
	}
	unnamed := event.and("overage_policy", equals(nil))
	return []Defect{
		{
			ID:    "events.answers-200",
			About: "an event that was applied is answered 200",
			Fails: []string{
				"events.applied", "events.all-scopes", "events.client-time", "events.metrics", "events.available-*", "events.default-policy",
				"events.reject", "events.overdraft*", "events.unit-mismatch",
			},
			Wrap: after(event, whenOK(func(_ *suite.Request, a *suite.Answer) *suite.Answer {
				c := *a
				c.Status = http.StatusOK
				return &c
			})),
		},
		{
			ID:    "events.not-applied",
			About: "an event is answered 201 and forgotten",
			Fails: []string{
				"events.applied", "events.all-scopes", "events.client-time", "events.available-*", "events.default-policy", "events.reject",
				"events.overdraft", "events.overdraft-beyond", "events.overdraft-covered", "events.no-overdraft", "events.frozen", "events.closed", "events.no-budget",
				"ledger.life", "concurrency.events", "concurrency.same-event",
			},
			Wrap: instead(event, func(r *suite.Request) *suite.Answer {
				a := answer(http.StatusCreated, applied(r))
				return a
			}),
		},
		{
			ID:    "events.same-id",
			About: "every event gets the same id",
			Fails: []string{"events.applied"},
			Wrap:  after(event, whenOK(set("event_id", "the-only-one"))),
		},
		{
			ID:    "events.innermost-only",
			About: "an event is charged to the innermost budget and told of the others as not spent",
			Fails: []string{"events.all-scopes", "events.available-nested"},
			Wrap: remembering(func() rule {
				var spent memory[int64]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					n, _ := suite.Integer(r.Body["actual"])
					if v, ok := suite.Lookup(any(r.Body), "actual.amount"); ok {
						n, _ = suite.Integer(v)
					}
					switch scopes := scopesOf(r); {
					case event(r) && a.Status == http.StatusCreated && len(scopes) > 1:
						if charged, ok := a.Int("charged.amount"); ok {
							n = charged
						}
						// The check's own level is below the budget's.
						for _, scope := range scopes[:len(scopes)-2] {
							spent.update(scope, func(was int64) int64 { return was + n })
						}
					case r.Op == suite.Balances:
						return books(func(scope string, b map[string]int64) {
							n, _ := spent.get(scope)
							b["spent"], b["remaining"] = b["spent"]-n, b["remaining"]+n
						})(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "events.old-ones-refused",
			About: "an event whose client's time is far from now is refused",
			Fails: []string{"events.client-time"},
			Wrap: instead(event.and("client_time_ms", func(v any) bool {
				ms, ok := suite.Integer(v)
				return ok && (ms < 1_000_000_000_000 || ms > 10_000_000_000_000)
			}), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "events.custom-metrics-refused",
			About: "metrics that the protocol does not name are refused",
			Fails: []string{"events.metrics"},
			Wrap:  instead(event.and("metrics.custom", not(equals(nil))), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "events.cap-not-told",
			About: "an event that was capped does not tell what was charged",
			Fails: []string{"events.available-capped", "events.available-held", "events.available-nested", "events.default-policy"},
			Wrap:  after(event, drop("charged")),
		},
		{
			ID:    "events.default-is-reject",
			About: "an event that names no policy is treated under REJECT",
			Fails: []string{"events.default-policy", "events.available-held", "events.available-nested"},
			Wrap:  before(unnamed, put("overage_policy", "REJECT")),
		},
		{
			ID:    "events.available-is-reject",
			About: "under ALLOW_IF_AVAILABLE an event of more than remains is refused",
			Fails: []string{"events.available-capped"},
			Wrap:  before(under("ALLOW_IF_AVAILABLE"), put("overage_policy", "REJECT")),
		},
		{
			ID:    "events.empty-is-over-limit",
			About: "a scope of which nothing remains is told as over its limit",
			Fails: []string{"events.available-exact", "events.reject", "events.overdraft"},
			Wrap: after(on(suite.Balances), change("balances.*", func(_ *suite.Request, v any) any {
				b, _ := v.(map[string]any)
				if n, ok := suite.Lookup(b, "remaining.amount"); ok {
					if left, _ := suite.Integer(n); left <= 0 {
						b["is_over_limit"] = true
					}
				}
				return b
			})),
		},
		{
			ID:    "events.never-over-limit",
			About: "a scope that an event was capped on is not told as over its limit",
			Fails: []string{"events.available-capped", "events.available-held", "events.available-nested", "events.default-policy"},
			Wrap:  after(on(suite.Balances), drop("balances.*.is_over_limit")),
		},
		{
			ID:    "events.reject-is-available",
			About: "under REJECT an event of more than remains is capped",
			Fails: []string{"events.reject", "events.reject-nested", "concurrency.events"},
			Wrap:  before(under("REJECT"), put("overage_policy", "ALLOW_IF_AVAILABLE")),
		},
		{
			ID:    "events.reject-is-not-atomic",
			About: "an event that is refused for the budget is charged 1 all the same",
			Fails: []string{"events.reject", "events.reject-nested", "concurrency.events"},
			Wrap: remembering(func() rule {
				var serial memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if event(r) && a.Code() == "BUDGET_EXCEEDED" {
						next(eventOn(r, 1, count(&serial, "")))
					}
					return a
				}
			}),
		},
		{
			ID:    "events.overdraft-is-available",
			About: "under ALLOW_WITH_OVERDRAFT an event is capped and makes no debt",
			Fails: []string{"events.overdraft", "events.overdraft-beyond"},
			Wrap:  before(under("ALLOW_WITH_OVERDRAFT"), put("overage_policy", "ALLOW_IF_AVAILABLE")),
		},
		{
			ID:    "events.overdraft-is-reject",
			About: "under ALLOW_WITH_OVERDRAFT an event of more than remains is refused with BUDGET_EXCEEDED",
			Fails: []string{"events.overdraft", "events.overdraft-beyond", "events.no-overdraft", "events.overdraft-nested"},
			Wrap:  before(under("ALLOW_WITH_OVERDRAFT"), put("overage_policy", "REJECT")),
		},
		{
			ID:    "events.overdraft-refused",
			About: "an event under ALLOW_WITH_OVERDRAFT is always beyond the limit",
			Fails: []string{"events.overdraft", "events.overdraft-beyond", "events.overdraft-covered"},
			Wrap:  instead(under("ALLOW_WITH_OVERDRAFT"), refuse(409, "OVERDRAFT_LIMIT_EXCEEDED")),
		},
		{
			ID:    "events.overdraft-unlimited",
			About: "an event beyond the overdraft limit is answered as applied",
			Fails: []string{"events.overdraft-beyond"},
			Wrap:  after(event, whenRefused(409, "OVERDRAFT_LIMIT_EXCEEDED", created(success(applied)))),
		},
		{
			ID:    "events.debt-is-not-told",
			About: "a debt is told as spent",
			Fails: []string{"events.overdraft", "events.overdraft-beyond"},
			Wrap: after(on(suite.Balances), books(func(_ string, b map[string]int64) {
				b["spent"], b["debt"] = b["spent"]+b["debt"], 0
			})),
		},
		{
			ID:    "events.status-not-looked-at",
			About: "an event on a frozen or closed budget is answered as applied",
			Fails: []string{"events.frozen", "events.closed"},
			Wrap: after(event, both(whenRefused(409, "BUDGET_FROZEN", created(success(applied))),
				whenRefused(409, "BUDGET_CLOSED", created(success(applied))))),
		},
		{
			ID:    "events.shut-is-exceeded",
			About: "an event on a frozen or closed budget is answered BUDGET_EXCEEDED",
			Fails: []string{"events.frozen", "events.closed"},
			Wrap: after(event, both(whenRefused(409, "BUDGET_FROZEN", refusal(409, "BUDGET_EXCEEDED")),
				whenRefused(409, "BUDGET_CLOSED", refusal(409, "BUDGET_EXCEEDED")))),
		},
		{
			ID:    "events.wrong-unit-not-found",
			About: "an event in a wrong unit is answered 404 NOT_FOUND, as if there were no budget",
			Fails: []string{"events.unit-mismatch", "events.unit-mismatch-details"},
			Wrap:  after(event, whenRefused(400, "UNIT_MISMATCH", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "events.no-budget-is-exceeded",
			About: "an event without any budget is answered 409 BUDGET_EXCEEDED",
			Fails: []string{"events.no-budget"},
			Wrap:  after(event, whenRefused(404, "NOT_FOUND", refusal(409, "BUDGET_EXCEEDED"))),
		},
		{
			ID:    "events.takes-unevenly",
			About: "an event under ALLOW_WITH_OVERDRAFT is told of the outermost budget that shows as one less",
			Fails: []string{"events.overdraft-nested"},
			Wrap: remembering(func() rule {
				var charged memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if under("ALLOW_WITH_OVERDRAFT")(r) && a.Status == http.StatusCreated {
						for _, scope := range scopesOf(r)[:2] {
							charged.swap(scope, true)
						}
					}
					if r.Op != suite.Balances {
						return a
					}
					return books(func(scope string, b map[string]int64) {
						if is, _ := charged.get(scope); is {
							b["spent"], b["remaining"] = b["spent"]-1, b["remaining"]+1
						}
					})(r, a)
				}
			}),
		},
	}
}
