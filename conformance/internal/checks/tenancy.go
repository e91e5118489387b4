package checks

import (
	"context"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// tenancy is about what belongs to whom.
func tenancy() []suite.Check {
	var all []suite.Check
	subjectLines := map[string]int{"create": 1972, "dry-run": 1972, "decide": 1887, "event": 2945}
	reservationLines := map[string]int{"commit": 2425, "release": 2465, "extend": 2545, "get": 2372}
	for _, c := range append(calls(), reads()...) {
		if line, ok := subjectLines[c.name]; ok {
			all = append(all, foreignSubject(c, line), unknownTenant(c, line))
		}
		if line, ok := reservationLines[c.name]; ok {
			all = append(all, foreignReservation(c, line))
		}
	}
	return append(all, visibility()...)
}

func foreignSubject(c call, line int) suite.Check {
	return suite.Check{
		ID:          "tenancy.foreign-subject-" + c.name,
		Level:       suite.Must,
		Section:     authSection,
		Lines:       []int{45, 46, line},
		Requirement: "A subject whose tenant is another one than the key's is refused with 403 FORBIDDEN, although that tenant has the budget.",
		Needs:       []target.Kind{target.FundedB},
		Ops:         c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.FundedB))
			wantForbidden(t, t.Do(ctx, r.As(t.TenantA())))
			c.stillWorks(ctx, t, r)
		},
	}
}

func unknownTenant(c call, line int) suite.Check {
	return c.refusals("tenancy.unknown-tenant-"+c.name, authSection, []int{45, 46, line},
		"A subject whose tenant is one that nobody knows is refused with 403 FORBIDDEN like any other that is not the key's.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			wantForbidden(t, t.Do(ctx, r.With("subject.tenant", t.Name())))
		})
}

func foreignReservation(c call, line int) suite.Check {
	return suite.Check{
		ID: "tenancy.foreign-reservation-" + c.name, Level: suite.Must, Section: authSection, Lines: []int{47, 48, line},
		Requirement: "A reservation of another tenant is refused with 403 FORBIDDEN and stays as it is, and the owner's request sent again by a stranger is no replay.",
		Needs:       []target.Kind{target.TenantB, target.Funded}, Ops: c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.Funded))
			wantForbidden(t, t.Do(ctx, r.As(t.TenantB())))
			done := c.stillWorks(ctx, t, r)
			wantForbidden(t, t.Do(ctx, done.Request.As(t.TenantB())))
		},
	}
}

func wantForbidden(t *suite.T, a *suite.Answer) { t.WantError(a, http.StatusForbidden, "FORBIDDEN") }

