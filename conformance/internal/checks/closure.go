package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const closureSection = "ERROR SEMANTICS (closed tenant)"

// closure is about the tenant that is closed for good. Where its keys are
// revoked with it, 401 is all that a tenant's key shows; then only the
// operator's key tells more.
func closure() []suite.Check {
	return slices.Concat(closedFresh(), closedHeld(), closedReplay(), closedReads(), corruptTenant())
}

// shut tells whether the key of the closed tenant is refused, which counts as
// having closed it.
func shut(a *suite.Answer) bool {
	return a.Status == http.StatusUnauthorized && a.Code() == "UNAUTHORIZED"
}

// wantClosed wants a mutation to be refused because the tenant is closed.
func wantClosed(t *suite.T, a *suite.Answer) {
	t.WantOneOf(a, suite.ErrorCase{Status: http.StatusConflict, Code: "TENANT_CLOSED"},
		suite.ErrorCase{Status: http.StatusUnauthorized, Code: "UNAUTHORIZED"})
}

// closedFresh works on a tenant that was closed before the run, and whose key
// works by what the target says.
func closedFresh() []suite.Check {
	fresh := func(c call, lines []int, requirement string, want func(*suite.T, *suite.Answer)) suite.Check {
		return suite.Check{
			ID: "closure." + c.name, Level: suite.Must, Section: closureSection, Lines: lines, Edition: suite.Current,
			Requirement: requirement, Needs: []target.Kind{target.ClosedTenant}, Ops: c.ops,
			Run: func(ctx context.Context, t *suite.T) {
				a := t.Do(ctx, c.ready(ctx, t, t.Budget(target.ClosedTenant)))
				if shut(a) {
					t.Skip("the key of the closed tenant is refused, which the protocol allows, so that no more can be seen")
				}
				want(t, a)
			},
		}
	}
	refused := func(t *suite.T, a *suite.Answer) { t.WantError(a, http.StatusConflict, "TENANT_CLOSED") }
	denied := func(t *suite.T, a *suite.Answer) {
		t.WantDenied(a, "TENANT_CLOSED")
		t.WantAbsent(a, "caps")
		t.WantAbsent(a, "reservation_id")
	}
	var all []suite.Check
	for _, c := range calls() {
		switch c.name {
		case "create":
			all = append(all, fresh(c, []int{70, 106}, "A closed tenant reserves nothing: 409 TENANT_CLOSED.", refused))
		case "event":
			all = append(all, fresh(c, []int{70, 79, 89, 2980}, "A closed tenant is charged no event: 409 TENANT_CLOSED, never a decision.", refused))
		case "dry-run":
			all = append(all, fresh(c, []int{97, 98, 872, 1949}, "A dry run of a closed tenant is answered 200 DENY TENANT_CLOSED, not 409.", denied))
		case "decide":
			all = append(all, fresh(c, []int{97, 98, 872, 1895, 1900}, "A closed tenant's question is answered 200 DENY TENANT_CLOSED, not 409.", denied))
		}
	}
	return all
}

// closable is what the checks need that close a tenant of their own.
func closable(more ...target.Kind) []target.Kind {
	return append(more, target.ClosableTenant, target.CanCloseTenant)
}

func closeTenant(ctx context.Context, t *suite.T) {
	t.NoError(t.Controller().CloseTenant(ctx, t.Fixture(target.ClosableTenant).Tenant))
}

// settling are the operations on a reservation.
func settling() []struct {
	name string
	ops  []suite.Op
	ask  func(*suite.T, *suite.Reservation) *suite.Request
} {
	return []struct {
		name string
		ops  []suite.Op
		ask  func(*suite.T, *suite.Reservation) *suite.Request
	}{
		{"commit", []suite.Op{suite.Create, suite.Commit}, func(t *suite.T, r *suite.Reservation) *suite.Request { return t.Commit(r, 1) }},
		{"release", []suite.Op{suite.Create, suite.Release}, func(t *suite.T, r *suite.Reservation) *suite.Request { return t.Release(r) }},
		{"extend", []suite.Op{suite.Create, suite.Extend}, func(t *suite.T, r *suite.Reservation) *suite.Request { return t.Extend(r, 1000) }},
	}
}

