package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func tenancy() []Defect {
	settled := []string{"tenancy.foreign-reservation-commit", "tenancy.foreign-reservation-release"}
	return []Defect{
		{
			ID:    "tenancy.not-found-for-forbidden",
			About: "what belongs to another tenant is answered 404 NOT_FOUND",
			Fails: []string{"tenancy.foreign-subject-*", "tenancy.unknown-tenant-*", "tenancy.foreign-reservation-*", "tenancy.foreign-filter-*"},
			Wrap:  after(every, whenRefused(403, "FORBIDDEN", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "tenancy.subject-tenant-not-looked-at",
			About: "the tenant of a subject is taken as if it were left out",
			Fails: []string{"tenancy.foreign-subject-*", "tenancy.unknown-tenant-*"},
			Wrap:  lenient(on(suite.Create, suite.Decide, suite.Event), 403, leaveOut("subject.tenant")),
		},
		{
			ID:    "tenancy.acts-while-refusing",
			About: "a commit, release or extend by a stranger is answered 403, but done",
			Fails: settled,
			Wrap: withOwners(func(r *suite.Request, next server, owner string) *suite.Answer {
				a := next(r)
				if a.Status == http.StatusForbidden && owner != "" {
					next(r.WithKey(owner))
				}
				return a
			}),
		},
		{
			ID:    "tenancy.reservation-open-to-all",
			About: "whoever knows the id of a reservation may use it",
			Fails: []string{"tenancy.foreign-reservation-*"},
			Wrap: withOwners(func(r *suite.Request, next server, owner string) *suite.Answer {
				if owner != "" && r.Header.Get(suite.HeaderAdminKey) == "" {
					r = r.WithKey(owner)
				}
				return next(r)
			}),
		},
		{
			ID:    "tenancy.replay-for-strangers",
			About: "a replay is recognised before it is looked whose reservation it is about",
			Fails: append([]string{"tenancy.foreign-reservation-extend"}, settled...),
			Wrap: remembering(func() rule {
				var answers memory[*suite.Answer]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					name := r.Path + " " + r.Key()
					if before, was := answers.get(name); was && a.Status == http.StatusForbidden {
						return before
					}
					if a.Status == http.StatusOK && r.Reservation != "" && r.Body != nil {
						answers.swap(name, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "tenancy.list-shows-others",
			About: "a listing that would be empty shows what the last key that worked would see",
			Fails: []string{"tenancy.list-own-only"},
			Wrap: withLastKey(func(r *suite.Request, next server, last string) *suite.Answer {
				a := next(r)
				if r.Op == suite.List && a.Status == http.StatusOK && len(a.Items("reservations")) == 0 {
					return next(r.WithKey(last))
				}
				return a
			}),
		},
		{
			ID:    "tenancy.filter-not-checked",
			About: "a tenant parameter that is not the key's tenant is ignored",
			Fails: []string{"tenancy.foreign-filter-*"},
			Wrap: lenient(on(suite.List, suite.Balances), 403, func(r *suite.Request) *suite.Request {
				return r.WithoutQuery("tenant")
			}),
		},
		{
			ID:    "tenancy.balances-show-others",
			About: "balances are those of the first key that asked",
			Fails: []string{"tenancy.balances-own-only"},
			Wrap: remembering(func() rule {
				var keys memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Op == suite.Balances {
						key, _ := keys.first("", r.Header.Get(suite.HeaderKey))
						r = r.WithKey(key)
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "tenancy.balances-need-tenant",
			About: "balances without a tenant parameter are empty",
			Fails: []string{"tenancy.balances-own-only"},
			Wrap: after(on(suite.Balances), func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if r.Query.Get("tenant") == "" {
					return withBody(a, map[string]any{"balances": []any{}})
				}
				return a
			}),
		},
		{
			ID:    "tenancy.scopes-shared",
			About: "a subject without a tenant reserves on the budget that was last asked for, whoever owns it",
			Fails: []string{"tenancy.subject-without-tenant"},
			Wrap: remembering(func() rule {
				var asked memory[*suite.Request]
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Op == suite.Balances {
						asked.swap("", r)
					}
					a := next(r)
					if other, was := asked.get(""); was && live(r) && a.Status >= 400 {
						return next(r.WithKey(other.Header.Get(suite.HeaderKey)).With("subject.tenant", other.Query.Get("tenant")))
					}
					return a
				}
			}),
		},
		{
			ID:    "tenancy.tenantless-is-shared",
			About: "scopes without a tenant are the same for all tenants",
			Fails: []string{"tenancy.tenantless-budget"},
			Wrap: remembering(func() rule {
				var keys memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					if tenant, _ := suite.Lookup(any(r.Body), "subject.tenant"); live(r) && tenant == nil {
						key, _ := keys.first("", r.Header.Get(suite.HeaderKey))
						r = r.WithKey(key)
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "tenancy.tenantless-shows-others",
			About: "a reservation without a tenant that is refused shows the balance of whoever has one there",
			Fails: []string{"tenancy.tenantless-budget"},
			Wrap: remembering(func() rule {
				var shown memory[any]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					tenant, _ := suite.Lookup(any(r.Body), "subject.tenant")
					switch balances, _ := a.Get("balances"); {
					case !live(r) || tenant != nil:
					case a.Status == http.StatusOK:
						shown.first("", balances)
					case a.Status == http.StatusNotFound:
						if balances, was := shown.get(""); was {
							return both(success(allowed), set("balances", balances))(r, a)
						}
					}
					return a
				}
			}),
		},
	}
}

// withOwners is a rule that knows the key with which the reservation of the
// request was made.
func withOwners(f func(r *suite.Request, next server, owner string) *suite.Answer) Wrap {
	return withCreates(func(r *suite.Request, next server, created *suite.Answer) *suite.Answer {
		if created == nil {
			return f(r, next, "")
		}
		return f(r, next, created.Request.Header.Get(suite.HeaderKey))
	})
}
