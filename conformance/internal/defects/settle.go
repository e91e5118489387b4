package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// settle has the defects of commit and release.
func settle() []Defect {
	finalized := []string{"commit.then-*", "release.then-*"}
	final := func(op suite.Op, body map[string]any) Wrap {
		return after(on(op), whenRefused(409, "RESERVATION_FINALIZED", success(func(*suite.Request) map[string]any { return body })))
	}
	nothing := suite.Amount("USD_MICROCENTS", 0)
	return []Defect{
		{
			ID:    "commit.charges-estimate",
			About: "a commit is charged what was reserved, whatever was used",
			Fails: []string{"commit.less", "commit.nothing", "commit.all-scopes", "commit.only-its-own", "commit.once", "commit.extended", "overage.available-covered"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				if r.Op == suite.Commit && created != nil {
					r = r.With("actual.amount", estimate(created.Request))
				}
				return next(r)
			}),
		},
		{
			ID:    "commit.keeps-rest",
			About: "what a commit did not use stays held",
			Fails: []string{"commit.less", "commit.nothing", "commit.all-scopes", "commit.only-its-own"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				a := next(r)
				if rest, _ := a.Int("released.amount"); r.Op == suite.Commit && rest > 0 && created != nil {
					next(newKey(created.Request.With("estimate.amount", rest)))
				}
				return a
			}),
		},
		{
			ID:    "commit.outer-keeps-rest",
			About: "the outer budget of a reservation is given nothing back",
			Fails: []string{"commit.all-scopes", "release.all-scopes"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				a := next(r)
				if rest, _ := a.Int("released.amount"); on(suite.Commit, suite.Release)(r) && rest > 0 && created != nil {
					next(newKey(created.Request.With("estimate.amount", rest).Without("subject.app")))
				}
				return a
			}),
		},
		{
			ID:    "commit.charged-off",
			About: "a commit tells one more than it charged",
			Fails: []string{"commit.less", "commit.exact", "commit.nothing", "commit.extended", "overage.available-*", "overage.overdraft-*"},
			Wrap:  after(on(suite.Commit), add("charged.amount", 1)),
		},
		{
			ID:    "commit.released-off",
			About: "a commit tells one more than it gave back, and gives back when there is nothing left over",
			Fails: []string{"commit.less", "commit.exact", "overage.available-covered"},
			Wrap: after(on(suite.Commit), whenOK(change("released", func(_ *suite.Request, v any) any {
				m, _ := v.(map[string]any)
				n, _ := suite.Integer(m["amount"])
				return suite.Amount("USD_MICROCENTS", n+1)
			}))),
		},
		{
			ID:    "commit.not-final",
			About: "a commit of a settled reservation is answered 200",
			Fails: []string{"commit.once", "commit.then-commit", "release.then-commit", "release.keeps-charges"},
			Wrap:  final(suite.Commit, map[string]any{"status": "COMMITTED", "charged": nothing}),
		},
		{
			ID:    "release.not-final",
			About: "a release of a settled reservation is answered 200",
			Fails: []string{"commit.once", "commit.then-release", "release.then-release", "release.keeps-charges"},
			Wrap:  final(suite.Release, map[string]any{"status": "RELEASED", "released": nothing}),
		},
		{
			ID:    "commit.final-is-gone",
			About: "a settled reservation is answered 410 RESERVATION_EXPIRED",
			Fails: append(finalized, "commit.once", "release.keeps-charges", "extend.active-only", "auth.admin-release"),
			Wrap:  after(every, whenRefused(409, "RESERVATION_FINALIZED", refusal(410, "RESERVATION_EXPIRED"))),
		},
		{
			ID:    "commit.final-but-charged",
			About: "a commit of a settled reservation is refused, and charged",
			Fails: []string{"commit.once", "release.keeps-charges"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				a := next(r)
				if r.Op == suite.Commit && a.Code() == "RESERVATION_FINALIZED" && created != nil {
					charge := created.Request.Without("estimate").Without("ttl_ms").Without("grace_period_ms").
						With("actual", r.Body["actual"]).WithPath("/v1/events")
					next(newKey(charge))
				}
				return a
			}),
		},
		{
			ID:    "commit.unknown-is-gone",
			About: "a reservation that never existed is answered 410 RESERVATION_EXPIRED",
			Fails: []string{"commit.unknown-reservation", "release.unknown-reservation", "extend.unknown-reservation"},
			Wrap:  after(on(suite.Commit, suite.Release, suite.Extend), whenRefused(404, "NOT_FOUND", refusal(410, "RESERVATION_EXPIRED"))),
		},
		{
			ID:    "commit.settles-the-next",
			About: "a commit or release gives back another reservation too, the one that was made last",
			Fails: []string{"commit.only-its-own", "release.only-its-own"},
			Wrap: remembering(func() rule {
				var last memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if id := a.Str("reservation_id"); live(r) && id != "" {
						last.swap("", id)
					}
					if other, was := last.get(""); was && on(suite.Commit, suite.Release)(r) && a.Status == http.StatusOK && other != r.Reservation {
						next(r.Without("actual").With("idempotency_key", "settled-by-the-way").WithPath("/v1/reservations/" + other + "/release"))
					}
					return a
				}
			}),
		},
		{
			ID:    "commit.not-when-extended",
			About: "a reservation that was extended cannot be committed",
			Fails: []string{"commit.extended", "expiry.extended-lives"},
			Wrap: remembering(func() rule {
				var extended memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					if was, _ := extended.get(r.Reservation); was && r.Op == suite.Commit {
						return refused(410, "RESERVATION_EXPIRED")
					}
					if r.Op == suite.Extend {
						extended.swap(r.Reservation, true)
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "commit.unit-not-looked-at",
			About: "the unit of a commit is taken for the reservation's",
			Fails: []string{"commit.unit-mismatch", "commit.unit-mismatch-open"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				if r.Op == suite.Commit && created != nil {
					unit, _ := suite.Lookup(any(created.Request.Body), "estimate.unit")
					r = r.With("actual.unit", unit)
				}
				return next(r)
			}),
		},
		{
			ID:    "commit.wrong-unit-settles",
			About: "a commit in a wrong unit is refused and the reservation given back",
			Fails: []string{"commit.unit-mismatch", "commit.unit-mismatch-open"},
			Wrap:  releasing(400, "UNIT_MISMATCH"),
		},
		{
			ID:    "release.keeps",
			About: "a release is answered 200 and not done",
			Fails: []string{"release.gives-back", "release.all-scopes", "release.only-its-own", "release.keeps-charges", "release.then-*"},
			Wrap: withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
				if r.Op != suite.Release || created == nil {
					return next(r)
				}
				return ok(map[string]any{"status": "RELEASED", "released": created.Request.Body["estimate"]})
			}),
		},
		{
			ID:    "release.amount-off",
			About: "a release tells one less than it gave back",
			Fails: []string{"release.gives-back", "release.all-scopes", "release.only-its-own", "release.with-reason"},
			Wrap:  after(on(suite.Release), add("released.amount", -1)),
		},
		{
			ID:    "release.reason-plain-only",
			About: "a reason with anything but ASCII in it is refused",
			Fails: []string{"release.with-reason"},
			Wrap: instead(on(suite.Release).and("reason", func(v any) bool {
				s, _ := v.(string)
				for _, c := range s {
					if c > '~' {
						return true
					}
				}
				return false
			}), func(*suite.Request) *suite.Answer { return refused(400, "INVALID_REQUEST") }),
		},
	}
}

// releasing gives a reservation back whose commit is refused with that.
func releasing(status int, code string) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		a := next(r)
		if r.Op == suite.Commit && a.Status == status && a.Code() == code {
			next(r.Without("actual").WithPath("/v1/reservations/" + r.Reservation + "/release"))
		}
		return a
	})
}