// closedHeld has what becomes of the reservations of a tenant that is closed
// while they live.
func closedHeld() []suite.Check {
	var all []suite.Check
	for _, op := range settling() {
		all = append(all,
			suite.Check{
				ID: "closure." + op.name, Level: suite.Must, Section: closureSection, Lines: []int{70, 86, 2548}, Edition: suite.Current,
				Requirement: "Once its tenant is closed a reservation takes no " + op.name + ": 409 TENANT_CLOSED, or 401 where the key is revoked.",
				Needs:       closable(), Ops: op.ops,
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.ClosableTenant), 2)
					closeTenant(ctx, t)
					wantClosed(t, t.Do(ctx, op.ask(t, res)))
				},
			},
			suite.Check{
				ID: "closure." + op.name + "-before-finalized", Level: suite.Must, Section: closureSection, Lines: []int{113, 2549}, Edition: suite.Current,
				Requirement: "TENANT_CLOSED goes before RESERVATION_FINALIZED.",
				Needs:       closable(), Ops: op.ops,
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.ClosableTenant), 2)
					t.Given(t.Do(ctx, t.Release(res)), http.StatusOK)
					closeTenant(ctx, t)
					wantClosed(t, t.Do(ctx, op.ask(t, res)))
				},
			},
			suite.Check{
				ID: "closure." + op.name + "-before-expired", Level: suite.Must, Section: closureSection, Lines: []int{113, 2549}, Edition: suite.Current,
				Requirement: "TENANT_CLOSED goes before RESERVATION_EXPIRED.",
				Needs:       closable(), Ops: op.ops, Waits: true,
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.ClosableTenant), 2, with("ttl_ms", 1000), with("grace_period_ms", 0))
					t.WaitUntil(ctx, res.Ends.Add(lag))
					closeTenant(ctx, t)
					wantClosed(t, t.Do(ctx, op.ask(t, res)))
				},
			},
		)
	}
	return append(all, suite.Check{
		ID: "closure.admin-release", Level: suite.Must, Section: closureSection, Lines: []int{70, 113}, Edition: suite.Current,
		Requirement: "The operator's key releases no reservation of a closed tenant either, active or finalized: 409 TENANT_CLOSED.",
		Needs:       closable(target.AdminKey), Ops: []suite.Op{suite.Create, suite.Release},
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.ClosableTenant)
			active, released := t.Reserve(ctx, b, 2), t.Reserve(ctx, b, 2)
			t.Given(t.Do(ctx, t.Release(released)), http.StatusOK)
			closeTenant(ctx, t)
			for _, res := range []*suite.Reservation{active, released} {
				t.WantError(t.Do(ctx, t.Release(res).AsAdmin(t.AdminKey())), http.StatusConflict, "TENANT_CLOSED")
			}
		},
	})
}

