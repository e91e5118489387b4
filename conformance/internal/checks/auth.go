package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// auth is about who asks: the key, the tenant it stands for, and what the
// operator's key opens. What a stranger may not do with a reservation or a
// subject is in tenancy.go.
func auth() []suite.Check {
	var all []suite.Check
	for _, c := range slices.Concat(calls(), reads()) {
		all = append(all, noKey(c), unknownKey(c))
	}
	for _, c := range calls() {
		if c.name != "release" {
			all = append(all, adminKeyShut(c))
		}
	}
	all = append(all, adminKeyShut(balancesRead()))
	return slices.Concat(all, revokedKey(), adminKey())
}

// reads are the operations that only look, in the form of the others.
func reads() []call {
	return []call{
		{
			name: "get", ops: []suite.Op{suite.Create, suite.Get},
			ready: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.Get(t.Reserve(ctx, b, 2))
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "reservation_id", a.Request.Reservation)
			},
		},
		{
			name: "list", ops: []suite.Op{suite.Create, suite.List},
			ready: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Request {
				return t.List(b.Tenant).WithQuery("idempotency_key", t.Reserve(ctx, b, 2).Create.Key())
			},
			succeeded: func(t *suite.T, a *suite.Answer) {
				t.WantStatus(a, http.StatusOK)
				t.True(a, len(a.Items("reservations")) > 0, "the reservation of that key", "no reservations")
			},
		},
		balancesRead(),
	}
}

func balancesRead() call {
	return call{
		name: "balances", ops: []suite.Op{suite.Balances},
		ready: func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request { return t.Balances(b) },
		succeeded: func(t *suite.T, a *suite.Answer) {
			t.WantStatus(a, http.StatusOK)
			t.True(a, len(a.Items("balances")) > 0, "at least one balance", "none")
		},
	}
}

// stillWorks wants a request that was refused to succeed the way it should
// have been sent: so it was refused for the reason under test, and had done
// nothing.
func (c call) stillWorks(ctx context.Context, t *suite.T, r *suite.Request) *suite.Answer {
	if r.Body != nil {
		r = r.With("idempotency_key", t.Name())
	}
	a := t.Do(ctx, r)
	c.succeeded(t, a)
	return a
}

// refusals is a check that spoils the right request of a call on the shared
// budget. At its end that request must still work.
func (c call) refusals(id, section string, lines []int, requirement string, spoil func(ctx context.Context, t *suite.T, r *suite.Request), needs ...target.Kind) suite.Check {
	return suite.Check{
		ID: id, Level: suite.Must, Section: section, Lines: lines, Requirement: requirement,
		Needs: append([]target.Kind{target.Funded}, needs...), Ops: c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.Funded))
			spoil(ctx, t, r)
			c.stillWorks(ctx, t, r)
		},
	}
}

func wantUnauthorized(t *suite.T, a *suite.Answer) {
	t.WantError(a, http.StatusUnauthorized, "UNAUTHORIZED")
}

const authSection = "AUTH & TENANCY"

func noKey(c call) suite.Check {
	return c.refusals("auth.no-key-"+c.name, authSection, []int{36, 427},
		"A request without X-Cycles-API-Key, or with an empty one, is refused with 401 UNAUTHORIZED and does nothing.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			wantUnauthorized(t, t.Do(ctx, r.WithoutKey()))
			wantUnauthorized(t, t.Do(ctx, r.WithKey("")))
		})
}

func unknownKey(c call) suite.Check {
	return c.refusals("auth.unknown-key-"+c.name, authSection, []int{36, 44},
		"A key that the server does not know is refused with 401 UNAUTHORIZED, also when it differs from a known one in its last character only.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			known := r.Header.Get(suite.HeaderKey)
			for _, key := range []string{t.Name(), known + "x", known[:len(known)-1] + "~", known[:len(known)-1]} {
				if key != "" && key != known {
					wantUnauthorized(t, t.Do(ctx, r.WithKey(key)))
				}
			}
		})
}

func revokedKey() []suite.Check {
	return []suite.Check{{
		ID:          "auth.revoked-key",
		Level:       suite.Must,
		Section:     authSection,
		Lines:       []int{36, 85},
		Requirement: "A key that was revoked is refused with 401 UNAUTHORIZED.",
		Needs:       []target.Kind{target.Funded, target.RevokedKey},
		Ops:         []suite.Op{suite.Create},
		Run: func(ctx context.Context, t *suite.T) {
			r := t.Create(t.Budget(target.Funded), 1)
			t.WantAllowed(t.Do(ctx, r))
			revoked := t.Fixture(target.RevokedKey).Tenant
			r = r.With("idempotency_key", t.Name()).With("subject.tenant", revoked.ID)
			wantUnauthorized(t, t.Do(ctx, r.As(revoked)))
		},
	}}
}

