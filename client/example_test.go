package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// canned is a budget authority that knows one answer per route.
type canned map[string]string

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	body, ok := c[req.Method+" "+req.URL.Path]
	status := http.StatusOK
	switch {
	case !ok:
		status, body = http.StatusNotFound, `{"error":"NOT_FOUND","message":"no such thing","request_id":"req-1"}`
	case strings.HasPrefix(body, `{"error"`):
		status = http.StatusConflict
	case req.URL.Path == "/v1/events":
		status = http.StatusCreated
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// Reserve before the work, commit what it really took.
func Example() {
	authority := canned{
		"POST /v1/reservations": `{"decision":"ALLOW","reservation_id":"r-1","affected_scopes":["tenant:acme"],
			"expires_at_ms":1700000060000,"remaining_ttl_ms":60000,"reserved":{"unit":"USD_MICROCENTS","amount":500000}}`,
		"POST /v1/reservations/r-1/commit": `{"status":"COMMITTED","charged":{"unit":"USD_MICROCENTS","amount":350000},
			"released":{"unit":"USD_MICROCENTS","amount":150000}}`,
	}
	c, err := client.New("https://cycles.example.com",
		client.WithAPIKey("cyc_live_example"),
		client.WithHTTPClient(&http.Client{Transport: authority}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	tenant := "acme"
	created, err := c.CreateReservation(ctx, gen.ReservationCreateRequest{
		Subject:  gen.Subject{Tenant: &tenant},
		Action:   gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"},
		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 500_000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	committed, err := c.CommitReservation(ctx, *created.ReservationID, gen.CommitRequest{
		Actual: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 350_000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(created.Decision, committed.Status, committed.Charged.Amount)
	// Output: ALLOW COMMITTED 350000
}
