package mockserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

var (
	statuses = []gen.ReservationStatus{
		gen.ReservationStatusActive, gen.ReservationStatusCommitted, gen.ReservationStatusReleased, gen.ReservationStatusExpired,
	}
	sortKeys = []gen.ListReservationsParamsSortBy{
		gen.ListReservationsParamsSortByReservationID, gen.ListReservationsParamsSortByTenant,
		gen.ListReservationsParamsSortByScopePath, gen.ListReservationsParamsSortByStatus,
		gen.ListReservationsParamsSortByReserved, gen.ListReservationsParamsSortByCreatedAtMs,
		gen.ListReservationsParamsSortByExpiresAtMs,
	}
	sortDirections = []gen.SortDirection{gen.SortDirectionAsc, gen.SortDirectionDesc}
)

func listReservations(x *exchange) (int, any, error) {
	values, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	q, filters, err := values.list()
	if err != nil {
		return 0, nil, err
	}
	tenant, err := x.listTenant(values)
	if err != nil {
		return 0, nil, err
	}
	if err := values.listCursor(q, tenant, filters); err != nil {
		return 0, nil, err
	}
	x.s.mu.Lock()
	rows, more := x.s.ledger.List(x.s.nowMs(), tenant, q)
	x.s.mu.Unlock()

	body := &gen.ReservationListResponse{Reservations: make([]gen.ReservationSummary, len(rows)), HasMore: &more}
	include := values.include()
	for i := range rows {
		if body.Reservations[i], err = summaryBody(&rows[i], include); err != nil {
			return 0, nil, err
		}
	}
	if more {
		cursor := newListCursor(q, tenant, filters, q.Place(&rows[len(rows)-1]))
		body.NextCursor = &cursor
	}
	return http.StatusOK, body, nil
}

// listTenant is whose reservations are listed: the key's own, or for the admin
// the one that the query has to name.
func (x *exchange) listTenant(values query) (string, error) {
	named, _ := values.first(ledger.Levels[0])
	if x.admin {
		if named == "" {
			return "", invalidRequest("tenant query parameter is required when using admin key authentication")
		}
		return named, nil
	}
	return x.entry.Tenant, x.ownTenant(named)
}

// list reads filters and order. filters stands for everything that a sorted
// cursor is bound to.
func (q query) list() (out *ledger.ListQuery, filters []string, err error) {
	out = &ledger.ListQuery{}
	if out.Limit, err = q.limit(); err != nil {
		return nil, nil, err
	}
	if err := enum(q, "status", statuses, &out.Status, exactly); err != nil {
		return nil, nil, err
	}
	var direction gen.SortDirection
	if err := enum(q, "sort_by", sortKeys, &out.SortBy, strings.ToLower); err != nil {
		return nil, nil, err
	}
	if err := enum(q, "sort_dir", sortDirections, &direction, strings.ToLower); err != nil {
		return nil, nil, err
	}
	if out.SortBy == "" && direction != "" {
		out.SortBy = gen.ListReservationsParamsSortByCreatedAtMs
	}
	out.Descending = out.SortBy != "" && direction != gen.SortDirectionAsc
	for _, w := range [...]struct {
		from, to string
		into     *ledger.Window
	}{
		{"from", "to", &out.Created},
		{"expires_from", "expires_to", &out.Expires},
		{"finalized_from", "finalized_to", &out.Finalized},
	} {
		if err := q.window(w.from, w.to, w.into); err != nil {
			return nil, nil, err
		}
	}
	if key, given := q.first("idempotency_key"); given {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxKeyLength {
			return nil, nil, invalidRequest("idempotency_key has to have 1 to %d characters", maxKeyLength)
		}
		out.Key = key
	}
	for i, name := range ledger.Levels[1:] {
		out.Level[i+1], _ = q.first(name)
	}
	for _, name := range filterNames {
		v, _ := q.first(name)
		if slices.Contains(ledger.Levels[:], name) {
			v = strings.ToLower(v)
		}
		filters = append(filters, v)
	}
	return out, filters, nil
}

