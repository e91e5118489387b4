package defects

import (
	"fmt"
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func balances() []Defect {
	shown := on(suite.Balances)
	named := func(r *suite.Request) bool { return shown(r) && r.Query.Get("tenant") == "" }
	return []Defect{
		{
			ID:    "balances.remaining-is-allocated",
			About: "what remains is told one too large",
			Fails: []string{"balances.shown", "balances.units", "ledger.invariant"},
			Wrap:  after(shown, add("balances.*.remaining.amount", 1)),
		},
		{
			ID:    "balances.tenant-needed",
			About: "balances without a tenant parameter are refused",
			Fails: []string{"balances.other-scope", "tenancy.balances-own-only"},
			Wrap:  instead(named, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "balances.filters-ignored",
			About: "all balances of the tenant are shown, whatever scope is asked for",
			Fails: []string{"balances.other-scope"},
			Wrap: remembering(func() rule {
				var tenants memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					key := r.Header.Get(suite.HeaderKey)
					if tenant := r.Query.Get("tenant"); shown(r) && tenant != "" {
						tenants.swap(key, tenant)
					}
					tenant, known := tenants.get(key)
					for _, level := range target.Levels() {
						if known && shown(r) && r.Query.Get(level) != "" {
							return next(unasked(target.Levels()...)(r).WithQuery("tenant", tenant))
						}
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "balances.filter-not-needed",
			About: "balances that are asked for without a filter are none, in place of a refusal",
			Fails: []string{"balances.filter-needed"},
			Wrap: after(func(r *suite.Request) bool {
				for _, level := range target.Levels() {
					if r.Query.Has(level) {
						return false
					}
				}
				return shown(r)
			}, whenRefused(400, "INVALID_REQUEST", success(empty("balances")))),
		},
		{
			ID:    "balances.children-refused",
			About: "include_children is refused as unknown",
			Fails: []string{"balances.include-children"},
			Wrap:  instead(on(suite.Balances).whenAsked("include_children", given), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "balances.bad-parameter-breaks-server",
			About: "an include_children that is no boolean is answered 500",
			Fails: []string{"balances.bad-parameter"},
			Wrap: instead(on(suite.Balances).whenAsked("include_children", func(v string) bool {
				return given(v) && v != "true" && v != "false"
			}), refuse(500, "INTERNAL_ERROR")),
		},
		{
			ID:    "balances.one-unit",
			About: "of the units of a scope only USD_MICROCENTS is shown",
			Fails: []string{"balances.units", "balances.pages"},
			Wrap: after(shown, keep("balances", func(_ *suite.Request, b map[string]any) bool {
				unit, _ := suite.Lookup(b, "remaining.unit")
				return unit == "USD_MICROCENTS"
			})),
		},
		{
			ID:    "balances.limit-ignored",
			About: "a page has as many balances as there are, whatever the limit",
			Fails: []string{"balances.pages"},
			Wrap: before(on(suite.Balances).whenAsked("limit", func(v string) bool { return v == "1" }),
				func(r *suite.Request) *suite.Request { return r.WithQuery("limit", "200") }),
		},
		{
			ID:    "balances.second-page-lost",
			About: "the second page of balances is empty",
			Fails: []string{"balances.pages"},
			Wrap: after(on(suite.Balances).whenAsked("cursor", given), whenOK(func(r *suite.Request, a *suite.Answer) *suite.Answer {
				return withBody(a, empty("balances")(r))
			})),
		},
		{
			ID:    "balances.scope-by-level",
			About: "a balance says the tenant where its scope path should be",
			Fails: []string{"balances.shown", "balances.units"},
			Wrap: after(shown, change("balances.*.scope_path", func(_ *suite.Request, v any) any {
				return "tenant:" + fmt.Sprint(len(fmt.Sprint(v)))
			})),
		},
		{
			ID:    "balances.not-found",
			About: "a scope without a budget is answered 404",
			Fails: []string{"balances.other-scope"},
			Wrap: after(shown, func(_ *suite.Request, a *suite.Answer) *suite.Answer {
				if a.Status == http.StatusOK && len(a.Items("balances")) == 0 {
					return refused(404, "NOT_FOUND")
				}
				return a
			}),
		},
	}
}
