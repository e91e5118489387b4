package mockserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// pairs reserves and commits as fast as it can.
func pairs(b *testing.B, s *mockserver.Server, c *http.Client) {
	b.Helper()
	var n atomic.Int64
	call := func(path, body string) string {
		req, err := http.NewRequest("POST", s.URL()+path, strings.NewReader(body))
		require.NoError(b, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Cycles-API-Key", mockserver.DefaultAPIKey)
		resp, err := c.Do(req)
		require.NoError(b, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(b, err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, string(answer))
		}
		return string(answer)
	}
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := fmt.Sprint(n.Add(1))
			answer := call("/v1/reservations", `{"idempotency_key":"`+key+`","subject":{"tenant":"demo"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":2}}`)
			_, id, _ := strings.Cut(answer, `"reservation_id":"`)
			call("/v1/reservations/"+id[:36]+"/commit", `{"idempotency_key":"`+key+`","actual":{"unit":"USD_MICROCENTS","amount":1}}`)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkPairsInProcess(b *testing.B) {
	s := mockserver.New()
	pairs(b, s, s.Client())
}

func BenchmarkPairsOverLoopback(b *testing.B) {
	s := mockserver.Start(b)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	pairs(b, s, &http.Client{Transport: transport})
}
