package client_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

func row(id, key string) string {
	return strings.Replace(detailOK, `"r-1"`, `"`+id+`","idempotency_key":"`+key+`"`, 1)
}

// pages answers with one page per cursor.
func pages(byCursor map[string]string) *recorder {
	return &recorder{answer: func(_ int, req *http.Request) (*http.Response, error) {
		body, ok := byCursor[req.URL.Query().Get("cursor")]
		if !ok {
			return reply(400, errorBody("INVALID_REQUEST")), nil
		}
		return reply(200, body), nil
	}}
}

func TestListingWalksOverAllPagesWithPinnedFilters(t *testing.T) {
	server := pages(map[string]string{
		"":     `{"reservations":[` + row("a", "k1") + `,` + row("b", "k2") + `],"next_cursor":"c/2?","has_more":true}`,
		"c/2?": `{"reservations":[],"next_cursor":"c3","has_more":true}`,
		"c3":   `{"reservations":[` + row("c", "k3") + `],"next_cursor":"c4"}`,
		"c4":   `{"reservations":[],"next_cursor":null,"has_more":false}`,
	})
	c := newClient(t, server)
	status, from := gen.ReservationStatusActive, time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 7200))
	params := gen.ListReservationsParams{Status: &status, From: &from, App: ptr("a b&c"), Include: []string{"metadata", "evidence"}, Limit: ptr(int64(2))}
	page, err := c.Reservations(t.Context(), params)
	require.NoError(t, err)
	assert.Len(t, page.Items, 2)
	assert.Equal(t, "c/2?", page.Cursor)
	assert.True(t, page.HasMore)

	status, from, *params.App, params.Include[0], *params.Limit = "CHANGED", time.Time{}, "changed", "changed", 9
	var ids []string
	for item, err := range page.All(t.Context()) {
		require.NoError(t, err)
		ids = append(ids, item.ReservationID)
	}
	assert.Equal(t, []string{"a", "b", "c"}, ids)
	attempts := server.attempts()
	require.Len(t, attempts, 4)
	for i, cursor := range []string{"", "c/2?", "c3", "c4"} {
		query, err := url.ParseQuery(attempts[i].query)
		require.NoError(t, err)
		assert.Equal(t, cursor, query.Get("cursor"))
		query.Del("cursor")
		got, err := time.Parse(time.RFC3339Nano, query.Get("from"))
		require.NoError(t, err)
		assert.True(t, got.Equal(time.Date(2026, 1, 2, 1, 4, 5, 6e6, time.UTC)), query.Get("from"))
		query.Del("from")
		assert.Equal(t, url.Values{"status": {"ACTIVE"}, "app": {"a b&c"}, "include": {"metadata,evidence"}, "limit": {"2"}}, query)
	}
}

func TestBalancesWalkFromACursorOn(t *testing.T) {
	item := func(scope string) string {
		return `{"scope":"` + scope + `","scope_path":"` + scope + `","remaining":{"unit":"TOKENS","amount":1}}`
	}
	server := pages(map[string]string{
		"c1": `{"balances":[` + item("a") + `],"next_cursor":"c2","has_more":true}`,
		"c2": `{"balances":[` + item("b") + `],"next_cursor":"","has_more":true}`,
	})
	page, err := newClient(t, server).Balances(t.Context(), gen.GetBalancesParams{Tenant: ptr("acme"), Cursor: ptr("c1")})
	require.NoError(t, err)
	next, err := page.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, next.Items, 1)
	assert.Equal(t, "b", next.Items[0].Scope)
	assert.False(t, next.HasMore, "without a cursor there is no way on")
	last, err := next.Next(t.Context())
	require.NoError(t, err)
	assert.Nil(t, last)
	for _, attempt := range server.attempts() {
		assert.Contains(t, attempt.query, "tenant=acme")
	}
}

func TestAPageThatSaysItIsTheLastIsBelieved(t *testing.T) {
	server := always(200, `{"reservations":[],"next_cursor":"c","has_more":false}`)
	page, err := newClient(t, server).Reservations(t.Context(), gen.ListReservationsParams{})
	require.NoError(t, err)
	assert.False(t, page.HasMore)
	for range page.All(t.Context()) {
		t.Fatal("nothing is on it")
	}
	assert.Len(t, server.attempts(), 1)
}

func TestACursorThatLeadsToItselfEndsTheWalk(t *testing.T) {
	server := always(200, `{"reservations":[`+row("a", "k")+`],"next_cursor":"c","has_more":true}`)
	page, err := newClient(t, server).Reservations(t.Context(), gen.ListReservationsParams{})
	require.NoError(t, err)
	var seen int
	var last error
	for _, err := range page.All(t.Context()) {
		if last = err; err == nil {
			seen++
		}
	}
	assert.Equal(t, 1, seen)
	assert.Equal(t, client.Ambiguous, client.OutcomeOf(last))
	assert.Len(t, server.attempts(), 2)
}

func TestAWalkEndsWithItsFirstErrorOrWhenNobodyListens(t *testing.T) {
	server := pages(map[string]string{"": `{"reservations":[` + row("a", "k") + `,` + row("b", "k") + `],"next_cursor":"gone","has_more":true}`})
	page, err := newClient(t, server).Reservations(t.Context(), gen.ListReservationsParams{})
	require.NoError(t, err)
	for range page.All(t.Context()) {
		break
	}
	assert.Len(t, server.attempts(), 1, "stopped early")
	var failures int
	for item, err := range page.All(t.Context()) {
		if err != nil {
			failures++
			assert.ErrorIs(t, err, client.ErrInvalidRequest)
			assert.Zero(t, item)
		}
	}
	assert.Equal(t, 1, failures)
}

func TestFindReservationIsTheWayBackFromALostCreate(t *testing.T) {
	c := newClient(t, pages(map[string]string{
		"":   `{"reservations":[],"next_cursor":"c2","has_more":true}`,
		"c2": fmt.Sprintf(`{"reservations":[%s,%s]}`, row("other", "x"), row("mine", "k&1")),
	}))
	found, err := c.FindReservation(t.Context(), "k&1")
	require.NoError(t, err)
	assert.Equal(t, "mine", found.ReservationID)

	server := always(200, listOK)
	_, err = newClient(t, server).FindReservation(t.Context(), "k&1")
	assert.ErrorIs(t, err, client.ErrNotFound)
	var none *client.NoReservationError
	require.ErrorAs(t, err, &none)
	assert.Equal(t, "k&1", none.IdempotencyKey)
	assert.Equal(t, client.Rejected, client.OutcomeOf(err))
	assert.Equal(t, "idempotency_key=k%261", server.attempts()[0].query)
}

// Taking another reservation for the lost one would commit to the wrong budget.
func TestFindReservationDoesNotTrustAServerThatIgnoresTheFilter(t *testing.T) {
	for name, body := range map[string]string{
		"other keys":   `{"reservations":[` + row("a", "x") + `]}`,
		"no keys":      `{"reservations":[` + detailOK + `]}`,
		"another case": `{"reservations":[` + row("a", "K") + `]}`,
	} {
		_, err := newClient(t, always(200, body)).FindReservation(t.Context(), "k")
		assert.ErrorIs(t, err, client.ErrNotFound, name)
	}
	_, err := newClient(t, always(403, errorBody("FORBIDDEN"))).FindReservation(t.Context(), "k")
	assert.Equal(t, client.Unauthorized, client.OutcomeOf(err), "an error is not an absence")
}
