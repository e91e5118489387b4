package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func overage() []Defect {
	policy := func(path string) func(*suite.Request) *suite.Request { return put("overage_policy", path) }
	capped := []string{
		"overage.available-capped", "overage.default-capped", "overage.available-nothing-left", "overage.available-held",
		"overage.available-scopes", "overage.available-scopes-inside",
	}
	actual := func(r *suite.Request) int64 {
		v, _ := suite.Lookup(any(r.Body), "actual.amount")
		n, _ := suite.Integer(v)
		return n
	}
	short := func(r *suite.Request, a *suite.Answer) bool {
		charged, there := a.Int("charged.amount")
		return r.Op == suite.Commit && there && charged < actual(r)
	}
	return []Defect{
		{
			ID:    "overage.never-rejects",
			About: "REJECT is treated like ALLOW_IF_AVAILABLE",
			Fails: []string{"overage.reject", "overage.reject-open"},
			Wrap:  before(on(suite.Create).and("overage_policy", equals("REJECT")), leaveOut("overage_policy")),
		},
		{
			ID:    "overage.reject-is-invalid",
			About: "a commit that REJECT forbids is answered 400",
			Fails: []string{"overage.reject", "overage.reject-open"},
			Wrap:  after(on(suite.Commit), whenRefused(409, "BUDGET_EXCEEDED", refusal(400, "INVALID_REQUEST"))),
		},
		{
			ID:    "overage.reject-settles",
			About: "a commit that REJECT forbids is refused and the reservation given back",
			Fails: []string{"overage.reject", "overage.reject-open"},
			Wrap:  releasing(409, "BUDGET_EXCEEDED"),
		},
		{
			ID:    "overage.always-rejects",
			About: "every policy is treated like REJECT",
			Fails: []string{"overage.available-*", "overage.default-*", "overage.overdraft-*"},
			Wrap:  before(on(suite.Create), policy("REJECT")),
		},
		{
			ID:    "overage.rejects-by-default",
			About: "a reservation without a policy is treated like REJECT",
			Fails: []string{"overage.default-*"},
			Wrap:  before(on(suite.Create).and("overage_policy", equals(nil)), policy("REJECT")),
		},
		{
			ID:    "overage.refused-when-short",
			About: "a commit that the budget cannot cover is answered 409 BUDGET_EXCEEDED under every policy",
			Fails: append([]string{"overage.overdraft-without-limit", "overage.overdraft-scopes"}, capped...),
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if short(r, a) {
					return refused(409, "BUDGET_EXCEEDED")
				}
				return a
			}),
		},
		{
			ID:    "overage.claims-all",
			About: "a commit whose charge was capped claims to have charged all of it",
			Fails: append([]string{"overage.overdraft-without-limit", "overage.overdraft-scopes"}, capped...),
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if short(r, a) {
					return set("charged.amount", actual(r))(r, a)
				}
				return a
			}),
		},
		{
			ID:    "overage.estimate-at-most",
			About: "a commit is charged what was reserved at most",
			Fails: []string{
				"overage.available-covered", "overage.default-covered", "overage.available-capped", "overage.available-exact", "overage.available-held",
				"overage.available-scopes", "overage.overdraft-covered", "overage.overdraft-debt", "overage.overdraft-at-limit",
				"overage.overdraft-adds-up", "overage.overdraft-partial", "overage.overdraft-scopes",
			},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				if r.Op == suite.Commit && created != nil {
					r = r.With("actual.amount", min(actual(r), estimate(created.Request)))
				}
				return next(r)
			}),
		},
		{
			ID:    "overage.not-flagged",
			About: "no scope is ever shown to be over its limit",
			Fails: append([]string{"overage.overdraft-without-limit", "overage.overdraft-scopes"}, capped...),
			Wrap:  after(on(suite.Balances), drop("balances.*.is_over_limit")),
		},
		{
			ID:    "overage.all-flagged",
			About: "every scope that spent is shown to be over its limit",
			Fails: []string{
				"overage.available-exact", "overage.available-covered", "overage.default-covered", "overage.available-scopes", "overage.available-scopes-inside",
				"overage.overdraft-covered", "overage.overdraft-debt", "overage.overdraft-at-limit", "overage.overdraft-adds-up", "overage.overdraft-partial",
			},
			Wrap: after(on(suite.Balances), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if spent, _ := a.Int("balances.0.spent.amount"); spent == 0 {
					return a
				}
				return set("balances.*.is_over_limit", true)(r, a)
			}),
		},
		{
			ID:    "overage.available-borrows",
			About: "ALLOW_IF_AVAILABLE is treated like ALLOW_WITH_OVERDRAFT",
			Fails: []string{"overage.available-scopes-inside"},
			Wrap:  before(on(suite.Create).and("overage_policy", equals("ALLOW_IF_AVAILABLE")), policy("ALLOW_WITH_OVERDRAFT")),
		},
		{
			ID:    "overage.overdraft-never-borrows",
			About: "ALLOW_WITH_OVERDRAFT is treated like ALLOW_IF_AVAILABLE",
			Fails: []string{"overage.overdraft-debt", "overage.overdraft-at-limit", "overage.overdraft-adds-up", "overage.overdraft-partial"},
			Wrap:  before(on(suite.Create).and("overage_policy", equals("ALLOW_WITH_OVERDRAFT")), policy("ALLOW_IF_AVAILABLE")),
		},
		{
			ID:    "overage.overdraft-beyond-limit",
			About: "a commit that would take the debt beyond its limit is answered 200 and charged nothing",
			Fails: []string{"overage.overdraft-at-limit", "overage.overdraft-adds-up"},
			Wrap: after(on(suite.Commit), whenRefused(409, "OVERDRAFT_LIMIT_EXCEEDED", success(func(r *suite.Request) map[string]any {
				return map[string]any{"status": "COMMITTED", "charged": r.Body["actual"]}
			}))),
		},
		{
			ID:    "overage.overdraft-settles",
			About: "a commit that would take the debt beyond its limit is refused and the reservation given back",
			Fails: []string{"overage.overdraft-at-limit", "overage.overdraft-adds-up"},
			Wrap:  releasing(409, "OVERDRAFT_LIMIT_EXCEEDED"),
		},
		{
			ID:    "overage.limit-exclusive",
			About: "a debt that reaches its limit is refused as if it were beyond",
			Fails: []string{"overage.overdraft-at-limit"},
			Wrap: remembering(func() rule {
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Op != suite.Commit {
						return next(r)
					}
					// One more would be refused, so this one reaches the limit.
					more := newKey(r.With("actual.amount", actual(r)+1))
					if probe := next(more); probe.Code() == "OVERDRAFT_LIMIT_EXCEEDED" {
						return refused(http.StatusConflict, "OVERDRAFT_LIMIT_EXCEEDED")
					}
					return next(r)
				}
			}),
		},
	}
}
