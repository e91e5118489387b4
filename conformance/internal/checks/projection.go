package checks

import (
	"context"
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// projection is about include, which asks a listing for the members that it
// leaves out by default.
func projection() []suite.Check {
	const section = "listReservations"
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "projection.lean", Level: suite.Must, Section: section, Lines: []int{1755, 1769, 1782, 2292}, Edition: suite.Current,
			Requirement: "A listing that does not ask for metadata, committed_metadata or evidence does not show them.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				l := walkReservations(ctx, t, s.list())
				wantBare(t, l, l.wantRow(t, s.id))
			},
		},
		{
			ID: "projection.metadata", Level: suite.Should, Section: section, Lines: []int{1755, 2299}, Edition: suite.Current,
			Requirement: "include=metadata shows the metadata of the create and not that of the commit.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				l := walkReservations(ctx, t, s.list().WithQuery("include", "metadata"))
				r := l.wantRow(t, s.id)
				wantEqual(t, l.last(), r, "metadata", s.made)
				wantNoMember(t, l.last(), r, "committed_metadata")
			},
		},
		{
			ID: "projection.committed-metadata", Level: suite.Should, Section: section, Lines: []int{1769, 2301}, Edition: suite.Current,
			Requirement: "include=committed_metadata shows the metadata of the commit and not that of the create; both tokens show both.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				l := walkReservations(ctx, t, s.list().WithQuery("include", "committed_metadata"))
				r := l.wantRow(t, s.id)
				wantEqual(t, l.last(), r, "committed_metadata", s.settled)
				wantNoMember(t, l.last(), r, "metadata")
				l = walkReservations(ctx, t, s.list().WithQuery("include", "metadata,committed_metadata"))
				r = l.wantRow(t, s.id)
				wantEqual(t, l.last(), r, "metadata", s.made)
				wantEqual(t, l.last(), r, "committed_metadata", s.settled)
			},
		},
		{
			ID: "projection.right-metadata", Level: suite.Must, Section: "ReservationSummary", Lines: []int{1755, 1768, 1773}, Edition: suite.Current,
			Requirement: "The metadata that a row shows is what the create or the commit carried, and a row whose reservation carried none shows none.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				plain := s.reserve(ctx, 1)
				l := walkReservations(ctx, t, s.list().WithQuery("include", "metadata,committed_metadata"))
				wantBare(t, l, l.wantRow(t, plain.ID))
				r := l.wantRow(t, s.id)
				for member, want := range map[string]any{"metadata": s.made, "committed_metadata": s.settled} {
					if r[member] != nil {
						wantEqual(t, l.last(), r, member, want)
					}
				}
			},
		},
		{
			ID: "projection.unknown-token", Level: suite.Must, Section: section, Lines: []int{2310}, Edition: suite.Current,
			Requirement: "A token that the server does not know is ignored.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				l := walkReservations(ctx, t, s.list().WithQuery("include", "horoscope"))
				wantBare(t, l, l.wantRow(t, s.id))
				s.wantAlike(ctx, "metadata", "horoscope,metadata,subject")
			},
		},
		{
			ID: "projection.sloppy-tokens", Level: suite.Must, Section: section, Lines: []int{2315}, Edition: suite.Current,
			Requirement: "White space around tokens and empty tokens are ignored, also when there is nothing else.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				s := newAnnotated(ctx, t)
				for _, blank := range []string{"", " ", ",", " , ,"} {
					l := walkReservations(ctx, t, s.list().WithQuery("include", blank))
					wantBare(t, l, l.wantRow(t, s.id))
				}
				s.wantAlike(ctx, "metadata,committed_metadata", " metadata , ,committed_metadata ,")
			},
		},
		{
			ID: "projection.same-rows", Level: suite.Must, Section: section, Lines: []int{2318}, Edition: suite.Current,
			Requirement: "include changes neither which rows are listed nor their order.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				d := newDisplay(ctx, t, 0)
				r := d.list().WithQuery("sort_by", "reserved").WithQuery("sort_dir", "asc")
				plain, rich := t.Do(ctx, r), t.Do(ctx, r.WithQuery("include", "metadata,evidence"))
				t.WantStatus(plain, http.StatusOK)
				t.WantStatus(rich, http.StatusOK)
				l := listing{rows: rowsOf(plain), pages: []*suite.Answer{plain}}
				for _, id := range d.ids {
					l.wantRow(t, id)
				}
				wantSameRows(t, plain, rich)
			},
		},
	}
}

func rowsOf(a *suite.Answer) []row {
	var rows []row
	for _, item := range a.Items("reservations") {
		if r, ok := item.(row); ok {
			rows = append(rows, r)
		}
	}
	return rows
}

// annotated is a committed reservation with metadata from its create and from
// its commit.
type annotated struct {
	shelf
	id            string
	made, settled map[string]any
}

func newAnnotated(ctx context.Context, t *suite.T) annotated {
	s := annotated{
		shelf:   newShelf(t, t.Budget(target.Funded)),
		made:    map[string]any{"run": t.Name(), "deep": map[string]any{"list": []any{1, "two", true}}},
		settled: map[string]any{"outcome": t.Name()},
	}
	res := s.reserve(ctx, 2, with("metadata", s.made))
	t.Given(t.Do(ctx, t.Commit(res, 1).With("metadata", s.settled)), http.StatusOK)
	s.id = res.ID
	return s
}

// wantAlike wants two values of include to show the same.
func (s annotated) wantAlike(ctx context.Context, plain, sloppy string) {
	a := walkReservations(ctx, s.t, s.list().WithQuery("include", plain))
	b := walkReservations(ctx, s.t, s.list().WithQuery("include", sloppy))
	wantEqual(s.t, b.last(), row{"row": map[string]any(b.wantRow(s.t, s.id))}, "row", map[string]any(a.wantRow(s.t, s.id)))
}

func wantBare(t *suite.T, l listing, r row) {
	for _, member := range []string{"metadata", "committed_metadata", "evidence"} {
		wantNoMember(t, l.last(), r, member)
	}
}