// closedReplay has replays of what succeeded before the tenant was closed.
func closedReplay() []suite.Check {
	var all []suite.Check
	for _, c := range calls() {
		lines := []int{116, 94}
		if c.name == "decide" || c.name == "dry-run" {
			lines = []int{100, 1898, 1952}
		}
		all = append(all, suite.Check{
			ID: "closure.replay-" + c.name, Level: suite.Must, Section: closureSection, Lines: lines, Edition: suite.Current,
			Requirement: "The replay of what succeeded before its tenant was closed is the first answer, unless the key is revoked.",
			Needs:       closable(), Ops: c.ops,
			Run: func(ctx context.Context, t *suite.T) {
				first := c.first(ctx, t, t.Budget(target.ClosableTenant))
				closeTenant(ctx, t)
				again := t.Do(ctx, first.Request)
				if !shut(again) {
					t.WantSame(first, again, "remaining_ttl_ms")
				}
			},
		})
	}
	return append(all, suite.Check{
		ID: "closure.admin-replay", Level: suite.Must, Section: closureSection, Lines: []int{116}, Edition: suite.Current,
		Requirement: "The replay of the operator's release is its first answer also when the tenant is closed since.",
		Needs:       closable(target.AdminKey), Ops: []suite.Op{suite.Create, suite.Release},
		Run: func(ctx context.Context, t *suite.T) {
			first := t.Do(ctx, t.Release(t.Reserve(ctx, t.Budget(target.ClosableTenant), 2)).AsAdmin(t.AdminKey()))
			t.Given(first, http.StatusOK)
			t.Want(first, "status", "RELEASED")
			closeTenant(ctx, t)
			replay(ctx, t, first)
		},
	})
}

// closedReads has the reads, which stay open.
func closedReads() []suite.Check {
	ops := []suite.Op{suite.Create, suite.Get, suite.List}
	read := func(ctx context.Context, t *suite.T, edit func(*suite.Request) *suite.Request, ok func(*suite.Answer) bool) {
		res := t.Reserve(ctx, t.Budget(target.ClosableTenant), 2)
		closeTenant(ctx, t)
		a := t.Do(ctx, edit(t.Get(res)))
		if !ok(a) {
			t.WantStatus(a, http.StatusOK)
			t.Want(a, "reservation_id", res.ID)
		}
		a = t.Do(ctx, edit(byKey(t, res)))
		if !ok(a) {
			walkReservations(ctx, t, a.Request).wantRow(t, res.ID)
		}
	}
	return []suite.Check{
		{
			ID: "closure.reads", Level: suite.Must, Section: closureSection, Lines: []int{129}, Edition: suite.Current,
			Requirement: "The reservations of a closed tenant can still be read and listed, unless the key is revoked.",
			Needs:       closable(), Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				read(ctx, t, func(r *suite.Request) *suite.Request { return r }, shut)
			},
		},
		{
			ID: "closure.admin-reads", Level: suite.Must, Section: closureSection, Lines: []int{129}, Edition: suite.Current,
			Requirement: "The operator's key still reads and lists the reservations of a closed tenant.",
			Needs:       closable(target.AdminKey), Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				tenant := t.Fixture(target.ClosableTenant).Tenant.ID
				read(ctx, t, func(r *suite.Request) *suite.Request {
					if r.Op == suite.List {
						r = r.WithQuery("tenant", tenant)
					}
					return r.AsAdmin(t.AdminKey())
				}, func(*suite.Answer) bool { return false })
			},
		},
	}
}

// corruptTenant has the tenant whose status nobody can tell.
func corruptTenant() []suite.Check {
	var all []suite.Check
	for _, c := range calls() {
		lines := map[string][]int{
			"create": {106, 107}, "event": {91, 106, 107}, "dry-run": {106, 107, 1953}, "decide": {106, 107, 1900},
		}[c.name]
		if lines == nil {
			continue
		}
		all = append(all, suite.Check{
			ID: "closure.corrupt-" + c.name, Level: suite.Must, Section: closureSection, Lines: lines, Edition: suite.Current,
			Requirement: "A tenant whose status cannot be told is refused with 500 INTERNAL_ERROR, an evaluation like a reservation.",
			Needs:       []target.Kind{target.CorruptTenant, target.Funded}, Ops: c.ops,
			Run: func(ctx context.Context, t *suite.T) {
				c.first(ctx, t, t.Budget(target.Funded))
				a := t.Do(ctx, c.ready(ctx, t, t.Budget(target.CorruptTenant)))
				t.WantError(a, http.StatusInternalServerError, "INTERNAL_ERROR")
			},
		})
	}
	return all
}
