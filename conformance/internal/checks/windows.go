package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// window is one of the three pairs of bounds that a listing takes.
type window struct {
	name, from, to string
	// member is the instant of a row that the pair is about.
	member string
	// lines say what the lower bound, the upper bound and a reversed pair mean.
	lower, upper, reversed []int
}

func createdWindow() window {
	return window{"created", "from", "to", "created_at_ms", []int{2033, 2146}, []int{2033, 2166}, []int{2059, 2150, 2170}}
}

func expiresWindow() window {
	return window{"expires", "expires_from", "expires_to", "expires_at_ms", []int{2039, 2183}, []int{2039, 2205}, []int{2059, 2188, 2208}}
}

func finalizedWindow() window {
	return window{"finalized", "finalized_from", "finalized_to", "finalized_at_ms", []int{2047, 2221}, []int{2047, 2248}, []int{2059, 2226, 2251}}
}

// windows is about the time windows of a listing. A server need not know them,
// but must ignore what it does not know, and one that knows a pair must keep
// to it.
func windows() []suite.Check {
	var all []suite.Check
	for _, w := range []window{createdWindow(), expiresWindow(), finalizedWindow()} {
		all = append(all, w.bound("lower", w.lower), w.bound("upper", w.upper), w.reversedPair())
	}
	return slices.Concat(all, windowForms(), windowsTogether())
}

func instant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// Instants before and after everything that a run makes.
const (
	longAgo = "2001-01-01T00:00:00Z"
	farAway = "2999-01-01T00:00:00Z"
)

// shelved is a reservation with its listing.
type shelved struct {
	shelf
	id string
	at int64 // the instant that the window is about
}

// ground puts a reservation on a shelf that the window is about. The server must
// show some sign of knowing the pair, else the check does not apply.
func (w window) ground(ctx context.Context, t *suite.T) shelved {
	s := newShelf(t, t.Budget(target.Funded))
	res := s.reserve(ctx, 1)
	if w.member == "finalized_at_ms" {
		t.Given(t.Do(ctx, t.Release(res)), http.StatusOK)
	}
	l := walkReservations(ctx, t, s.list())
	r := l.wantRow(t, res.ID)
	at, ok := suite.Integer(r[w.member])
	if !ok {
		t.Skip("rows do not tell %s", w.member)
	}
	g := shelved{s, res.ID, at}
	if !w.known(ctx, g) {
		t.Skip("the server does not know %s and %s, which it may ignore", w.from, w.to)
	}
	return g
}

// known looks for any sign: a bound that hides the row, or a pair that is
// refused for being reversed.
func (w window) known(ctx context.Context, g shelved) bool {
	if a := g.t.Do(ctx, g.list().WithQuery(w.from, farAway).WithQuery(w.to, longAgo)); a.Status == http.StatusBadRequest {
		return true
	}
	for bound, value := range map[string]string{w.from: farAway, w.to: longAgo} {
		if walkReservations(ctx, g.t, g.list().WithQuery(bound, value)).row(g.id) == nil {
			return true
		}
	}
	return false
}

func (w window) bound(side string, lines []int) suite.Check {
	return suite.Check{
		ID: "windows." + w.name + "-" + side, Level: suite.Must, Section: listSection, Lines: lines,
		Requirement: "The " + side + " bound on " + w.member + " alone lists what lies at the bound and hides what lies a millisecond outside.",
		Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Release, suite.List},
		Run: func(ctx context.Context, t *suite.T) {
			g := w.ground(ctx, t)
			bound, outside := w.from, int64(1)
			if side == "upper" {
				bound, outside = w.to, -1
			}
			walkReservations(ctx, t, g.list().WithQuery(bound, instant(g.at))).wantRow(t, g.id)
			walkReservations(ctx, t, g.list().WithQuery(bound, instant(g.at+outside))).
				wantNoRow(t, g.id, "its "+w.member+" is outside of "+bound)
		},
	}
}

func (w window) reversedPair() suite.Check {
	return suite.Check{
		ID: "windows." + w.name + "-reversed", Level: suite.Must, Section: listSection, Lines: w.reversed,
		Requirement: w.from + " later than " + w.to + " is refused with 400 INVALID_REQUEST; equal bounds are not.",
		Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Release, suite.List},
		Run: func(ctx context.Context, t *suite.T) {
			g := w.ground(ctx, t)
			a := t.Do(ctx, g.list().WithQuery(w.from, instant(g.at)).WithQuery(w.to, instant(g.at-1)))
			t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
			walkReservations(ctx, t, g.list().WithQuery(w.from, instant(g.at)).WithQuery(w.to, instant(g.at))).wantRow(t, g.id)
		},
	}
}

func bounds() []string {
	return []string{"from", "to", "expires_from", "expires_to", "finalized_from", "finalized_to"}
}

