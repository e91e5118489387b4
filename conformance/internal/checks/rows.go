package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// mostPages bounds a walk through a listing that ignores the filters, which
// for subjects are no more than guidance.
const mostPages = 200

// row is one entry of a listing.
type row = map[string]any

// listing is what walking through all pages brought, in the order in which it
// came.
type listing struct {
	rows  []row
	pages []*suite.Answer
}

// walk follows the cursors of r from the first page to the last. The items
// stand in member.
func walk(ctx context.Context, t *suite.T, r *suite.Request, member string) listing {
	var (
		l    listing
		seen = map[string]bool{}
	)
	for {
		a := t.Do(ctx, r)
		t.WantStatus(a, http.StatusOK)
		items, ok := a.Get(member)
		_, isArray := items.([]any)
		t.True(a, ok && isArray, member+" is an array", "it is not")
		l.pages = append(l.pages, a)
		for _, item := range a.Items(member) {
			if m, ok := item.(row); ok {
				l.rows = append(l.rows, m)
			}
		}
		next := a.Str("next_cursor")
		if next == "" {
			return l
		}
		t.True(a, !seen[next], "the pages come to an end", "the cursor %q came twice", next)
		if len(l.pages) == mostPages {
			t.Skip("the listing has more than %d pages", mostPages)
		}
		seen[next] = true
		r = r.WithQuery("cursor", next)
	}
}

func walkReservations(ctx context.Context, t *suite.T, r *suite.Request) listing {
	return walk(ctx, t, r, "reservations")
}

func rowID(r row) string {
	id, _ := r["reservation_id"].(string)
	return id
}

// row is the row of the reservation, nil when it is not listed.
func (l listing) row(id string) row {
	for _, r := range l.rows {
		if rowID(r) == id {
			return r
		}
	}
	return nil
}

// own is the ids of the listing, in its order, that are among those of the
// check, which shares the tenant with all other checks.
func (l listing) own(ids []string) []string {
	var own []string
	for _, r := range l.rows {
		if slices.Contains(ids, rowID(r)) {
			own = append(own, rowID(r))
		}
	}
	return own
}

func (l listing) last() *suite.Answer { return l.pages[len(l.pages)-1] }

// wantRow wants the reservation to be listed, and returns its row.
func (l listing) wantRow(t *suite.T, id string) row {
	r := l.row(id)
	t.True(l.last(), r != nil, "the reservation "+id+" is listed", "it is not among %d rows", len(l.rows))
	return r
}

func (l listing) wantNoRow(t *suite.T, id, why string) {
	t.True(l.last(), l.row(id) == nil, "the reservation "+id+" is not listed, since "+why, "it is listed")
}

// shelf is a subject of its own on the scope of a budget, so that the
// reservations of one check can be listed without the others.
type shelf struct {
	t           *suite.T
	b           *target.Budget
	level, name string
}

func newShelf(t *suite.T, b *target.Budget) shelf {
	s := shelf{t: t, b: b}
	for _, level := range []string{"agent", "toolset"} {
		if _, taken := b.Subject[level]; !taken {
			s.level, s.name = level, t.Name()
			break
		}
	}
	return s
}

// put makes the request one for the shelf.
func (s shelf) put(r *suite.Request) *suite.Request {
	if s.level == "" {
		return r
	}
	return r.With("subject."+s.level, s.name)
}

// reserve puts a reservation on the shelf.
func (s shelf) reserve(ctx context.Context, amount int64, e ...edit) *suite.Reservation {
	return s.t.Reserve(ctx, s.b, amount, append([]edit{s.put}, e...)...)
}

// list lists the shelf.
func (s shelf) list() *suite.Request {
	r := s.t.List(s.b.Tenant).WithQuery("limit", "50")
	if s.level == "" {
		return r
	}
	return r.WithQuery(s.level, s.name)
}

// byKey lists what was made with the idempotency key of the reservation.
func byKey(t *suite.T, res *suite.Reservation) *suite.Request {
	return t.List(res.Tenant).WithQuery("idempotency_key", res.Create.Key())
}
