package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const listSection = "listReservations"

// list is about which reservations a listing shows and what it says of them.
func list() []suite.Check {
	return slices.Concat(listRows(), listFilters(), listLimits())
}

func listRows() []suite.Check {
	return []suite.Check{
		{
			ID: "list.row", Level: suite.Must, Section: listSection, Lines: []int{2014, 1685},
			Requirement: "A reservation is listed as what it is: id, status ACTIVE, subject, action, amount and expiry as it was made, scopes as the create told them.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				res := shelf.reserve(ctx, 3, with("action.tags", []any{"prod"}))
				l := walkReservations(ctx, t, shelf.list())
				wantDetail(t, l.last(), l.wantRow(t, res.ID), res, "ACTIVE")
			},
		},
		{
			ID: "list.committed", Level: suite.Should, Section: "ReservationSummary", Lines: []int{1724, 1741},
			Requirement: "The row of a committed reservation tells the amount charged and when it was finalized, without being asked to.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				res := shelf.reserve(ctx, 3)
				t.Given(t.Do(ctx, t.Commit(res, 2)), http.StatusOK)
				l := walkReservations(ctx, t, shelf.list())
				r := l.wantRow(t, res.ID)
				wantMember(t, l.last(), r, "committed.amount", 2)
				wantFinalized(t, l.last(), r)
			},
		},
		{
			ID: "list.committed-amount", Level: suite.Must, Section: "ReservationSummary", Lines: []int{1741, 1743},
			Requirement: "A row shows as committed what was charged, which only the row of a committed reservation does, and finalized_at_ms only when it was committed or released.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				active, committed, released := shelf.reserve(ctx, 3), shelf.reserve(ctx, 3), shelf.reserve(ctx, 3)
				t.Given(t.Do(ctx, t.Commit(committed, 2)), http.StatusOK)
				t.Given(t.Do(ctx, t.Release(released)), http.StatusOK)
				l := walkReservations(ctx, t, shelf.list())
				at := l.last()
				r := l.wantRow(t, active.ID)
				wantNoMember(t, at, r, "committed")
				wantNoMember(t, at, r, "finalized_at_ms")
				r = l.wantRow(t, released.ID)
				wantMember(t, at, r, "status", "RELEASED")
				wantNoMember(t, at, r, "committed")
				r = l.wantRow(t, committed.ID)
				wantMember(t, at, r, "status", "COMMITTED")
				if _, there := r["committed"]; there {
					wantMember(t, at, r, "committed.amount", 2)
				}
			},
		},
		{
			ID: "list.expired", Level: suite.Must, Section: "getReservation", Lines: []int{2365}, Edition: suite.Current,
			Requirement: "A reservation that expired stays listed, as a row with status EXPIRED and without finalized_at_ms.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				res := shelf.expired(ctx)
				l := walkReservations(ctx, t, shelf.list().WithQuery("status", "EXPIRED"))
				r := l.wantRow(t, res.ID)
				wantNoMember(t, l.last(), r, "committed")
				wantNoMember(t, l.last(), r, "finalized_at_ms")
			},
		},
	}
}

// sweep is how long a server may take to notice that a reservation is expired.
// The protocol does not say; the reference looks every five seconds.
const sweep = 20 * time.Second

// expired puts a reservation on the shelf and waits until the listing says that
// it expired.
func (s shelf) expired(ctx context.Context) *suite.Reservation {
	t := s.t
	res := s.reserve(ctx, 1, with("ttl_ms", 1000), with("grace_period_ms", 0))
	t.WaitUntil(ctx, res.Ends.Add(lag))
	var l listing
	ok := t.Eventually(ctx, sweep, time.Second, func() bool {
		l = walkReservations(ctx, t, s.list())
		return l.wantRow(t, res.ID)["status"] == "EXPIRED"
	})
	t.True(l.last(), ok, "status EXPIRED once the reservation is past its expiry and grace",
		"status %v more than %v later", l.row(res.ID)["status"], sweep)
	return res
}

