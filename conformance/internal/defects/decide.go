package defects

import (
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// obstructed are the ends of the ids of checks in which a preflight is denied.
func obstructed(area string) []string {
	var ids []string
	for _, o := range []string{"insufficient", "insufficient-outside", "frozen", "closed-budget", "no-budget", "debt", "over-limit"} {
		ids = append(ids, area+"."+o)
	}
	return ids
}

func decide() []Defect {
	denied := func(s spoil) spoil {
		return func(r *suite.Request, a *suite.Answer) *suite.Answer {
			if a.Decision() != "DENY" {
				return a
			}
			return s(r, a)
		}
	}
	conflict := func(r *suite.Request, a *suite.Answer) *suite.Answer { return refusal(409, a.Str("reason_code"))(r, a) }
	allow := both(set("decision", "ALLOW"), drop("reason_code"))
	reasons := []string{"decide.*-reason", "dryrun.*-reason"}
	return []Defect{
		{
			ID:    "decide.conflicts",
			About: "a decision that would be DENY is answered 409",
			Fails: append(obstructed("decide"), "decide.*-no-conflict", "decide.what-is-held", "decide.over-limit-inside"),
			Wrap:  after(on(suite.Decide), denied(conflict)),
		},
		{
			ID:    "decide.allows-all",
			About: "every decision is ALLOW",
			Fails: append(obstructed("decide"), "decide.what-is-held", "decide.*-reason", "decide.over-limit-inside"),
			Wrap:  after(on(suite.Decide), denied(allow)),
		},
		{
			ID:    "decide.no-reasons",
			About: "a DENY does not say why",
			Fails: append(reasons, "decide.over-limit-inside"),
			Wrap:  after(on(suite.Decide, suite.Create), denied(drop("reason_code"))),
		},
		{
			ID:    "decide.reserves",
			About: "a decision that is ALLOW reserves the amount",
			Fails: []string{"decide.changes-nothing"},
			Wrap: also(on(suite.Decide), func(r *suite.Request) *suite.Request {
				r = r.WithPath("/v1/reservations")
				return newKey(r)
			}),
		},
		{
			ID:    "decide.stale",
			About: "what a subject was allowed once is allowed for ever",
			Fails: []string{"decide.what-is-held"},
			Wrap:  before(on(suite.Decide), put("estimate.amount", 1)),
		},
		{
			ID:    "decide.reason-on-allow",
			About: "a reason_code comes with ALLOW too",
			Fails: []string{"decide.reason-on-deny-only"},
			Wrap:  after(on(suite.Decide, suite.Create), whenOK(set("reason_code", "BUDGET_EXCEEDED"))),
		},
		{
			ID:    "dryrun.conflicts",
			About: "a dry run that would be denied is answered 409",
			Fails: append(obstructed("dryrun"), "dryrun.holds-nothing", "dryrun.over-limit-inside", "dryrun.as-live"),
			Wrap:  after(dry, denied(conflict)),
		},
		{
			ID:    "dryrun.allows-all",
			About: "every dry run is ALLOW",
			Fails: append(obstructed("dryrun"), "dryrun.holds-nothing", "dryrun.over-limit-inside", "dryrun.as-live"),
			Wrap:  after(dry, denied(allow)),
		},
		{
			ID:    "dryrun.reserves",
			About: "dry_run is ignored",
			Fails: []string{"dryrun.allowed", "dryrun.changes-nothing", "dryrun.holds-nothing", "dryrun.not-listed", "dryrun.as-live", "dryrun.caps"},
			Wrap:  before(dry, leaveOut("dry_run")),
		},
		{
			ID:    "dryrun.reserves-in-secret",
			About: "a dry run is answered as one, and reserves",
			Fails: []string{"dryrun.changes-nothing", "dryrun.holds-nothing", "dryrun.not-listed"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				if !dry(r) {
					return next(r)
				}
				a := next(newKey(r))
				next(r.Without("dry_run"))
				return a
			}),
		},
		{
			ID:    "dryrun.looks-live",
			About: "a dry run is answered with an expiry and a time left",
			Fails: append(obstructed("dryrun"), "dryrun.allowed", "dryrun.caps"),
			Wrap:  after(dry, whenOK(both(set("expires_at_ms", farFuture), set("remaining_ttl_ms", 60_000)))),
		},
		{
			ID:    "dryrun.denied-without-scopes",
			About: "a dry run that is denied lists no scopes",
			Fails: append(obstructed("dryrun"), "dryrun.over-limit-inside"),
			Wrap:  after(dry, denied(set("affected_scopes", []any{}))),
		},
		{
			ID:    "dryrun.wrong-balances",
			About: "a dry run shows balances that are neither those before nor those after",
			Fails: []string{"dryrun.changes-nothing"},
			Wrap:  after(dry, add("balances.*.remaining.amount", -7)),
		},
	}
}
