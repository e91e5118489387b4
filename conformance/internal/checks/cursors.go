package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// cursors is about listings that come in pages.
func cursors() []suite.Check {
	return slices.Concat(cursorWalks(), cursorBindings(), cursorMisuse())
}

func cursorWalks() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.List}
	return []suite.Check{
		{
			ID: "cursors.every-row", Level: suite.Must, Section: "Cursor", Lines: []int{553, 1798},
			Requirement: "Following next_cursor page by page shows every reservation and comes to an end.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				for _, limit := range []string{"1", "2", "5"} {
					l := walkReservations(ctx, t, d.list().WithQuery("limit", limit))
					for _, id := range d.ids {
						l.wantRow(t, id)
					}
				}
			},
		},
		{
			ID: "cursors.has-more", Level: suite.Must, Section: "ReservationListResponse", Lines: []int{1803},
			Requirement: "has_more is true only with a next_cursor, and false or absent on the last page.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				wantHasMore(t, walkReservations(ctx, t, newDisplay(ctx, t, 0).list().WithQuery("limit", "2")))
			},
		},
		{
			ID: "cursors.sorted", Level: suite.Must, Section: listSection, Lines: []int{2264},
			Requirement: "A sorted listing goes on in its order from page to page, and shows no row twice.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				d.needSorting(ctx)
				for by, path := range map[string]string{"reserved": "reserved.amount", "created_at_ms": "created_at_ms", "expires_at_ms": "expires_at_ms"} {
					for _, dir := range []string{"asc", "desc"} {
						l := walkReservations(ctx, t, d.list().WithQuery("sort_by", by).WithQuery("sort_dir", dir).WithQuery("limit", "2"))
						var rows []row
						for _, id := range l.own(d.ids) {
							rows = append(rows, l.row(id))
						}
						t.True(l.last(), len(rows) == len(d.ids), fmt.Sprintf("all %d reservations, each once", len(d.ids)), "%d rows of them", len(rows))
						wantOrder(t, l, rows, by, dir, byInteger(path))
					}
				}
			},
		},
	}
}

func wantHasMore(t *suite.T, l listing) {
	for _, a := range l.pages {
		more, _ := a.Get("has_more")
		next := a.Str("next_cursor")
		t.True(a, more != true || next != "", "a next_cursor with has_more", "has_more is true and next_cursor is absent")
		t.True(a, more != false || next == "", "has_more with a next_cursor, true or absent", "has_more is false and next_cursor is there")
	}
}

// firstPage is the first of several pages of a sorted listing with a window.
func firstPage(ctx context.Context, t *suite.T) (display, *suite.Request, *suite.Answer) {
	d := newDisplay(ctx, t, 0)
	d.needSorting(ctx)
	r := d.list().WithQuery("sort_by", "created_at_ms").WithQuery("sort_dir", "asc").WithQuery("limit", "2").WithQuery("from", longAgo)
	a := t.Do(ctx, r)
	t.WantStatus(a, http.StatusOK)
	t.True(a, a.Str("next_cursor") != "", "a next_cursor, since five rows do not fit on a page of two", "it is absent")
	return d, r.WithQuery("cursor", a.Str("next_cursor")), a
}

func cursorBindings() []suite.Check {
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "cursors.window-bound", Level: suite.Must, Section: listSection, Lines: []int{2078, 2079},
			Requirement: "The cursor of a sorted listing is good for the windows it was made with; under others it is refused with 400 INVALID_REQUEST.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Release, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				createdWindow().ground(ctx, t)
				d, next, _ := firstPage(ctx, t)
				for _, other := range []*suite.Request{
					next.WithQuery("from", "2002-01-01T00:00:00Z"), next.WithoutQuery("from"), next.WithQuery("to", farAway),
					next.WithQuery("expires_from", longAgo), next.WithQuery("expires_to", farAway),
					next.WithQuery("finalized_from", longAgo), next.WithQuery("finalized_to", farAway),
				} {
					t.WantError(t.Do(ctx, other), http.StatusBadRequest, "INVALID_REQUEST")
				}
				a := t.Do(ctx, next)
				t.WantStatus(a, http.StatusOK)
				t.True(a, len(a.Items("reservations")) > 0, "the second page of "+d.name, "no rows")
			},
		},
		{
			ID: "cursors.include-free", Level: suite.Must, Section: listSection, Lines: []int{2318, 2320},
			Requirement: "What include asks for may change from page to page: the cursor goes on as if it had not.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List}, Edition: suite.Current,
			Run: func(ctx context.Context, t *suite.T) {
				_, next, _ := firstPage(ctx, t)
				plain := t.Do(ctx, next)
				t.WantStatus(plain, http.StatusOK)
				for _, include := range []string{"metadata", "metadata,committed_metadata", ""} {
					a := t.Do(ctx, next.WithQuery("include", include))
					t.WantStatus(a, http.StatusOK)
					wantSameRows(t, plain, a)
				}
			},
		},
		{
			ID: "cursors.without-sort", Level: suite.Must, Section: listSection, Lines: []int{2264},
			Requirement: "The cursor of a sorted listing that is sent without sort_by goes on in its order or is refused with 400 INVALID_REQUEST.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				_, next, _ := firstPage(ctx, t)
				plain := t.Do(ctx, next)
				t.WantStatus(plain, http.StatusOK)
				a := t.Do(ctx, next.WithoutQuery("sort_by").WithoutQuery("sort_dir"))
				if a.Status != http.StatusBadRequest {
					t.WantStatus(a, http.StatusOK)
					wantSameRows(t, plain, a)
					return
				}
				t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
			},
		},
	}
}

// wantSameRows wants the reservations of two pages to be the same ones in the
// same order.
func wantSameRows(t *suite.T, first, second *suite.Answer) {
	a, b := pageIDs(first), pageIDs(second)
	t.True(second, slices.Equal(a, b), fmt.Sprintf("the rows %v", a), "%v", b)
}

func pageIDs(a *suite.Answer) []string {
	var ids []string
	for _, item := range a.Items("reservations") {
		if r, ok := item.(row); ok {
			ids = append(ids, rowID(r))
		}
	}
	return ids
}

// garbage are cursors that no server has given out.
func garbage() []string { return []string{"no-cursor", "999999999999999999999", "e30", "////"} }

func cursorMisuse() []suite.Check {
	return []suite.Check{{
		ID: "cursors.garbage", Level: suite.Must, Section: "Cursor", Lines: []int{553, 2347},
		Requirement: "A cursor that the server never gave out is the client's fault: 400 INVALID_REQUEST, and never a 5xx.",
		Ops:         []suite.Op{suite.List},
		Run: func(ctx context.Context, t *suite.T) {
			for _, r := range []*suite.Request{t.List(t.TenantA()), t.List(t.TenantA()).WithQuery("sort_by", "created_at_ms")} {
				wantGarbageRefused(ctx, t, r)
			}
		},
	}}
}

// wantGarbageRefused tolerates a server that starts anew, since a cursor is
// opaque and the text does not say.
func wantGarbageRefused(ctx context.Context, t *suite.T, r *suite.Request) {
	wantPage(t, t.Do(ctx, r.WithQuery("limit", "10")))
	for _, cursor := range garbage() {
		a := t.Do(ctx, r.WithQuery("cursor", cursor))
		if a.Status == http.StatusOK && (a.Has("reservations") || a.Has("balances")) {
			t.WarnAt(a, "400 INVALID_REQUEST for a cursor that was never given out", suite.Describe(a))
			continue
		}
		t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
	}
}
