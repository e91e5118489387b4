package defects

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// Alternative is a server that answers in another way than the reference and
// keeps the protocol all the same, since the text is silent or contradicts
// itself there. No check may fail on it.
type Alternative struct {
	// ID is area.what, as with defects.
	ID string
	// About says in one sentence what the server does.
	About string
	Wrap  Wrap
}

// Alternatives returns every alternative, in a fixed order.
func Alternatives() []Alternative {
	evaluations := func(r *suite.Request) bool { return dry(r) || r.Op == suite.Decide }
	return append([]Alternative{
		{
			ID:    "answers.bare",
			About: "answers carry none of the members that a schema leaves optional and no rule asks for",
			Wrap: after(on(suite.Create, suite.Decide, suite.Commit, suite.Release, suite.Extend, suite.Event), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if r.Op == suite.Decide {
					a = drop("affected_scopes")(r, a)
				}
				if r.Op == suite.Commit {
					a = drop("released")(r, a)
				}
				return both(drop("reserved"), drop("scope_path"), drop("balances"), drop("remaining_ttl_ms"))(r, a)
			}),
		},
		{
			ID:    "answers.no-remaining",
			About: "a server of the current edition does not tell remaining_ttl_ms",
			Wrap:  after(on(suite.Create, suite.Extend), drop("remaining_ttl_ms")),
		},
		{
			ID:    "balances.bare",
			About: "a balance shows what remains and nothing else, but for whether the scope is over its limit",
			Wrap: after(every, both(drop("balances.*.reserved"), drop("balances.*.spent"), drop("balances.*.debt"),
				drop("balances.*.allocated"), drop("balances.*.overdraft_limit"))),
		},
		{
			ID:    "balances.full-scope",
			About: "the scope of a balance is its whole path",
			Wrap: after(every, change("balances.*", func(_ *suite.Request, v any) any {
				if m, ok := v.(map[string]any); ok && m["scope_path"] != nil {
					m["scope"] = m["scope_path"]
				}
				return v
			})),
		},
		{
			ID:    "scopes.short",
			About: "affected_scopes are written without the levels above",
			Wrap:  after(every, both(change("affected_scopes.*", lastElement), change("reservations.*.affected_scopes.*", lastElement))),
		},
		{
			ID:    "obstacles.other-status",
			About: "a budget that is not open, and extensions that are used up, are refused with 403, keeping their codes",
			Wrap: after(every, func(_ *suite.Request, a *suite.Answer) *suite.Answer {
				switch a.Code() {
				case "BUDGET_FROZEN", "BUDGET_CLOSED", "MAX_EXTENSIONS_EXCEEDED":
					c := *a
					c.Status = http.StatusForbidden
					return &c
				}
				return a
			}),
		},
		{
			ID:    "obstacles.any-debt",
			About: "a debt stands in the way of reservations whatever the overdraft limit",
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				if !live(r) && !evaluations(r) || !owing(r, next) {
					return next(r)
				}
				a := next(r)
				switch {
				case live(r) && (a.Status == http.StatusOK || a.Code() == "BUDGET_EXCEEDED"):
					if id := a.Str("reservation_id"); id != "" {
						next(&suite.Request{
							Method: http.MethodPost, Path: "/v1/reservations/" + id + "/release",
							Header: r.Header, Body: map[string]any{"idempotency_key": id},
						})
					}
					return refused(409, "DEBT_OUTSTANDING")
				case evaluations(r) && a.Decision() != "":
					return withBody(a, map[string]any{"decision": "DENY", "reason_code": "DEBT_OUTSTANDING", "affected_scopes": scopesOf(r)})
				}
				return a
			}),
		},
		{
			ID:    "overage.no-limit-no-overdraft",
			About: "without an overdraft limit a commit under ALLOW_WITH_OVERDRAFT that the budget cannot cover is refused",
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				if r.Op != suite.Commit || created == nil || created.Request.Body["overage_policy"] != "ALLOW_WITH_OVERDRAFT" {
					return next(r)
				}
				v, _ := suite.Lookup(any(r.Body), "actual.amount")
				actual, _ := suite.Integer(v)
				for _, b := range booksOf(created.Request, next) {
					limit, _ := suite.Lookup(b, "overdraft_limit.amount")
					left, _ := suite.Lookup(b, "remaining.amount")
					n, _ := suite.Integer(limit)
					remains, _ := suite.Integer(left)
					if n == 0 && remains < actual-estimate(created.Request) {
						return refused(409, "OVERDRAFT_LIMIT_EXCEEDED")
					}
				}
				return next(r)
			}),
		},
		{
			ID:    "dryrun.projects",
			About: "a dry run shows the balances that a reservation would leave",
			Wrap: after(dry, change("balances.*", func(r *suite.Request, v any) any {
				b := &suite.Answer{Value: v}
				b = add("remaining.amount", -estimate(r))(r, b)
				return add("reserved.amount", estimate(r))(r, b).Value
			})),
		},
		{
			ID:    "evaluations.without-reason",
			About: "a DENY does not say why, which is only recommended unless the tenant is closed",
			Wrap: after(evaluations, change("reason_code", func(_ *suite.Request, v any) any {
				if v == "TENANT_CLOSED" {
					return v
				}
				return gone
			})),
		},
		{
			ID:    "decide.lets-debt-pass",
			About: "decide does not look at debts, which is only recommended",
			Wrap: after(on(suite.Decide), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if reason := a.Str("reason_code"); reason == "DEBT_OUTSTANDING" || reason == "OVERDRAFT_LIMIT_EXCEEDED" {
					return both(set("decision", "ALLOW"), drop("reason_code"))(r, a)
				}
				return a
			}),
		},
	}, append(readAlternatives(), otherAlternatives()...)...)
}

func lastElement(_ *suite.Request, v any) any {
	path, _ := v.(string)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// booksOf are the balances of the scopes of a create.
func booksOf(create *suite.Request, next server) []any {
	subject, _ := create.Body["subject"].(map[string]any)
	r := &suite.Request{Method: http.MethodGet, Path: "/v1/balances", Header: create.Header, Query: url.Values{"limit": {"200"}}}
	if tenant, ok := subject["tenant"].(string); ok {
		r = r.WithQuery("tenant", tenant)
	}
	mine := make(map[any]bool)
	for _, scope := range scopesOf(create) {
		mine[scope] = true
	}
	unit, _ := suite.Lookup(any(create.Body), "estimate.unit")
	var books []any
	for _, b := range next(r).Items("balances") {
		path, _ := suite.Lookup(b, "scope_path")
		u, _ := suite.Lookup(b, "remaining.unit")
		if mine[path] && u == unit {
			books = append(books, b)
		}
	}
	return books
}

// owing tells whether a scope of the create owes a debt within its limit.
func owing(create *suite.Request, next server) bool {
	for _, b := range booksOf(create, next) {
		debt, _ := suite.Lookup(b, "debt.amount")
		over, _ := suite.Lookup(b, "is_over_limit")
		if n, _ := suite.Integer(debt); n > 0 && over != true {
			return true
		}
	}
	return false
}
