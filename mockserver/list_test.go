package mockserver_test

import (
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// keysOf are the idempotency keys of a page, which name the reservations.
func (r *reply) keysOf() []string {
	out := []string{}
	for _, row := range r.ok().at("reservations").([]any) {
		out = append(out, row.(map[string]any)["idempotency_key"].(string))
	}
	return out
}

func (w *world) list(query string) *reply {
	w.t.Helper()
	return w.call("GET", "/v1/reservations?"+query, "")
}

// all follows the cursors to the end.
func (w *world) all(query string) []string {
	w.t.Helper()
	out := []string{}
	cursor := ""
	for {
		r := w.list(query + cursor)
		out = append(out, r.keysOf()...)
		require.Less(w.t, len(out), 1000, "the pages come to no end")
		if next := r.at("next_cursor"); next != nil {
			assert.Equal(w.t, true, r.at("has_more"))
			cursor = "&cursor=" + url.QueryEscape(next.(string))
			continue
		}
		assert.Equal(w.t, false, r.at("has_more"))
		return out
	}
}

// library is a tenant with reservations of every state, made one second apart:
// a active, b committed, c released, d expired, e active in another scope.
func library(t *testing.T) *world {
	w := acme(t, plenty)
	w.held("a", 50, `"ttl_ms":600000`, `"metadata":{"m":1}`)
	w.Advance(time.Second)
	b := w.held("b", 40)
	w.call("POST", "/v1/reservations/"+b+"/commit", commitBody("c", 5, `"metadata":{"cm":2}`)).ok()
	w.Advance(time.Second)
	w.release(w.held("c", 30), "r").ok()
	w.Advance(time.Second)
	w.held("d", 20, `"ttl_ms":1000`, `"grace_period_ms":0`)
	w.Advance(2 * time.Second)
	w.call("POST", "/v1/reservations", spendBody("e", "estimate", `{"tenant":"acme","workspace":"W","agent":"Bot"}`, 10)).ok()
	return w
}

func stamp(ms int64) string {
	return url.QueryEscape(epoch.Add(time.Duration(ms) * time.Millisecond).UTC().Format(time.RFC3339Nano))
}

func TestListFilters(t *testing.T) {
	w := library(t)
	for query, want := range map[string]string{
		"":                                "abcde",
		"status=ACTIVE":                   "ae",
		"status=COMMITTED":                "b",
		"status=RELEASED":                 "c",
		"status=EXPIRED":                  "d",
		"tenant=acme":                     "abcde",
		"tenant=":                         "abcde",
		"workspace=w":                     "e",
		"workspace=W&agent=bot":           "e",
		"agent=other":                     "",
		"app=":                            "abcde",
		"idempotency_key=c":               "c",
		"idempotency_key=c&status=ACTIVE": "",
		"idempotency_key=nobody":          "",
		"from=" + stamp(1000):             "bcde",
		"to=" + stamp(1000):               "ab",
		"from=" + stamp(1000) + "&to=" + stamp(2000):                        "bc",
		"from=" + stamp(1001):                                               "cde",
		"from=&to=&expires_from=&expires_to=&finalized_from=&finalized_to=": "abcde",
		"expires_to=" + stamp(4000):                                         "d",
		"expires_from=" + stamp(600000):                                     "a",
		"finalized_from=" + stamp(0):                                        "bc",
		"finalized_to=" + stamp(1000):                                       "b",
		"finalized_from=" + stamp(2000) + "&from=" + stamp(2001):            "",
		"unknown=parameter":                                                 "abcde",
		"from=2027-01-15T10:00:01%2B02:00":                                  "bcde",
	} {
		assert.Equal(t, want, strings.Join(w.list(query).keysOf(), ""), query)
	}
	w.list("tenant=globex").fails(403, gen.ErrorCodeForbidden)
}

func TestListSort(t *testing.T) {
	w := library(t)
	for query, want := range map[string]string{
		"sort_by=created_at_ms":              "edcba",
		"sort_by=created_at_ms&sort_dir=asc": "abcde",
		"sort_dir=asc":                       "abcde",
		"sort_dir=DESC":                      "edcba",
		"sort_by=RESERVED":                   "abcde",
		"sort_by=reserved&sort_dir=asc":      "edcba",
		"sort_by=expires_at_ms&sort_dir=asc": "dbcea",
		"sort_by=status&sort_dir=asc":        "aebdc",
		"sort_by=status":                     "cdbae",
		"sort_by=scope_path":                 "eabcd",
		"sort_by=tenant":                     "abcde",
		"sort_by=reservation_id":             "edcba",
		"sort_by=reserved&status=ACTIVE":     "ae",
	} {
		assert.Equal(t, want, strings.Join(w.list(query).keysOf(), ""), query)
		assert.Equal(t, want, strings.Join(w.all(query+"&limit=1"), ""), query)
		assert.Equal(t, want, strings.Join(w.all(query+"&limit=2"), ""), query)
	}
}

func TestListWithinOneMillisecond(t *testing.T) {
	w := acme(t, plenty)
	var want []string
	for batch := range 3 {
		for i := range 7 {
			key := fmt.Sprintf("%d-%d", batch, i)
			w.held(key, int64(i))
			want = append(want, key)
		}
		w.Advance(time.Millisecond)
	}
	assert.Equal(t, want, w.all("limit=4"))
	assert.Equal(t, want, w.all("sort_by=created_at_ms&sort_dir=asc&limit=4"))
	// Descending by time, and ascending by id within one millisecond.
	sort.SliceStable(want, func(i, j int) bool { return want[i][0] > want[j][0] })
	for limit := 1; limit < 22; limit++ {
		assert.Equal(t, want, w.all(fmt.Sprintf("sort_by=created_at_ms&limit=%d", limit)))
	}
}

func TestListPagesStayInPlaceWhileOthersReserve(t *testing.T) {
	w := library(t)
	first := w.list("sort_by=created_at_ms&limit=2")
	w.held("late", 1)
	next := w.list("sort_by=created_at_ms&limit=2&cursor=" + first.str("next_cursor"))
	assert.Equal(t, []string{"c", "b"}, next.keysOf())
}

func TestListRows(t *testing.T) {
	w := library(t)
	row := func(key, include string) *reply {
		r := w.list("idempotency_key=" + key + include).ok()
		r.doc = r.doc["reservations"].([]any)[0].(map[string]any)
		return r
	}
	b := row("b", "")
	assert.EqualValues(t, 5, b.int("committed.amount"))
	assert.Equal(t, at(1000), b.int("finalized_at_ms"))
	assert.Nil(t, b.at("committed_metadata"))
	assert.EqualValues(t, 2, row("b", "&include=committed_metadata").int("committed_metadata.cm"))
	assert.EqualValues(t, 1, row("a", "&include=,bogus,%20Metadata%20,").int("metadata.m"))
	assert.Nil(t, row("a", "&include=").at("metadata"))
	assert.Nil(t, row("d", "").at("finalized_at_ms"))
	assert.Nil(t, row("c", "").at("committed"))
	assert.NotContains(t, w.list("").raw, "null")
}

func TestListCursorIsBoundToOrderAndFilters(t *testing.T) {
	w := library(t)
	sorted := w.list("sort_by=reserved&limit=2").str("next_cursor")
	plain := w.list("limit=2").str("next_cursor")
	for query, keys := range map[string]string{
		"sort_by=reserved&cursor=" + sorted:                          "cde",
		"sort_by=reserved&limit=1&include=metadata&cursor=" + sorted: "c",
		"cursor=" + sorted:               "cde",
		"tenant=acme&cursor=" + sorted:   "cde",
		"cursor=" + plain:                "cde",
		"status=EXPIRED&cursor=" + plain: "d",
		"cursor=":                        "abcde",
	} {
		assert.Equal(t, keys, strings.Join(w.list(query).keysOf(), ""), query)
	}
	for _, query := range []string{
		"sort_by=reserved&sort_dir=asc&cursor=" + sorted,
		"sort_by=status&cursor=" + sorted,
		"sort_by=reserved&status=ACTIVE&cursor=" + sorted,
		"sort_by=reserved&agent=bot&cursor=" + sorted,
		"sort_by=reserved&from=" + stamp(0) + "&cursor=" + sorted,
		"sort_by=reserved&cursor=" + plain,
		"cursor=" + sorted + "x", "cursor=" + sorted[1:], "cursor=" + strings.ToUpper(sorted),
	} {
		w.list(query).fails(400, gen.ErrorCodeInvalidRequest)
	}
}

func TestListLimits(t *testing.T) {
	w := acme(t, plenty)
	for i := range 201 {
		w.held(fmt.Sprintf("%03d", i), 1)
	}
	assert.Len(t, w.list("").keysOf(), 50)
	assert.Len(t, w.list("limit=").keysOf(), 50)
	assert.Len(t, w.list("limit=200").keysOf(), 200)
	assert.Len(t, w.all("limit=200"), 201)
}

func TestAnExpiredReservationIsListedFromTheFirstMillisecondOn(t *testing.T) {
	w := acme(t, plenty)
	w.held("k", 1, `"ttl_ms":1000`)
	w.Advance(6 * time.Second)
	assert.Equal(t, []string{"k"}, w.list("status=ACTIVE").keysOf())
	w.Advance(time.Millisecond)
	assert.Equal(t, []string{"k"}, w.list("status=EXPIRED").keysOf())
}

func TestBalances(t *testing.T) {
	w := acme(t, plenty,
		mockserver.Budget{Scope: "tenant:acme", Unit: gen.UnitEnumTokens, Allocated: 5},
		mockserver.Budget{Scope: "tenant:acme/workspace:w", Allocated: 100, OverdraftLimit: 7, Debt: 3},
		mockserver.Budget{Scope: "tenant:acme/workspace:w/agent:bot", Allocated: 10, Status: mockserver.BudgetFrozen},
		mockserver.Budget{Scope: "tenant:acme/agent:bot", OverLimit: true})
	require.NoError(t, w.AddTenant(mockserver.Tenant{ID: "globex"}))
	require.NoError(t, w.AddBudget(mockserver.Budget{Scope: "tenant:globex/workspace:w"}))
	paths := func(query string) (out []string) {
		cursor := ""
		for {
			r := w.call("GET", "/v1/balances?"+query+cursor, "").ok()
			for _, b := range r.at("balances").([]any) {
				m := b.(map[string]any)
				out = append(out, m["scope_path"].(string)+" "+m["remaining"].(map[string]any)["unit"].(string))
			}
			next, more := r.at("next_cursor").(string)
			if !more {
				return out
			}
			cursor = "&cursor=" + next
		}
	}
	everything := []string{
		"tenant:acme TOKENS", "tenant:acme USD_MICROCENTS", "tenant:acme/agent:bot USD_MICROCENTS",
		"tenant:acme/workspace:w USD_MICROCENTS", "tenant:acme/workspace:w/agent:bot USD_MICROCENTS",
	}
	assert.Equal(t, everything, paths("tenant=acme"))
	assert.Equal(t, everything, paths("tenant=acme&limit=1&include_children=true"))
	assert.Equal(t, everything, paths("tenant="))
	assert.Equal(t, everything[3:], paths("workspace=W"))
	assert.Equal(t, []string{everything[2], everything[4]}, paths("agent=bot"))
	assert.Equal(t, everything[4:], paths("agent=bot&workspace=w"))
	assert.Empty(t, paths("toolset=x"))

	r := w.call("GET", "/v1/balances?workspace=w", "").ok()
	assert.Equal(t, "workspace:w", r.str("balances.0.scope"))
	assert.EqualValues(t, 97, r.int("balances.0.remaining.amount"))
	assert.EqualValues(t, 3, r.int("balances.0.debt.amount"))
	assert.EqualValues(t, 7, r.int("balances.0.overdraft_limit.amount"))
	assert.Nil(t, r.at("balances.0.is_over_limit"))
	assert.Nil(t, r.at("balances.1.debt"))
	assert.Equal(t, true, w.call("GET", "/v1/balances?agent=bot", "").at("balances.0.is_over_limit"))
	assert.True(t, slices.IsSorted(paths("tenant=acme")))
}