// filterNames are the parameters, tenant aside, whose change makes a sorted
// cursor invalid.
var filterNames = append([]string{
	"idempotency_key", "status", "from", "to", "expires_from", "expires_to", "finalized_from", "finalized_to",
}, ledger.Levels[1:]...)

// enum reads a parameter that has to be one of values when it is given at all.
func enum[T ~string](q query, name string, values []T, into *T, fold func(string) string) error {
	v, given := q.first(name)
	if !given {
		return nil
	}
	if i := slices.Index(values, T(fold(v))); i >= 0 {
		*into = values[i]
		return nil
	}
	return invalidRequest("%s is not one of the values of the enum", name)
}

func exactly(v string) string { return v }

// window reads the two ends of a span of time; a blank end is open.
func (q query) window(from, to string, into *ledger.Window) error {
	w := ledger.Everything()
	for _, end := range [...]struct {
		name string
		into *int64
	}{{from, &w.From}, {to, &w.To}} {
		v, _ := q.first(end.name)
		if v == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			return invalidRequest("%s has to be a date-time such as 2026-01-31T12:00:00Z", end.name)
		}
		w.Set = true
		*end.into = t.UnixMilli()
	}
	if w.From > w.To {
		return invalidRequest("%s is after %s", from, to)
	}
	if w.Set {
		*into = w
	}
	return nil
}

// include is the set of the heavy members that were asked for.
func (q query) include() map[string]bool {
	out := make(map[string]bool)
	for _, list := range q["include"] {
		for token := range strings.SplitSeq(list, ",") {
			out[strings.ToLower(strings.TrimSpace(token))] = true
		}
	}
	return out
}

func summaryBody(r *ledger.Reservation, include map[string]bool) (gen.ReservationSummary, error) {
	if !include["metadata"] {
		r.Metadata = nil
	}
	if !include["committed_metadata"] {
		r.CommittedMetadata = nil
	}
	detail, err := detailBody(r)
	if err != nil {
		return gen.ReservationSummary{}, err
	}
	return gen.ReservationSummary(*detail), nil
}

// listCursor is the place where the next page starts. A sorted one also holds
// the order, and a hash of the filters it is bound to; the plain one works with
// any filters, as the reference server's does.
type listCursor struct {
	SortBy     gen.ListReservationsParamsSortBy `json:"b,omitempty"`
	Descending bool                             `json:"d,omitempty"`
	Filters    string                           `json:"f,omitempty"`
	Number     int64                            `json:"n,omitempty"`
	Text       string                           `json:"t,omitempty"`
	ID         string                           `json:"i"`
}

func newListCursor(q *ledger.ListQuery, tenant string, filters []string, last ledger.Position) string {
	c := listCursor{SortBy: q.SortBy, Descending: q.Descending, ID: last.ID}
	if q.SortBy != "" {
		c.Number, c.Text, c.Filters = last.Number, last.Text, hashFilters(tenant, filters)
	}
	return encodeCursor(c)
}

func hashFilters(tenant string, filters []string) string {
	b, err := json.Marshal(append([]string{tenant}, filters...))
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// listCursor makes q continue behind the cursor, if there is one.
func (q query) listCursor(into *ledger.ListQuery, tenant string, filters []string) error {
	text, _ := q.first("cursor")
	if text == "" {
		return nil
	}
	var c listCursor
	if err := decodeCursor(text, &c); err != nil {
		return err
	}
	if c.SortBy != "" {
		if !slices.Contains(sortKeys, c.SortBy) {
			return errForeignCursor
		}
		if into.SortBy == "" {
			into.SortBy, into.Descending = c.SortBy, c.Descending
		}
		if c.Filters != hashFilters(tenant, filters) {
			return invalidRequest("the cursor belongs to other filters")
		}
	}
	if into.SortBy != c.SortBy || into.Descending != c.Descending {
		return invalidRequest("the cursor belongs to another order")
	}
	into.After = &ledger.Position{Number: c.Number, Text: c.Text, ID: c.ID}
	return nil
}
