package defects

import (
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func expiry() []Defect {
	gone := func(s spoil) spoil { return whenRefused(410, "RESERVATION_EXPIRED", s) }
	behind := []string{
		"expiry.commit-after-grace", "expiry.commit-without-grace", "expiry.release-after-grace", "expiry.release-without-grace",
		"expiry.extended-ends", "expiry.granted-less", "expiry.default-grace", "expiry.own-clock", "expiry.grace-after-extend",
	}
	return []Defect{
		{
			ID:    "expiry.no-grace",
			About: "a reservation is gone as soon as it expires, whatever grace it asked for",
			Fails: []string{
				"expiry.commit-in-grace", "expiry.release-in-grace", "expiry.extend-in-grace", "expiry.default-grace", "expiry.held-in-grace",
				"expiry.grace-after-extend",
			},
			Wrap: before(on(suite.Create), put("grace_period_ms", 0)),
		},
		{
			ID:    "expiry.endless-grace",
			About: "every reservation has a grace of a minute",
			Fails: append([]string{"expiry.frees-budget"}, behind...),
			Wrap:  before(on(suite.Create), put("grace_period_ms", 60_000)),
		},
		{
			ID:    "expiry.no-default-grace",
			About: "a create that asks for no grace gets none",
			Fails: []string{"expiry.default-grace"},
			Wrap:  before(on(suite.Create).and("grace_period_ms", equals(nil)), put("grace_period_ms", 0)),
		},
		{
			ID:    "expiry.gone-is-final",
			About: "an expired reservation is answered 409 RESERVATION_FINALIZED",
			Fails: append([]string{"expiry.extend-in-grace", "expiry.extend-after-grace", "expiry.ends-as-told"}, behind...),
			Wrap:  after(every, gone(refusal(409, "RESERVATION_FINALIZED"))),
		},
		{
			ID:    "expiry.gone-is-unknown",
			About: "an expired reservation is answered 404 NOT_FOUND",
			Fails: append([]string{"expiry.extend-in-grace", "expiry.extend-after-grace", "expiry.ends-as-told"}, behind...),
			Wrap:  after(every, gone(refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "expiry.extend-revives",
			About: "an expired reservation can be extended",
			Fails: []string{"expiry.extend-in-grace", "expiry.extend-after-grace", "expiry.extended-ends", "expiry.ends-as-told"},
			Wrap:  after(on(suite.Extend), gone(success(goesOn))),
		},
		{
			ID:    "expiry.late-extend-ends-grace",
			About: "an extend that comes too late ends the grace",
			Fails: []string{"expiry.extend-in-grace"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if r.Op == suite.Extend && a.Status == http.StatusGone {
					next(r.Without("extend_by_ms").WithPath("/v1/reservations/" + r.Reservation + "/release"))
				}
				return a
			}),
		},
		{
			ID:    "expiry.clients-clock",
			About: "the Date of a request is taken for the time of a commit",
			Fails: []string{"expiry.own-clock"},
			Wrap: instead(func(r *suite.Request) bool {
				at, err := http.ParseTime(r.Header.Get("Date"))
				return err == nil && r.Op == suite.Commit && at.After(time.Now())
			}, func(*suite.Request) *suite.Answer { return refused(410, "RESERVATION_EXPIRED") }),
		},
		{
			ID:    "expiry.extend-only-told",
			About: "an extend tells a new expiry and moves it by a millisecond",
			Fails: []string{"expiry.extended-lives", "expiry.grace-after-extend", "extend.expiry-only"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				n, _ := suite.Integer(r.Body["extend_by_ms"])
				if r.Op != suite.Extend || n < 2 {
					return next(r)
				}
				return whenOK(both(add("expires_at_ms", n-1), add("remaining_ttl_ms", n-1)))(r, next(r.With("extend_by_ms", 1)))
			}),
		},
		{
			ID:    "expiry.budget-lost",
			About: "a budget that was used up once stays so",
			Fails: []string{"expiry.frees-budget", "release.gives-back"},
			Wrap: remembering(func() rule {
				var over memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					scopes := scopesOf(r)
					if live(r) && len(scopes) > 1 {
						if was, _ := over.get(scopes[1]); was {
							return refused(409, "BUDGET_EXCEEDED")
						}
					}
					a := next(r)
					if live(r) && a.Code() == "BUDGET_EXCEEDED" && len(scopes) > 1 {
						over.swap(scopes[1], true)
					}
					return a
				}
			}),
		},
		{
			ID:    "expiry.ends-early",
			About: "a reservation ends two seconds before it says",
			Fails: []string{"expiry.lives-as-told"},
			Wrap:  after(live, whenOK(both(add("expires_at_ms", 2000), add("remaining_ttl_ms", 2000)))),
		},
		{
			ID:    "expiry.ends-late",
			About: "a reservation ends two seconds after it says",
			Fails: []string{"expiry.commit-without-grace", "expiry.release-without-grace"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				ttl, ok := suite.Integer(r.Body["ttl_ms"])
				if !ok || !live(r) {
					return next(r)
				}
				a := next(r.With("ttl_ms", ttl+2000))
				return whenOK(both(add("expires_at_ms", -2000), add("remaining_ttl_ms", -2000)))(r, a)
			}),
		},
	}
}
