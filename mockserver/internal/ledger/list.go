package ledger

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Window is an inclusive span of time in milliseconds. A zero Window is not
// set; an open end is MinInt64 or MaxInt64.
type Window struct {
	Set      bool
	From, To int64
}

// Everything is the window that excludes nothing yet; narrow it by its ends.
func Everything() Window { return Window{From: math.MinInt64, To: math.MaxInt64} }

func (w Window) holds(ms int64) bool { return !w.Set || w.From <= ms && ms <= w.To }

// ListQuery selects and orders the reservations of a tenant.
type ListQuery struct {
	Key    string // "": any
	Status gen.ReservationStatus
	// Level selects by segments of the scope path; "" selects all.
	Level [levelCount]string
	// The windows are about created_at_ms, expires_at_ms and finalized_at_ms.
	Created, Expires, Finalized Window
	// SortBy is empty for the order of creation.
	SortBy     gen.ListReservationsParamsSortBy
	Descending bool
	After      *Position // nil starts at the beginning
	Limit      int
}

// Position is the place of a reservation in a sorted list: the value it is
// sorted by, a number or a text, and its id, which decides between equals.
type Position struct {
	Number int64
	Text   string
	ID     string
}

// List returns one page, and whether there are more. A tenant without a record
// has no reservations.
func (l *Ledger) List(now int64, tenant string, q *ListQuery) ([]Reservation, bool) {
	l.step(now)
	a := l.accounts[tenant]
	if a == nil {
		return nil, false
	}
	var page []*Reservation
	switch {
	case q.Key != "":
		page = a.pageOfKey(q)
	case q.SortBy == "", q.SortBy == gen.ListReservationsParamsSortByCreatedAtMs:
		page = firstOf(a.byCreation(q), q)
	default:
		page = a.smallest(q)
	}
	more := len(page) > q.Limit
	if more {
		page = page[:q.Limit]
	}
	out := make([]Reservation, len(page))
	for i, r := range page {
		out[i] = *r
	}
	return out, more
}

func (q *ListQuery) matches(r *Reservation) bool {
	return (q.Key == "" || q.Key == r.Key) &&
		(q.Status == "" || q.Status == r.Status) &&
		q.Created.holds(r.CreatedAt) && q.Expires.holds(r.ExpiresAt) &&
		(!q.Finalized.Set || r.FinalizedAt != 0 && q.Finalized.holds(r.FinalizedAt)) &&
		matchesLevels(r.Path, &q.Level)
}

// Place is where r stands in a list sorted by the query's key.
func (q *ListQuery) Place(r *Reservation) Position {
	p := Position{ID: r.ID}
	switch q.SortBy {
	case gen.ListReservationsParamsSortByTenant:
		p.Text = r.Subject.Tenant()
	case gen.ListReservationsParamsSortByScopePath:
		p.Text = r.Path
	case gen.ListReservationsParamsSortByStatus:
		p.Text = string(r.Status)
	case gen.ListReservationsParamsSortByReserved:
		p.Number = r.Estimate
	case gen.ListReservationsParamsSortByExpiresAtMs:
		p.Number = r.ExpiresAt
	case gen.ListReservationsParamsSortByCreatedAtMs:
		p.Number = r.CreatedAt
	case gen.ListReservationsParamsSortByReservationID:
		p.Text = r.ID
	}
	return p
}

// compare orders two places; equals are always ordered by id, ascending.
func (q *ListQuery) compare(a, b Position) int {
	c := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text))
	if q.Descending {
		c = -c
	}
	return cmp.Or(c, strings.Compare(a.ID, b.ID))
}

func (q *ListQuery) beyond(r *Reservation) bool {
	return q.After == nil || q.compare(*q.After, q.Place(r)) < 0
}

// pageOfKey uses that an idempotency key made at most one reservation.
func (a *account) pageOfKey(q *ListQuery) []*Reservation {
	rec := a.answers[answerKey{endpointReserve, q.Key}]
	if r, ok := rec.answer.(*Reservation); ok && q.matches(r) && q.beyond(r) {
		return []*Reservation{r}
	}
	return nil
}

// firstOf takes one more than the limit, so that the caller sees whether there
// are more.
func firstOf(all iter.Seq[*Reservation], q *ListQuery) []*Reservation {
	var page []*Reservation
	for r := range all {
		if !q.matches(r) {
			continue
		}
		page = append(page, r)
		if len(page) > q.Limit {
			break
		}
	}
	return page
}

// byCreation walks the reservations in the order of created_at_ms from behind
// the query's position on, without looking at those before it. The account
// keeps them in this order, and those of one millisecond in the order of ids.
func (a *account) byCreation(q *ListQuery) iter.Seq[*Reservation] {
	all := a.reservations
	if !q.Descending {
		start := 0
		if q.After != nil {
			start = a.behind(q.After.ID)
		}
		return slices.Values(all[start:])
	}
	return func(yield func(*Reservation) bool) {
		end := len(all)
		if q.After != nil {
			// The rest of the position's own millisecond first.
			end = sort.Search(end, func(i int) bool { return all[i].CreatedAt >= q.After.Number })
			for _, r := range all[a.behind(q.After.ID):] {
				if r.CreatedAt != q.After.Number {
					break
				}
				if !yield(r) {
					return
				}
			}
		}
		for end > 0 {
			ms := all[end-1].CreatedAt
			begin := end - 1
			if begin > 0 && all[begin-1].CreatedAt == ms {
				begin = sort.Search(end, func(i int) bool { return all[i].CreatedAt >= ms })
			}
			for _, r := range all[begin:end] {
				if !yield(r) {
					return
				}
			}
			end = begin
		}
	}
}

// behind is the index of the first reservation with a greater id.
func (a *account) behind(id string) int {
	return sort.Search(len(a.reservations), func(i int) bool { return a.reservations[i].ID > id })
}

// smallest finds the first of the order by one pass over all, keeping the best
// so far in a heap whose top is the worst of them.
func (a *account) smallest(q *ListQuery) []*Reservation {
	type entry struct {
		place Position
		r     *Reservation
	}
	var heap []entry
	worse := func(i, j int) bool { return q.compare(heap[i].place, heap[j].place) > 0 }
	down := func() {
		for i := 0; ; {
			child := 2*i + 1
			if child >= len(heap) {
				return
			}
			if child+1 < len(heap) && worse(child+1, child) {
				child++
			}
			if !worse(child, i) {
				return
			}
			heap[i], heap[child] = heap[child], heap[i]
			i = child
		}
	}
	for _, r := range a.reservations {
		if !q.matches(r) || !q.beyond(r) {
			continue
		}
		e := entry{q.Place(r), r}
		switch {
		case len(heap) <= q.Limit:
			heap = append(heap, e)
			for i := len(heap) - 1; i > 0 && worse(i, (i-1)/2); i = (i - 1) / 2 {
				heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
			}
		case q.compare(e.place, heap[0].place) < 0:
			heap[0] = e
			down()
		}
	}
	slices.SortFunc(heap, func(a, b entry) int { return q.compare(a.place, b.place) })
	page := make([]*Reservation, len(heap))
	for i, e := range heap {
		page[i] = e.r
	}
	return page
}
