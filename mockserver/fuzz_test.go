package mockserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// fuzzed is a small server that each input starts anew from.
func fuzzed(t testing.TB) (*world, *mockserver.Snapshot, string) {
	s, err := mockserver.Open(
		mockserver.WithVirtualTime(epoch),
		mockserver.WithTenant(mockserver.Tenant{ID: "acme", Keys: []string{"acme-key"}}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:acme", Allocated: 1000}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:acme/workspace:w", Allocated: 500, OverdraftLimit: 10}))
	require.NoError(t, err)
	w := &world{s, t, "acme-key"}
	id := w.held("held", 10)
	w.held("held2", 10)
	w.held("held3", 10)
	return w, s.Snapshot(), id
}

// judge sends one request from a known state. Whatever it is, the answer is no
// 5xx and keeps the contract, and a refusal leaves everything as it was.
func judge(t *testing.T, w *world, snap *mockserver.Snapshot, r *http.Request) {
	w = &world{w.Server, t, w.key}
	w.Restore(snap)
	before := w.balance("tenant:acme")
	counts := w.Counters()
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	resp := recorder.Result()
	require.Less(t, resp.StatusCode, 500, recorder.Body)
	proving{t, w.Server, nil}.prove(r, resp, recorder.Body.Bytes())
	if resp.StatusCode >= 400 {
		require.Equal(t, before, w.balance("tenant:acme"))
		require.Equal(t, counts.Reservations, w.Counters().Reservations)
		require.Equal(t, counts.Events, w.Counters().Events)
	}
}

func FuzzRequestBodies(f *testing.F) {
	paths := []string{"/v1/reservations", "/v1/decide", "/v1/events", "/commit", "/release", "/extend",
		"/v1/admin/budgets", "/v1/admin/budgets/fund?scope=tenant:acme&unit=USD_MICROCENTS", "/v1/admin/policies"}
	for op, bodies := range [][]string{
		{
			reserveBody("k", 5, `"ttl_ms":1000,"grace_period_ms":0,"overage_policy":"REJECT","dry_run":true,"metadata":{"a":[1,null,"é"]}`),
			spendBody("k", "estimate", `{"tenant":"acme","workspace":"w","dimensions":{"a":"b"}}`, 5), reserveBody("k", 1<<62), reserveBody("held", 10),
			`{"idempotency_key":"k","subject":{"tenant":"other"}}`, `{"a":1e400,"\ud83d\ude00":"\u0000"}`, "", "null", "[[[[", "{\"a\":\xff}",
		},
		{reserveBody("k", 5)},
		{spendBody("k", "actual", `{"tenant":"acme","workspace":"w"}`, 2000, `"overage_policy":"ALLOW_WITH_OVERDRAFT","client_time_ms":1,"metrics":{"tokens_input":1,"custom":{}}`)},
		{commitBody("c", 5, `"metrics":{"model_version":"x"},"metadata":{}`), commitBody("c", 20)},
		{releaseBody("r"), `{"idempotency_key":"r","reason":"x"}`},
		{extendBody("x", 5), extendBody("x", 1e9)},
		{`{"scope":"tenant:acme/agent:a","unit":"TOKENS","allocated":{"unit":"TOKENS","amount":5}}`},
		{`{"operation":"CREDIT","amount":{"unit":"USD_MICROCENTS","amount":9223372036854775807}}`, `{"operation":"RESET_SPENT","amount":{"unit":"USD_MICROCENTS","amount":5}}`},
		{`{"name":"p","scope_pattern":"tenant:acme/*","caps":{"max_tokens":1},"reservation_ttl_override":{"max_ttl_ms":1000}}`},
	} {
		for _, body := range bodies {
			f.Add(op, "", []byte(body))
			f.Add(op, "k", []byte(body))
		}
	}
	w, snap, id := fuzzed(f)
	f.Fuzz(func(t *testing.T, op int, header string, body []byte) {
		path := paths[uint(op)%uint(len(paths))]
		if !strings.HasPrefix(path, "/v1") {
			path = "/v1/reservations/" + id + path
		}
		r := httptest.NewRequest("POST", path, strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Cycles-API-Key", w.key)
		if header != "" {
			r.Header.Set("X-Idempotency-Key", header)
		}
		judge(t, w, snap, r)
	})
}

func FuzzQueriesAndCursors(f *testing.F) {
	w, snap, _ := fuzzed(f)
	for _, path := range []string{"reservations", "balances"} {
		for _, query := range []string{"", "tenant=acme", "tenant=acme&limit=1", "sort_by=status&limit=1", "sort_by=reserved&sort_dir=asc&limit=2", "from=2026-01-01T00:00:00Z&limit=1"} {
			r := w.call("GET", "/v1/"+path+"?"+query, "")
			f.Add(path == "balances", query, "", "")
			if next, ok := r.at("next_cursor").(string); ok {
				f.Add(path == "balances", query, next, "")
				f.Add(path == "reservations", query, next, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
			}
		}
	}
	f.Add(false, "status=ACTIVE&include=metadata,%00&workspace=%ff", "eyJpIjoiIn0", "x")
	f.Fuzz(func(t *testing.T, balances bool, query, cursor, trace string) {
		r := httptest.NewRequest("GET", "/v1/reservations", nil)
		if balances {
			r.URL.Path = "/v1/balances"
		}
		r.URL.RawQuery = query
		if cursor != "" {
			r.URL.RawQuery += "&cursor=" + cursor
		}
		r.Header.Set("X-Cycles-API-Key", w.key)
		r.Header["Traceparent"] = []string{trace}
		judge(t, w, snap, r)
	})
}

func FuzzPaths(f *testing.F) {
	w, snap, id := fuzzed(f)
	for _, path := range []string{"/", "/v1/reservations/" + id, "/v1/reservations/a%2Fb", "/v1/reservations//commit", "/v1/../v1/decide", "/_mock/clock", "*", "/v1/evidence/x"} {
		f.Add("GET", path, "application/json")
		f.Add("POST", path, "text/plain; =")
	}
	f.Fuzz(func(t *testing.T, method, path, media string) {
		r := httptest.NewRequest("GET", "/", strings.NewReader("{}"))
		r.Method, r.URL.Path = method, path
		r.Header.Set("X-Cycles-API-Key", w.key)
		r.Header["Content-Type"] = []string{media}
		if strings.HasPrefix(path, "/_mock/") {
			return // those answers are those of ControlAPI
		}
		judge(t, w, snap, r)
	})
}
