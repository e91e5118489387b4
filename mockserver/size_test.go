package mockserver

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// holding is a server with n reservations, put into its ledger directly.
func holding(b *testing.B, n int) *Server {
	b.Helper()
	s := New(
		WithVirtualTime(time.UnixMilli(1_800_000_000_000)),
		WithTenant(Tenant{ID: DefaultTenant, Keys: []string{DefaultAPIKey}}),
		WithBudget(Budget{Scope: DefaultScope, Allocated: math.MaxInt64}))
	ttl := int64(maxTTL)
	for i := range n {
		q := &ledger.Reserve{TTL: &ttl, Spend: ledger.Spend{
			Identity: ledger.Identity{Tenant: DefaultTenant, Key: "held-" + strconv.Itoa(i)},
			Action:   gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"},
			Unit:     gen.UnitEnumUSDMicrocents,
			Amount:   int64(i*7919) % 1000,
		}}
		q.Subject.Level[0] = DefaultTenant
		q.Subject.Level[4] = "agent" + strconv.Itoa(i%100)
		// Three in every millisecond.
		if _, d := s.ledger.Reserve(s.nowMs()+int64(i/3), q); d != nil {
			b.Fatal(d)
		}
	}
	runtime.GC() // what filling left behind is no part of the measurement
	return s
}

func BenchmarkReserveWhileHolding(b *testing.B) {
	for _, n := range []int{0, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := holding(b, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				body := fmt.Sprintf(`{"idempotency_key":"k%d","subject":{"tenant":"demo"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":1}}`, i)
				r := httptest.NewRequest("POST", "/v1/reservations", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				serve(b, s, r)
			}
		})
	}
}

func BenchmarkListPage(b *testing.B) {
	for _, c := range []struct {
		query string
		sizes []int
	}{
		{"sort_by=created_at_ms", []int{1_000, 1_000_000}},
		{"sort_by=created_at_ms&sort_dir=asc", []int{1_000, 1_000_000}},
		{"limit=50", []int{1_000, 1_000_000}},
		{"idempotency_key=held-500", []int{1_000, 1_000_000}},
		{"sort_by=reserved", []int{100_000}},
		{"sort_by=scope_path", []int{100_000}},
		{"sort_by=status&agent=agent7", []int{100_000}},
	} {
		for _, n := range c.sizes {
			b.Run(fmt.Sprintf("%s/%d", c.query, n), func(b *testing.B) {
				s := holding(b, n)
				// The second page, which has to find its place.
				q, filters, err := query{}.list()
				if err != nil {
					b.Fatal(err)
				}
				cursor := ""
				if c.query == "sort_by=created_at_ms" {
					q.SortBy, q.Descending = gen.ListReservationsParamsSortByCreatedAtMs, true
					rows, _ := s.ledger.List(s.nowMs(), DefaultTenant, q)
					cursor = "&cursor=" + newListCursor(q, DefaultTenant, filters, q.Place(&rows[len(rows)-1]))
				}
				b.ReportAllocs()
				for b.Loop() {
					serve(b, s, httptest.NewRequest("GET", "/v1/reservations?"+c.query+cursor, nil))
				}
			})
		}
	}
}

func serve(b *testing.B, s *Server, r *http.Request) {
	r.Header.Set("X-Cycles-API-Key", DefaultAPIKey)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
}