func windowForms() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.List}
	return []suite.Check{
		{
			ID: "windows.blank", Level: suite.Must, Section: listSection, Lines: []int{2062, 2063, 2067},
			Requirement: "A blank bound is no bound, whichever of the six it is: it neither hides a row nor is refused.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				s := newShelf(t, t.Budget(target.Funded))
				res := s.reserve(ctx, 1)
				all := s.list()
				for _, bound := range bounds() {
					walkReservations(ctx, t, s.list().WithQuery(bound, "")).wantRow(t, res.ID)
					all = all.WithQuery(bound, "")
				}
				walkReservations(ctx, t, all).wantRow(t, res.ID)
			},
		},
		{
			ID: "windows.offset", Level: suite.Must, Section: listSection, Lines: []int{2029},
			Requirement: "A bound may be written with an offset from UTC and without fractions of a second, and means the same instant.",
			Needs:       needs, Ops: slices.Concat(ops, []suite.Op{suite.Release}),
			Run: func(ctx context.Context, t *suite.T) {
				g := createdWindow().ground(ctx, t)
				second := time.UnixMilli(g.at).Truncate(time.Second)
				for _, zone := range []*time.Location{time.FixedZone("", 2*3600), time.FixedZone("", -7*3600-1800)} {
					here := func(at time.Time) string { return at.In(zone).Format(time.RFC3339) }
					walkReservations(ctx, t, g.list().WithQuery("from", here(second))).wantRow(t, g.id)
					walkReservations(ctx, t, g.list().WithQuery("from", here(second.Add(time.Second)))).
						wantNoRow(t, g.id, "it was created before from")
				}
			},
		},
		{
			ID: "windows.unreadable", Level: suite.Should, Section: listSection, Lines: []int{2029},
			Requirement: "A bound that is no date-time is refused with 400 INVALID_REQUEST.",
			Needs:       needs, Ops: slices.Concat(ops, []suite.Op{suite.Release}),
			Run: func(ctx context.Context, t *suite.T) {
				g := createdWindow().ground(ctx, t)
				for _, garbage := range []string{"yesterday", "1700000000000", "2026-02-30T00:00:00Z"} {
					a := t.Do(ctx, g.list().WithQuery("from", garbage))
					t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
				}
			},
		},
		{
			ID: "windows.finalized-hides-active", Level: suite.Must, Section: listSection, Lines: []int{2051, 2232},
			Requirement: "A reservation that is not finalized is outside of every finalized window, also of one that is open on the other side.",
			Needs:       needs, Ops: slices.Concat(ops, []suite.Op{suite.Release}),
			Run: func(ctx context.Context, t *suite.T) {
				g := finalizedWindow().ground(ctx, t)
				active := g.reserve(ctx, 1)
				for bound, value := range map[string]string{"finalized_from": longAgo, "finalized_to": farAway} {
					l := walkReservations(ctx, t, g.list().WithQuery(bound, value))
					l.wantRow(t, g.id)
					l.wantNoRow(t, active.ID, "it is not finalized")
				}
			},
		},
		{
			ID: "windows.finalized-hides-expired", Level: suite.Must, Section: listSection, Lines: []int{2051, 2232},
			Requirement: "A reservation that expired is outside of every finalized window, and inside of the expires window around its expiry.",
			Needs:       needs, Ops: slices.Concat(ops, []suite.Op{suite.Release}), Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				g := finalizedWindow().ground(ctx, t)
				expired := g.expired(ctx)
				for bound, value := range map[string]string{"finalized_from": longAgo, "finalized_to": farAway} {
					l := walkReservations(ctx, t, g.list().WithQuery(bound, value))
					l.wantRow(t, g.id)
					l.wantNoRow(t, expired.ID, "it is not finalized")
				}
				at := t.WantInt(expired.Created, "expires_at_ms")
				walkReservations(ctx, t, g.list().WithQuery("expires_from", instant(at)).WithQuery("expires_to", instant(at))).wantRow(t, expired.ID)
			},
		},
	}
}

func windowsTogether() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.Release, suite.List}
	return []suite.Check{
		{
			ID: "windows.combined", Level: suite.Must, Section: listSection, Lines: []int{2075},
			Requirement: "A row must lie in every window that is given.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				g := createdWindow().ground(ctx, t)
				if !expiresWindow().known(ctx, g) {
					t.Skip("the server does not know expires_from and expires_to, which it may ignore")
				}
				both := g.list().WithQuery("from", longAgo).WithQuery("expires_from", longAgo)
				walkReservations(ctx, t, both).wantRow(t, g.id)
				walkReservations(ctx, t, both.WithQuery("from", farAway)).wantNoRow(t, g.id, "it was created before from")
				walkReservations(ctx, t, both.WithQuery("expires_from", farAway)).wantNoRow(t, g.id, "it expires before expires_from")
			},
		},
		{
			ID: "windows.not-the-sort-key", Level: suite.Must, Section: listSection, Lines: []int{2037, 2148, 2168, 2185, 2223},
			Requirement: "A window is about its own instant, whatever the listing is sorted by.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				g := createdWindow().ground(ctx, t)
				// The instant of creation is before the expiry, so a from between
				// them tells the two apart.
				for _, by := range []string{"created_at_ms", "expires_at_ms", "reserved"} {
					sorted := g.list().WithQuery("sort_by", by)
					walkReservations(ctx, t, sorted.WithQuery("from", instant(g.at))).wantRow(t, g.id)
					walkReservations(ctx, t, sorted.WithQuery("from", instant(g.at+1))).wantNoRow(t, g.id, "it was created before from")
					walkReservations(ctx, t, sorted.WithQuery("to", instant(g.at))).wantRow(t, g.id)
				}
			},
		},
	}
}
