package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// Races that are won or lost by chance prove nothing, so these servers count:
// what they do wrong they do from a certain number of requests on, which only
// a crowd reaches.
func concurrency() []Defect {
	crowd := func(w which, most int, f rule, name func(*suite.Request) string) Wrap {
		return remembering(func() rule {
			var seen memory[int]
			return func(r *suite.Request, next server) *suite.Answer {
				if !w(r) || count(&seen, name(r)) <= most {
					return next(r)
				}
				return f(r, next)
			}
		})
	}
	bySubject := func(r *suite.Request) string { s := scopesOf(r); return s[max(0, len(s)-2)] }
	byReservation := func(r *suite.Request) string { return r.Reservation }
	mended := func(s spoil) rule {
		return func(r *suite.Request, next server) *suite.Answer { return s(r, next(r)) }
	}
	return []Defect{
		{
			ID:    "concurrency.crowd-oversubscribes",
			About: "from the ninth reservation on a budget on what remains is not looked at",
			Fails: []string{"concurrency.reserve", "concurrency.last-unit", "concurrency.nested"},
			Wrap:  crowd(live, 8, mended(whenRefused(409, "BUDGET_EXCEEDED", success(allowed))), bySubject),
		},
		{
			ID:    "concurrency.crowd-is-refused",
			About: "from the seventh reservation on a budget on there is never enough left",
			Fails: []string{"concurrency.reserve", "concurrency.nested"},
			Wrap:  crowd(live, 6, func(*suite.Request, server) *suite.Answer { return refused(409, "BUDGET_EXCEEDED") }, bySubject),
		},
		{
			ID:    "concurrency.crowd-is-throttled",
			About: "from the seventh reservation on a budget on the server breaks",
			Fails: []string{"concurrency.reserve", "concurrency.last-unit", "concurrency.nested"},
			Wrap:  crowd(live, 6, func(*suite.Request, server) *suite.Answer { return refused(500, "INTERNAL_ERROR") }, bySubject),
		},
		{
			ID:    "concurrency.crowd-of-events",
			About: "from the ninth event under REJECT on a budget on what remains is not looked at",
			Fails: []string{"concurrency.events"},
			Wrap: crowd(on(suite.Event).and("overage_policy", equals("REJECT")), 8,
				mended(whenRefused(409, "BUDGET_EXCEEDED", func(r *suite.Request, a *suite.Answer) *suite.Answer {
					c := *success(applied)(r, a)
					c.Status = http.StatusCreated
					return &c
				})), bySubject),
		},
		{
			ID:    "concurrency.releases-lost",
			About: "every release after the fourth is answered and forgotten",
			Fails: []string{"concurrency.reserve-and-release"},
			Wrap: crowd(on(suite.Release), 4, func(*suite.Request, server) *suite.Answer {
				return ok(map[string]any{"status": "RELEASED", "released": suite.Amount("USD_MICROCENTS", 3)})
			}, func(*suite.Request) string { return "" }),
		},
		{
			ID:    "concurrency.two-commits",
			About: "the fifth commit of a reservation is answered as if it were the first",
			Fails: []string{"concurrency.commits"},
			Wrap: crowd(on(suite.Commit), 4, mended(whenRefused(409, "RESERVATION_FINALIZED", success(func(r *suite.Request) map[string]any {
				return map[string]any{"status": "COMMITTED", "charged": r.Body["actual"]}
			}))), byReservation),
		},
		{
			ID:    "concurrency.both-settle",
			About: "a release of a committed reservation and a commit of a released one are answered as done",
			Fails: []string{"concurrency.commit-or-release"},
			Wrap: remembering(func() rule {
				var settled memory[suite.Op]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					by, _ := settled.get(r.Reservation)
					switch {
					case !on(suite.Commit, suite.Release)(r):
					case a.Status == http.StatusOK:
						settled.first(r.Reservation, r.Op)
					case a.Code() == "RESERVATION_FINALIZED" && by != r.Op && r.Op == suite.Commit:
						return ok(map[string]any{"status": "COMMITTED", "charged": r.Body["actual"]})
					case a.Code() == "RESERVATION_FINALIZED" && by != r.Op:
						return ok(map[string]any{"status": "RELEASED", "released": suite.Amount("USD_MICROCENTS", 10)})
					}
					return a
				}
			}),
		},
		{
			ID:    "concurrency.extends-lost",
			About: "from the fourth extend of a reservation on the expiry stays where the third one put it",
			Fails: []string{"concurrency.extends"},
			Wrap: remembering(func() rule {
				var (
					seen memory[int]
					last memory[*suite.Answer]
				)
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Op != suite.Extend {
						return next(r)
					}
					if count(&seen, r.Reservation) > 3 {
						if a, was := last.get(r.Reservation); was {
							return a
						}
					}
					a := next(r)
					last.swap(r.Reservation, a)
					return a
				}
			}),
		},
	}
}
