package defects

import (
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func obstacles() []Defect {
	return []Defect{
		{
			ID:    "obstacles.no-budget-is-exceeded",
			About: "a create without any budget is answered 409 BUDGET_EXCEEDED",
			Fails: []string{"obstacles.no-budget", "scopes.level-counts"},
			Wrap:  after(on(suite.Create), whenRefused(404, "NOT_FOUND", refusal(409, "BUDGET_EXCEEDED"))),
		},
		{
			ID:    "obstacles.no-budget-no-limit",
			About: "a create without any budget is allowed",
			Fails: []string{"obstacles.no-budget", "scopes.level-counts"},
			Wrap:  after(live, whenRefused(404, "NOT_FOUND", success(allowed))),
		},
		{
			ID:    "obstacles.wrong-unit-not-found",
			About: "a wrong unit is answered 404 NOT_FOUND, as if there were no budget",
			Fails: []string{"obstacles.unit-mismatch*", "decide.unit-mismatch*", "dryrun.unit-mismatch*", "commit.unit-mismatch*"},
			Wrap:  after(every, whenRefused(400, "UNIT_MISMATCH", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "obstacles.wrong-unit-without-details",
			About: "a wrong unit is refused without details",
			Fails: []string{"obstacles.unit-mismatch-details", "decide.unit-mismatch-details", "dryrun.unit-mismatch-details", "commit.unit-mismatch-details"},
			Wrap:  after(every, drop("details")),
		},
		{
			ID:    "obstacles.shut-is-exceeded",
			About: "a create on a frozen or closed budget is answered BUDGET_EXCEEDED",
			Fails: []string{"obstacles.frozen", "obstacles.closed-budget", "obstacles.frozen-outside"},
			Wrap: after(live, both(whenRefused(409, "BUDGET_FROZEN", refusal(409, "BUDGET_EXCEEDED")),
				whenRefused(409, "BUDGET_CLOSED", refusal(409, "BUDGET_EXCEEDED")))),
		},
		{
			ID:    "obstacles.status-not-looked-at",
			About: "a create on a frozen or closed budget is allowed",
			Fails: []string{"obstacles.frozen", "obstacles.closed-budget", "obstacles.frozen-outside"},
			Wrap: after(live, both(whenRefused(409, "BUDGET_FROZEN", success(allowed)),
				whenRefused(409, "BUDGET_CLOSED", success(allowed)))),
		},
		{
			ID:    "obstacles.debt-not-looked-at",
			About: "a create on a scope that owes a debt is allowed",
			Fails: []string{"obstacles.debt"},
			Wrap:  after(live, whenRefused(409, "DEBT_OUTSTANDING", success(allowed))),
		},
		{
			ID:    "obstacles.debt-for-ever",
			About: "a scope that once owed a debt takes no reservation any more",
			Fails: []string{"obstacles.debt-repaid"},
			Wrap: remembering(func() rule {
				var owed memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					if live(r) && slices.ContainsFunc(scopesOf(r), func(scope string) bool { _, was := owed.get(scope); return was }) {
						return refused(409, "DEBT_OUTSTANDING")
					}
					a := next(r)
					for _, b := range a.Items("balances") {
						path, _ := suite.Lookup(b, "scope_path")
						debt, _ := suite.Lookup(b, "debt.amount")
						if n, _ := suite.Integer(debt); n > 0 {
							owed.swap(path.(string), true)
						}
					}
					return a
				}
			}),
		},
		{
			ID:    "obstacles.over-limit-for-ever",
			About: "a scope that once refused a reservation for being over its limit refuses them all",
			Fails: []string{"obstacles.over-limit-repaid"},
			Wrap: remembering(func() rule {
				var over memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					path := strings.Join(scopesOf(r)[:min(2, len(scopesOf(r)))], " ")
					if was, _ := over.get(path); was && live(r) {
						return refused(409, "OVERDRAFT_LIMIT_EXCEEDED")
					}
					a := next(r)
					if live(r) && a.Code() == "OVERDRAFT_LIMIT_EXCEEDED" {
						over.swap(path, true)
					}
					return a
				}
			}),
		},
		{
			ID:    "obstacles.over-limit-shown-for-ever",
			About: "a scope that owes anything is shown to be over its limit",
			Fails: []string{"obstacles.over-limit-repaid", "overage.overdraft-debt", "overage.overdraft-at-limit"},
			Wrap: after(on(suite.Balances), change("balances.*", func(_ *suite.Request, v any) any {
				debt, _ := suite.Lookup(v, "debt.amount")
				if n, _ := suite.Integer(debt); n > 0 {
					v.(map[string]any)["is_over_limit"] = true
				}
				return v
			})),
		},
		{
			ID:    "obstacles.over-limit-is-debt",
			About: "a create on a scope over its limit is answered DEBT_OUTSTANDING",
			Fails: []string{"obstacles.over-limit", "obstacles.over-limit-outside", "obstacles.over-limit-inside"},
			Wrap:  after(live, whenRefused(409, "OVERDRAFT_LIMIT_EXCEEDED", refusal(409, "DEBT_OUTSTANDING"))),
		},
		{
			ID:    "obstacles.over-limit-not-looked-at",
			About: "a create on a scope over its limit is allowed",
			Fails: []string{"obstacles.over-limit", "obstacles.over-limit-outside", "obstacles.over-limit-inside", "overage.available-capped", "overage.default-capped"},
			Wrap:  after(live, whenRefused(409, "OVERDRAFT_LIMIT_EXCEEDED", success(allowed))),
		},
		{
			ID:    "obstacles.scope-by-scope",
			About: "scopes are judged one after the other, so that an outer one without budget hides that an inner one is over its limit",
			Fails: []string{"obstacles.over-limit-inside"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if !live(r) || a.Code() != "OVERDRAFT_LIMIT_EXCEEDED" {
					return a
				}
				outer := newKey(r.Without("subject.app").Without("subject.agent").With("dry_run", true))
				if next(outer).Str("reason_code") == "BUDGET_EXCEEDED" {
					return refused(409, "BUDGET_EXCEEDED")
				}
				return a
			}),
		},
	}
}
