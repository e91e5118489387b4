package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func reserve() []Defect {
	return []Defect{
		{
			ID:    "reserve.same-id",
			About: "every reservation gets the same id",
			Fails: []string{"reserve.answer"},
			Wrap:  after(live, whenOK(set("reservation_id", "the-only-one"))),
		},
		{
			ID:    "reserve.id-lost",
			About: "a live create is answered without an id",
			Fails: []string{"reserve.answer", "reserve.insufficient", "reserve.caps"},
			Wrap:  after(live, drop("reservation_id")),
		},
		{
			ID:    "reserve.amount-off",
			About: "a create tells one more than it reserved",
			Fails: []string{"reserve.answer"},
			Wrap:  after(live, add("reserved.amount", 1)),
		},
		{
			ID:    "reserve.ttl-ignored",
			About: "every reservation lives for the default time, whatever it asked for",
			Fails: []string{"reserve.lease"},
			Wrap:  before(on(suite.Create), leaveOut("ttl_ms")),
		},
		{
			ID:    "reserve.denies",
			About: "a live create that the budget cannot meet is answered 200 with decision DENY",
			Fails: []string{"reserve.never-denies", "reserve.insufficient", "reserve.sum"},
			Wrap: after(live, whenRefused(409, "BUDGET_EXCEEDED", success(func(r *suite.Request) map[string]any {
				return map[string]any{"decision": "DENY", "reason_code": "BUDGET_EXCEEDED", "affected_scopes": scopesOf(r)}
			}))),
		},
		{
			ID:    "reserve.not-enforced",
			About: "a live create that the budget cannot meet is allowed and reserves nothing",
			Fails: []string{
				"reserve.insufficient", "reserve.sum", "reserve.policy-lends-nothing", "reserve.short-outside", "reserve.short-inside",
				"obstacles.debt-within-limit",
			},
			Wrap: after(live, whenRefused(409, "BUDGET_EXCEEDED", success(allowed))),
		},
		{
			ID:    "reserve.throttles",
			About: "a live create that the budget cannot meet is answered 429",
			Fails: []string{"reserve.insufficient", "reserve.sum"},
			Wrap:  after(live, whenRefused(409, "BUDGET_EXCEEDED", refusal(429, "LIMIT_EXCEEDED"))),
		},
		{
			ID:    "reserve.holds-nothing",
			About: "a live create is a dry run that got an id",
			Fails: []string{"reserve.insufficient", "reserve.sum", "reserve.other-unit-untouched", "reserve.short-*", "reserve.inner-not-asked"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				if !live(r) {
					return next(r)
				}
				a := next(r.With("dry_run", true))
				if a.Decision() == "DENY" {
					return next(r)
				}
				return whenOK(both(set("reservation_id", r.Key()), set("expires_at_ms", farFuture)))(r, a)
			}),
		},
		{
			ID:    "reserve.holds-when-refused",
			About: "a live create that the budget cannot meet is refused and holds 1 all the same",
			Fails: []string{"reserve.short-outside", "reserve.short-inside", "reserve.policy-lends-nothing"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if live(r) && a.Code() == "BUDGET_EXCEEDED" {
					next(newKey(r.With("estimate.amount", 1)))
				}
				return a
			}),
		},
		{
			ID:    "reserve.overdraft-lends",
			About: "a create under ALLOW_WITH_OVERDRAFT is allowed beyond what remains",
			Fails: []string{"reserve.policy-lends-nothing"},
			Wrap: lenient(which(live).and("overage_policy", equals("ALLOW_WITH_OVERDRAFT")), http.StatusConflict,
				put("estimate.amount", 0)),
		},
		{
			ID:    "reserve.cut-down",
			About: "a create under ALLOW_IF_AVAILABLE is cut down to what remains",
			Fails: []string{"reserve.policy-lends-nothing"},
			Wrap: lenient(which(live).and("overage_policy", equals("ALLOW_IF_AVAILABLE")), http.StatusConflict,
				put("estimate.amount", 0)),
		},
		{
			ID:    "reserve.all-units",
			About: "a reservation holds its amount in the budget of another unit too",
			Fails: []string{"reserve.other-unit-untouched"},
			Wrap: also(live, func(r *suite.Request) *suite.Request {
				unit := "TOKENS"
				if v, _ := suite.Lookup(any(r.Body), "estimate.unit"); v == unit {
					unit = "USD_MICROCENTS"
				}
				return newKey(r.With("estimate.unit", unit))
			}),
		},
		{
			ID:    "reserve.inner-held",
			About: "a reservation on a scope is held by the budgets inside it too",
			Fails: []string{"reserve.inner-not-asked"},
			Wrap: also(which(live).and("subject.app", equals(nil)), func(r *suite.Request) *suite.Request {
				return newKey(r.With("subject.app", "inner"))
			}),
		},
		{
			ID:    "reserve.caps-lost",
			About: "ALLOW_WITH_CAPS comes without caps",
			Fails: []string{"reserve.caps", "reserve.caps-with-caps-only", "decide.caps", "dryrun.caps"},
			Wrap:  after(on(suite.Create, suite.Decide), drop("caps")),
		},
		{
			ID:    "reserve.caps-always",
			About: "ALLOW comes with caps",
			Fails: []string{"reserve.caps-with-caps-only"},
			Wrap:  after(on(suite.Create, suite.Decide), whenOK(set("caps", map[string]any{"max_tokens": 7}))),
		},
		{
			ID:    "reserve.caps-not-told",
			About: "what is allowed with caps is answered with a plain ALLOW",
			Fails: []string{"reserve.caps", "decide.caps", "dryrun.caps"},
			Wrap:  after(on(suite.Create, suite.Decide), whenOK(both(drop("caps"), set("decision", "ALLOW")))),
		},
	}
}

// scopesOf are the scopes of a request's subject.
func scopesOf(r *suite.Request) []string {
	subject, _ := r.Body["subject"].(map[string]any)
	return suite.Scopes(subject)
}

// allowed is the body of a create that was allowed.
func allowed(r *suite.Request) map[string]any {
	scopes := scopesOf(r)
	return map[string]any{
		"decision": "ALLOW", "reservation_id": r.Key(), "affected_scopes": scopes, "scope_path": scopes[len(scopes)-1],
		"reserved": r.Body["estimate"], "expires_at_ms": farFuture, "remaining_ttl_ms": 60_000,
	}
}

// also does one more thing when a request of those succeeded.
func also(w which, e edit) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		a := next(r)
		if w(r) && a.Status == http.StatusOK {
			next(e(r))
		}
		return a
	})
}
