package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cycles-protocol/cycles-go/gen"
)

const (
	extendSmall = `{"status":"ACTIVE","expires_at_ms":1700000060000,"remaining_ttl_ms":60000}`
	extendFull  = `{"status":"ACTIVE","expires_at_ms":1700000060000,"remaining_ttl_ms":60000,"balances":[` +
		`{"scope":"tenant:acme","scope_path":"tenant:acme","remaining":{"unit":"USD_MICROCENTS","amount":99500000},` +
		`"reserved":{"unit":"USD_MICROCENTS","amount":500000},"spent":{"unit":"USD_MICROCENTS","amount":0},` +
		`"debt":{"unit":"USD_MICROCENTS","amount":0},"allocated":{"unit":"USD_MICROCENTS","amount":100000000},` +
		`"overdraft_limit":{"unit":"USD_MICROCENTS","amount":0},"is_over_limit":false}]}`
)

// What it costs to prove an extend's answer, beside json.Unmarshal, which
// checks next to nothing.
func BenchmarkProof(b *testing.B) {
	for _, size := range []struct{ name, body string }{{"fields=3", extendSmall}, {"balances=1", extendFull}} {
		body := []byte(size.body)
		b.Run(size.name+"/proof", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reservationExtendResponse.prove(body, reading{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size.name+"/unmarshal", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var answer gen.ReservationExtendResponse
				if err := json.Unmarshal(body, &answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A call over loopback, beside the same exchange by net/http and
// encoding/json.
func BenchmarkCallLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/commit") {
			io.WriteString(w, `{"status":"COMMITTED","charged":{"unit":"TOKENS","amount":7}}`)
			return
		}
		io.WriteString(w, extendFull)
	}))
	defer server.Close()
	c, err := New(server.URL, WithAPIKey("key"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.CloseIdleConnections()
	extend := gen.ReservationExtendRequest{IdempotencyKey: "k", ExtendByMs: 60_000}
	commit := gen.CommitRequest{IdempotencyKey: "k", Actual: gen.Amount{Unit: gen.UnitEnumTokens, Amount: 7}}

	b.Run("extend/client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.ExtendReservation(b.Context(), "r-1", extend); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("extend/plain", func(b *testing.B) {
		plainCalls(b, server.URL+"/v1/reservations/r-1/extend", extend, func() any { return new(gen.ReservationExtendResponse) })
	})
	b.Run("commit/client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.CommitReservation(b.Context(), "r-1", commit); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("commit/plain", func(b *testing.B) {
		plainCalls(b, server.URL+"/v1/reservations/r-1/commit", commit, func() any { return new(gen.CommitResponse) })
	})
}

func plainCalls(b *testing.B, url string, request any, answer func() any) {
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		body, err := json.Marshal(request)
		if err != nil {
			b.Fatal(err)
		}
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Cycles-API-Key", "key")
		resp, err := hc.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if err := json.NewDecoder(resp.Body).Decode(answer()); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

// What the client itself costs per extend: the transport answers from memory.
func BenchmarkCallInMemory(b *testing.B) {
	header := http.Header{"Content-Type": {"application/json"}}
	c, err := New("http://cycles.test", WithAPIKey("key"), WithHTTPClient(&http.Client{Transport: roundTrip(
		func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(extendSmall)), ContentLength: int64(len(extendSmall))}, nil
		})}))
	if err != nil {
		b.Fatal(err)
	}
	extend := gen.ReservationExtendRequest{IdempotencyKey: "k", ExtendByMs: 60_000}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.ExtendReservation(b.Context(), "r-1", extend); err != nil {
			b.Fatal(err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
