package checks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// sorting is about sort_by and sort_dir, which a server may not know and then
// must ignore.
func sorting() []suite.Check {
	all := []suite.Check{
		sortedBy("created_at_ms", byInteger("created_at_ms")),
		sortedBy("expires_at_ms", byInteger("expires_at_ms")),
		sortedBy("reserved", byInteger("reserved.amount")),
		sortedBy("scope_path", func(a, b row) int {
			x, _ := a["scope_path"].(string)
			y, _ := b["scope_path"].(string)
			return strings.Compare(x, y)
		}),
	}
	return slices.Concat(all, sortedWithoutOrder(), sortForms())
}

const sortSection = "listReservations"

// display is a shelf with rows that differ in everything that can be sorted by.
type display struct {
	shelf
	ids []string
}

// newDisplay makes them one after the other, or one some time after the other
// if apart is more than nothing.
func newDisplay(ctx context.Context, t *suite.T, apart time.Duration) display {
	d := display{shelf: newShelf(t, t.Budget(target.Funded))}
	below := d.level == "agent"
	prefix := t.Name()
	for i, amount := range []int64{3, 1, 4, 2, 5} {
		if apart > 0 && i > 0 {
			t.Wait(ctx, apart)
		}
		e := []edit{with("ttl_ms", 60_000-int(amount)*5000)}
		if below {
			e = append(e, with("subject.toolset", fmt.Sprintf("%s-%c", prefix, "dbeac"[i])))
		}
		d.ids = append(d.ids, d.reserve(ctx, amount, e...).ID)
	}
	return d
}

// sorted is the own rows in the order of the listing.
func (d display) sorted(ctx context.Context, by, dir string) (listing, []row) {
	r := d.list().WithQuery("sort_by", by)
	if dir != "" {
		r = r.WithQuery("sort_dir", dir)
	}
	l := walkReservations(ctx, d.t, r)
	var rows []row
	for _, id := range l.own(d.ids) {
		rows = append(rows, l.row(id))
	}
	d.t.True(l.last(), len(rows) == len(d.ids), fmt.Sprintf("all %d reservations, each once", len(d.ids)), "%d rows of them", len(rows))
	return l, rows
}

// needSorting ends the check when nothing shows that the server knows sort_by:
// the order is the same both ways.
func (d display) needSorting(ctx context.Context) {
	for _, by := range []string{"reserved", "created_at_ms", "expires_at_ms"} {
		_, up := d.sorted(ctx, by, "asc")
		_, down := d.sorted(ctx, by, "desc")
		if rowID(up[0]) != rowID(down[0]) {
			return
		}
	}
	d.t.Skip("the server does not know sort_by, which it may ignore")
}

func byInteger(path string) func(a, b row) int {
	return func(a, b row) int {
		x, _ := suite.Lookup(a, path)
		y, _ := suite.Lookup(b, path)
		n, _ := suite.Integer(x)
		m, _ := suite.Integer(y)
		return cmp.Compare(n, m)
	}
}

func wantOrder(t *suite.T, l listing, rows []row, by, dir string, order func(a, b row) int) {
	if dir != "asc" {
		up := order
		order = func(a, b row) int { return up(b, a) }
	}
	t.True(l.last(), slices.IsSortedFunc(rows, order), "rows sorted by "+by+" "+dir, "rows %s", strings.Join(l.own(idsOf(rows)), ", "))
}

func idsOf(rows []row) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = rowID(r)
	}
	return ids
}

func sortedBy(key string, order func(a, b row) int) suite.Check {
	var apart time.Duration
	if key == "created_at_ms" {
		apart = 5 * time.Millisecond
	}
	return suite.Check{
		ID: "sorting." + strings.ReplaceAll(key, "_", "-"), Level: suite.Must, Section: sortSection, Lines: []int{2264, 2268, 2271},
		Requirement: "sort_by=" + key + " lists in that order, ascending or descending as sort_dir says.",
		Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List}, Waits: apart > 0,
		Run: func(ctx context.Context, t *suite.T) {
			d := newDisplay(ctx, t, apart)
			d.needSorting(ctx)
			for _, dir := range []string{"asc", "desc"} {
				l, rows := d.sorted(ctx, key, dir)
				wantOrder(t, l, rows, key, dir, order)
			}
		},
	}
}

// sortedWithoutOrder has the keys whose order the protocol does not spell out:
// what it says is that desc turns around asc, and that equals stand together.
func sortedWithoutOrder() []suite.Check {
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "sorting.reservation-id", Level: suite.Must, Section: sortSection, Lines: []int{2264},
			Requirement: "sort_by=reservation_id lists in one order for asc and in the reverse for desc.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				d.needSorting(ctx)
				_, up := d.sorted(ctx, "reservation_id", "asc")
				l, down := d.sorted(ctx, "reservation_id", "desc")
				slices.Reverse(down)
				t.True(l.last(), slices.Equal(idsOf(up), idsOf(down)), "desc is asc turned around",
					"asc %v, desc from its end %v", idsOf(up), idsOf(down))
			},
		},
		{
			ID: "sorting.status", Level: suite.Must, Section: sortSection, Lines: []int{2264},
			Requirement: "sort_by=status lists rows of equal status together, and the groups in reverse for desc.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				d.needSorting(ctx)
				at := func(i int) *suite.Reservation {
					return &suite.Reservation{ID: d.ids[i], Tenant: d.b.Tenant, Budget: d.b}
				}
				for _, r := range []*suite.Request{t.Commit(at(0), 1), t.Commit(at(2), 1), t.Release(at(1)), t.Release(at(4))} {
					t.Given(t.Do(ctx, r), http.StatusOK)
				}
				groups := func(dir string) (listing, []string) {
					l, rows := d.sorted(ctx, "status", dir)
					var names []string
					for _, r := range rows {
						names = append(names, fmt.Sprint(r["status"]))
					}
					return l, slices.Compact(names)
				}
				_, up := groups("asc")
				l, down := groups("desc")
				slices.Reverse(down)
				t.True(l.last(), len(up) == 3 && slices.Equal(up, down), "three groups, in reverse for desc", "asc %v, desc from its end %v", up, down)
			},
		},
		{
			ID: "sorting.tenant", Level: suite.Must, Section: sortSection, Lines: []int{2273},
			Requirement: "sort_by=tenant is taken; the rows of one tenant, which are all that is listed, may come in any order.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				for _, dir := range []string{"asc", "desc"} {
					d.sorted(ctx, "tenant", dir)
				}
			},
		},
	}
}

func sortForms() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.List}
	return []suite.Check{
		{
			ID: "sorting.default-direction", Level: suite.Must, Section: "SortDirection", Lines: []int{923, 2283},
			Requirement: "sort_by without sort_dir sorts descending.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				d.needSorting(ctx)
				l, rows := d.sorted(ctx, "reserved", "")
				wantOrder(t, l, rows, "reserved", "desc", byInteger("reserved.amount"))
			},
		},
		{
			ID: "sorting.unknown-key", Level: suite.Should, Section: sortSection, Lines: []int{2276},
			Requirement: "A sort key or direction that does not exist is refused with 400 INVALID_REQUEST.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				d.needSorting(ctx)
				t.WantError(t.Do(ctx, d.list().WithQuery("sort_by", "colour")), http.StatusBadRequest, "INVALID_REQUEST")
				t.WantError(t.Do(ctx, d.list().WithQuery("sort_by", "reserved").WithQuery("sort_dir", "sideways")), http.StatusBadRequest, "INVALID_REQUEST")
			},
		},
	}
}