func visibility() []suite.Check {
	return []suite.Check{
		{
			ID:          "tenancy.list-own-only",
			Level:       suite.Must,
			Section:     "listReservations",
			Lines:       []int{2088, 2091},
			Requirement: "A listing shows reservations of the key's tenant only.",
			Needs:       []target.Kind{target.TenantB, target.Funded},
			Ops:         []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				r := byKey(t, res)
				walkReservations(ctx, t, r).wantRow(t, res.ID)
				walkReservations(ctx, t, r.As(t.TenantB())).wantNoRow(t, res.ID, "it is another tenant's")
			},
		},
		foreignFilter("list", 2089, suite.List, func(t *suite.T, b *target.Budget) *suite.Request {
			return t.List(b.Tenant).WithQuery("limit", "1")
		}),
		foreignFilter("balances", 2889, suite.Balances, func(t *suite.T, b *target.Budget) *suite.Request {
			return t.Balances(b)
		}),
		{
			ID:          "tenancy.balances-own-only",
			Level:       suite.Must,
			Section:     authSection,
			Lines:       []int{50, 2888, 2890},
			Requirement: "Balances asked for without a tenant are those of the key's tenant, and never those of another.",
			Needs:       []target.Kind{target.TenantB, target.Funded},
			Ops:         []suite.Op{suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				if len(b.Subject) < 2 {
					t.Skip("the budget of fixture funded sits on the tenant itself, so it cannot be asked for without the tenant")
				}
				r := t.Balances(b).WithoutQuery("tenant")
				a := t.Do(ctx, r)
				t.WantStatus(a, http.StatusOK)
				_, shown := suite.BooksIn(a, b)
				t.True(a, shown, "the balance of "+b.ScopePath(), "it is not among %d balances", len(a.Items("balances")))
				a = t.Do(ctx, r.As(t.TenantB()))
				t.WantStatus(a, http.StatusOK)
				wantScopesOf(t, a, t.TenantB())
			},
		},
		{
			ID:          "tenancy.subject-without-tenant",
			Level:       suite.Must,
			Section:     authSection,
			Lines:       []int{44, 47, 50},
			Requirement: "A subject that names no tenant never reaches the budget of another tenant, whatever else it names.",
			Needs:       []target.Kind{target.TenantB, target.Ledger},
			Ops:         []suite.Op{suite.Create, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				before := t.Books(ctx, b)
				r := t.Create(b, 1).Without("subject.tenant")
				a := t.Do(ctx, r.As(t.TenantB()))
				if a.Status == http.StatusOK {
					wantScopesOf(t, a, t.TenantB())
				} else {
					t.True(a, a.Status >= 400 && a.Status < 500, "a refusal, or a reservation on the scopes of the key's tenant", "%s", suite.Describe(a))
				}
				t.WantBooks(ctx, b, before)
			},
		},
		{
			ID:          "tenancy.tenantless-budget",
			Level:       suite.Must,
			Section:     authSection,
			Lines:       []int{44, 47, 50},
			Requirement: "A budget on a scope that names no tenant is one tenant's all the same: the key of another holds nothing of it and is shown nothing of it.",
			Needs:       []target.Kind{target.TenantB, target.Tenantless},
			Ops:         []suite.Op{suite.Create, suite.Release},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Tenantless)
				mine := t.Do(ctx, t.Create(b, 1))
				if mine.Status != http.StatusOK {
					t.Skip("the server has no scopes without a tenant: it answers %s", suite.Describe(mine))
				}
				a := t.Do(ctx, t.Create(b, 1).As(t.TenantB()))
				_, shown := suite.BooksIn(a, b)
				t.True(a, !shown, "no balance of another tenant's budget", "%s", suite.Describe(a))
				t.Given(t.Do(ctx, t.Release(t.Made(b, mine))), http.StatusOK)
				reserved(ctx, t, t.Create(b, b.Allocated))
			},
		},
	}
}

// foreignFilter is about the tenant parameter, which under a tenant's key may
// name that tenant only.
func foreignFilter(name string, line int, op suite.Op, ask func(*suite.T, *target.Budget) *suite.Request) suite.Check {
	return suite.Check{
		ID:          "tenancy.foreign-filter-" + name,
		Level:       suite.Must,
		Section:     authSection,
		Lines:       []int{51, line},
		Requirement: "A tenant parameter that is not the key's tenant is refused with 403 FORBIDDEN, whether there is such a tenant or not.",
		Needs:       []target.Kind{target.TenantB, target.Funded},
		Ops:         []suite.Op{op},
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.Funded)
			r := ask(t, b)
			for _, tenant := range []string{t.TenantB().ID, t.Name()} {
				wantForbidden(t, t.Do(ctx, r.WithQuery("tenant", tenant)))
			}
			t.WantStatus(t.Do(ctx, r.WithQuery("tenant", b.Tenant.ID)), http.StatusOK)
		},
	}
}

// wantScopesOf wants no balance of the answer to be one of another tenant's.
func wantScopesOf(t *suite.T, a *suite.Answer, tenant target.Tenant) {
	for _, item := range a.Items("balances") {
		path, _ := suite.Lookup(item, "scope_path")
		s, _ := path.(string)
		first, _, _ := strings.Cut(s, "/")
		owner, named := strings.CutPrefix(first, "tenant:")
		t.True(a, !named || strings.EqualFold(owner, tenant.ID), "balances of tenant "+tenant.ID+" only", "one of %s", s)
	}
}