// adminKeyShut is about the operations that take a tenant's key only.
func adminKeyShut(c call) suite.Check {
	return c.refusals("auth.admin-key-shut-"+c.name, authSection, []int{36, 427},
		"An operation that does not list the operator's key among its security schemes is not opened by it: 401 UNAUTHORIZED.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			wantUnauthorized(t, t.Do(ctx, r.AsAdmin(t.AdminKey())))
		}, target.AdminKey)
}

// adminKey is about list, get and release, which the operator's key opens.
func adminKey() []suite.Check {
	needs := []target.Kind{target.Funded, target.AdminKey}
	return []suite.Check{
		{
			ID:          "auth.admin-list",
			Level:       suite.Must,
			Section:     "listReservations",
			Lines:       []int{2093},
			Requirement: "The operator's key lists the reservations of the tenant in the tenant parameter, and of no other.",
			Needs:       append([]target.Kind{target.TenantB}, needs...),
			Ops:         []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				byKey := byKey(t, res).AsAdmin(t.AdminKey())
				walkReservations(ctx, t, byKey.WithQuery("tenant", res.Tenant.ID)).wantRow(t, res.ID)
				walkReservations(ctx, t, byKey.WithQuery("tenant", t.TenantB().ID)).wantNoRow(t, res.ID, "it is another tenant's")
			},
		},
		{
			ID:          "auth.admin-list-without-tenant",
			Level:       suite.Must,
			Section:     "listReservations",
			Lines:       []int{2095},
			Requirement: "Listing with the operator's key and without a tenant parameter is refused with 400 INVALID_REQUEST, and the message says that the parameter is required.",
			Needs:       needs,
			Ops:         []suite.Op{suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				r := t.List(b.Tenant).AsAdmin(t.AdminKey()).WithQuery("limit", "1")
				a := t.Do(ctx, r)
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				const message = "tenant query parameter is required when using admin key authentication"
				if a.Str("message") != message {
					t.WarnAt(a, "the message is "+message, "the message is "+a.Str("message"))
				}
				t.WantStatus(t.Do(ctx, r.WithQuery("tenant", b.Tenant.ID)), http.StatusOK)
			},
		},
		{
			ID:          "auth.admin-get",
			Level:       suite.Must,
			Section:     "getReservation",
			Lines:       []int{2374},
			Requirement: "The operator's key reads a reservation of any tenant.",
			Needs:       append([]target.Kind{target.FundedB}, needs...),
			Ops:         []suite.Op{suite.Create, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				for _, kind := range []target.Kind{target.Funded, target.FundedB} {
					res := t.Reserve(ctx, t.Budget(kind), 1)
					a := t.Do(ctx, t.Get(res).AsAdmin(t.AdminKey()))
					t.WantStatus(a, http.StatusOK)
					t.Want(a, "reservation_id", res.ID)
					t.Want(a, "status", "ACTIVE")
				}
			},
		},
		{
			ID:          "auth.admin-release",
			Level:       suite.Must,
			Section:     "releaseReservation",
			Lines:       []int{2467},
			Requirement: "The operator's key releases a reservation of any tenant.",
			Needs:       append([]target.Kind{target.FundedB}, needs...),
			Ops:         []suite.Op{suite.Create, suite.Release, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				for _, kind := range []target.Kind{target.Funded, target.FundedB} {
					res := t.Reserve(ctx, t.Budget(kind), 3)
					a := t.Do(ctx, t.Release(res).AsAdmin(t.AdminKey()).With("reason", "[CONFORMANCE]"))
					t.WantStatus(a, http.StatusOK)
					t.Want(a, "status", "RELEASED")
					t.Want(a, "released.amount", 3)
					t.WantError(t.Do(ctx, t.Commit(res, 1)), http.StatusConflict, "RESERVATION_FINALIZED")
				}
			},
		},
		{
			ID:          "auth.wrong-admin-key",
			Level:       suite.Must,
			Section:     authSection,
			Lines:       []int{36, 2103, 2379, 2494},
			Requirement: "An operator's key that is not the server's opens neither list nor get nor release: 401 UNAUTHORIZED.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create, suite.List, suite.Get, suite.Release, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				for _, r := range []*suite.Request{
					t.List(res.Tenant).WithQuery("tenant", res.Tenant.ID), t.Get(res), t.Release(res),
				} {
					wantUnauthorized(t, t.Do(ctx, r.AsAdmin(t.Name())))
				}
				t.WantStatus(t.Do(ctx, t.Commit(res, 1)), http.StatusOK)
			},
		},
	}
}