func listFilters() []suite.Check {
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "list.recover", Level: suite.Must, Section: listSection, Lines: []int{2018, 2110},
			Requirement: "A client that lost the id finds the reservation by the idempotency key it was made with.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				t.Reserve(ctx, t.Budget(target.Funded), 1)
				walkReservations(ctx, t, byKey(t, res)).wantRow(t, res.ID)
			},
		},
		{
			ID: "list.by-key", Level: suite.Should, Section: listSection, Lines: []int{2019},
			Requirement: "Listing by idempotency key shows the one reservation that was made with it, and none for a key that made none.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				t.Reserve(ctx, t.Budget(target.Funded), 1)
				l := walkReservations(ctx, t, byKey(t, res))
				t.True(l.last(), len(l.rows) == 1 && rowID(l.rows[0]) == res.ID, "one row, that of "+res.ID, "%d rows", len(l.rows))
				l = walkReservations(ctx, t, t.List(res.Tenant).WithQuery("idempotency_key", t.Name()))
				t.True(l.last(), len(l.rows) == 0, "no row for a key that nobody used", "%d rows", len(l.rows))
			},
		},
		{
			ID: "list.by-status", Level: suite.Should, Section: listSection, Lines: []int{2020, 2116},
			Requirement: "Listing by status shows the reservations in that status and no other.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				active, committed, released := shelf.reserve(ctx, 1), shelf.reserve(ctx, 1), shelf.reserve(ctx, 1)
				t.Given(t.Do(ctx, t.Commit(committed, 1)), http.StatusOK)
				t.Given(t.Do(ctx, t.Release(released)), http.StatusOK)
				for status, id := range map[string]string{"ACTIVE": active.ID, "COMMITTED": committed.ID, "RELEASED": released.ID} {
					l := walkReservations(ctx, t, shelf.list().WithQuery("status", status))
					l.wantRow(t, id)
					for _, r := range l.rows {
						wantMember(t, l.last(), r, "status", status)
					}
				}
			},
		},
		{
			ID: "list.by-subject", Level: suite.Should, Section: listSection, Lines: []int{2023},
			Requirement: "Listing by workspace, app, workflow, agent or toolset shows the reservations of that subject and no other.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				here := []edit{}
				names := map[string]string{}
				for level, name := range b.Subject {
					names[level] = name
				}
				for _, level := range target.Levels() {
					if _, taken := names[level]; !taken {
						names[level] = t.Name()
						here = append(here, with("subject."+level, names[level]))
					}
				}
				res := t.Reserve(ctx, b, 1, here...)
				for _, level := range target.Levels() {
					l := walkReservations(ctx, t, byKey(t, res).WithQuery(level, names[level]))
					l.wantRow(t, res.ID)
					if level == "tenant" {
						continue
					}
					l = walkReservations(ctx, t, byKey(t, res).WithQuery(level, t.Name()))
					l.wantNoRow(t, res.ID, "its "+level+" is another")
				}
			},
		},
		{
			ID: "list.unknown-status", Level: suite.Must, Section: listSection, Lines: []int{2111},
			Requirement: "A status that does not exist is refused with 400 INVALID_REQUEST.",
			Ops:         []suite.Op{suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				a := t.Do(ctx, t.List(t.TenantA()).WithQuery("status", "HALF_DONE"))
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				walkReservations(ctx, t, t.List(t.TenantA()).WithQuery("status", "EXPIRED"))
			},
		},
	}
}

// outsideLimits are limits that the contract does not allow.
func outsideLimits() []string { return []string{"0", "-1", "201", "ten", "1.5"} }

// limitRefused wants every limit outside the bounds to be refused, and one inside
// of them not.
func limitRefused(ctx context.Context, t *suite.T, r *suite.Request) {
	for _, limit := range outsideLimits() {
		a := t.Do(ctx, r.WithQuery("limit", limit))
		t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
	}
	wantPage(t, t.Do(ctx, r.WithQuery("limit", "10")))
}

// wantPage wants a page of a listing, with or without rows.
func wantPage(t *suite.T, a *suite.Answer) {
	t.WantStatus(a, http.StatusOK)
	t.True(a, a.Has("reservations") || a.Has("balances"), "reservations or balances", "%s", suite.Describe(a))
}

func listLimits() []suite.Check {
	return []suite.Check{
		{
			ID: "list.limit", Level: suite.Must, Section: "Limit", Lines: []int{542},
			Requirement: "A page has no more rows than the limit.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				shelf := newShelf(t, t.Budget(target.Funded))
				for range 3 {
					shelf.reserve(ctx, 1)
				}
				for limit := 1; limit <= 2; limit++ {
					a := t.Do(ctx, shelf.list().WithQuery("limit", fmt.Sprint(limit)))
					t.WantStatus(a, http.StatusOK)
					n := len(a.Items("reservations"))
					t.True(a, 1 <= n && n <= limit, fmt.Sprintf("from 1 to %d rows", limit), "%d rows", n)
				}
			},
		},
		{
			ID: "list.limit-bounds", Level: suite.Must, Section: "Limit", Lines: []int{542},
			Requirement: "A limit outside 1 to 200, or one that is no integer, is refused with 400 INVALID_REQUEST.",
			Ops:         []suite.Op{suite.List},
			Run:         func(ctx context.Context, t *suite.T) { limitRefused(ctx, t, t.List(t.TenantA())) },
		},
		{
			ID: "list.limit-largest", Level: suite.Must, Section: "Limit", Lines: []int{542},
			Requirement: "A limit of 1 and one of 200 are taken.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				for _, limit := range []string{"1", "200"} {
					walkReservations(ctx, t, byKey(t, res).WithQuery("limit", limit)).wantRow(t, res.ID)
				}
			},
		},
	}
}
