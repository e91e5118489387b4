package defects

import (
	"encoding/json"
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// books spoils every balance that the answer shows. What it changes it finds as
// integers by member, and puts back the same way.
func books(f func(scope string, b map[string]int64)) spoil {
	return change("balances.*", func(_ *suite.Request, v any) any {
		balance, _ := v.(map[string]any)
		figures := make(map[string]int64)
		for member, amount := range balance {
			if n, ok := suite.Lookup(amount, "amount"); ok {
				figures[member], _ = suite.Integer(n)
			}
		}
		scope, _ := balance["scope_path"].(string)
		f(scope, figures)
		for member, amount := range balance {
			if m, ok := amount.(map[string]any); ok {
				m["amount"] = figures[member]
			}
		}
		return balance
	})
}

func ledger() []Defect {
	shown := on(suite.Balances)
	amount := func(r *suite.Request, path string) (int64, bool) {
		v, _ := suite.Lookup(any(r.Body), path)
		return suite.Integer(v)
	}
	zero := func(path string) which {
		return func(r *suite.Request) bool { n, ok := amount(r, path); return ok && n == 0 }
	}
	return []Defect{
		{
			ID:    "ledger.does-not-add-up",
			About: "what is spent is told one too large in every answer",
			Fails: []string{"ledger.invariant"},
			Wrap:  after(every, add("balances.*.spent.amount", 1)),
		},
		{
			ID:    "ledger.mixed-units",
			About: "what is reserved is told in another unit than what remains",
			Fails: []string{"ledger.one-unit"},
			Wrap:  after(every, whenOK(change("balances.*.reserved.unit", func(*suite.Request, any) any { return "CREDITS" }))),
		},
		{
			ID:    "ledger.holds-are-not-counted",
			About: "what reservations hold is told as remaining",
			Fails: []string{"ledger.reserve", "ledger.extend", "ledger.refusals"},
			Wrap: after(shown, books(func(_ string, b map[string]int64) {
				b["remaining"], b["reserved"] = b["remaining"]+b["reserved"], 0
			})),
		},
		{
			ID:    "ledger.spend-is-not-counted",
			About: "what was spent is told as remaining",
			Fails: []string{"ledger.life", "events.applied", "events.all-scopes"},
			Wrap: after(shown, books(func(_ string, b map[string]int64) {
				b["remaining"], b["spent"] = b["remaining"]+b["spent"], 0
			})),
		},
		{
			ID:    "ledger.nothing-is-no-amount",
			About: "an amount of 0 is refused",
			Fails: []string{"ledger.reserve-nothing", "commit.nothing"},
			Wrap: instead(func(r *suite.Request) bool {
				return live(r) && zero("estimate.amount")(r) || r.Op == suite.Commit && zero("actual.amount")(r)
			}, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "ledger.nothing-is-one",
			About: "a reservation of 0 holds 1",
			Fails: []string{"ledger.reserve-nothing"},
			Wrap: before(func(r *suite.Request) bool { return live(r) && zero("estimate.amount")(r) },
				put("estimate.amount", 1)),
		},
		{
			ID:    "ledger.rest-stays-held",
			About: "what a commit or a release gives back is spent as an event of 1",
			Fails: []string{"ledger.life"},
			Wrap: remembering(func() rule {
				var (
					serial memory[int]
					made   memory[*suite.Request]
				)
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if id := a.Str("reservation_id"); live(r) && id != "" {
						made.first(id, r)
					}
					returned := a.Has("released.amount")
					if create, was := made.get(r.Reservation); was && returned && a.Status == http.StatusOK {
						next(eventOn(create, 1, count(&serial, "")))
					}
					return a
				}
			}),
		},
		{
			ID:    "ledger.refused-is-charged",
			About: "a create or commit that is refused for the budget is charged 1 as an event",
			Fails: []string{"ledger.refusals", "ledger.largest-amount", "reserve.insufficient"},
			Wrap: remembering(func() rule {
				var (
					serial memory[int]
					made   memory[*suite.Request]
				)
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					create, was := made.get(r.Reservation)
					if live(r) {
						create, was = r, true
						if id := a.Str("reservation_id"); id != "" {
							made.first(id, r)
						}
					}
					if was && a.Code() == "BUDGET_EXCEEDED" {
						next(eventOn(create, 1, count(&serial, "")))
					}
					return a
				}
			}),
		},
		{
			ID:    "ledger.floating-point",
			About: "amounts go through floating-point numbers",
			Fails: []string{"ledger.exact"},
			Wrap: after(every, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if a.Value == nil {
					return a
				}
				return withBody(a, floated(a.Value))
			}),
		},
		{
			ID:    "ledger.large-amounts-refused",
			About: "an amount beyond 2^53 is refused as no integer",
			Fails: []string{"ledger.largest-amount"},
			Wrap: instead(func(r *suite.Request) bool {
				n, ok := amount(r, "estimate.amount")
				m, okActual := amount(r, "actual.amount")
				return ok && n > 1<<53 || okActual && m > 1<<53
			}, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "ledger.large-amounts-wrap",
			About: "the largest amount wraps around to a small one",
			Fails: []string{"ledger.largest-amount"},
			Wrap: before(on(suite.Create, suite.Commit), func(r *suite.Request) *suite.Request {
				for _, path := range []string{"estimate.amount", "actual.amount"} {
					if v, ok := suite.Lookup(any(r.Body), path); ok && v == json.Number("9223372036854775807") {
						r = r.With(path, int64(1))
					}
				}
				return r
			}),
		},
	}
}

// floated is the value with its integers as floating-point numbers hold them.
func floated(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = floated(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = floated(e)
		}
		return l
	default:
		if n, ok := suite.Integer(v); ok {
			return int64(float64(n))
		}
		return v
	}
}
