package client_test

import (
	"context"
	"errors"
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

// connect makes a client for a canned authority; a program would name a URL
// and a key, or call client.FromEnv.
func connect(answers canned, opts ...client.Option) *client.Client {
	opts = append([]client.Option{
		client.WithAPIKey("cyc_live_example"),
		client.WithHTTPClient(&http.Client{Transport: answers}),
	}, opts...)
	c, err := client.New("https://cycles.example.com", opts...)
	if err != nil {
		panic(err)
	}
	return c
}

var (
	exampleTenant  = "acme"
	exampleSubject = gen.Subject{Tenant: &exampleTenant}
	exampleAction  = gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"}
)

// dollars is an amount of money in the protocol's unit.
func dollars(text string) gen.Amount {
	money, err := client.ParseUSD(text)
	if err != nil {
		panic(err)
	}
	amount, err := money.Amount()
	if err != nil {
		panic(err)
	}
	return amount
}

// Reserve before the work, commit what it really took.
func Example() {
	c := connect(canned{
		"POST /v1/reservations": `{"decision":"ALLOW","reservation_id":"r-1","affected_scopes":["tenant:acme"],
			"expires_at_ms":1700000060000,"remaining_ttl_ms":60000,"reserved":{"unit":"USD_MICROCENTS","amount":500000}}`,
		"POST /v1/reservations/r-1/commit": `{"status":"COMMITTED","charged":{"unit":"USD_MICROCENTS","amount":350000},
			"released":{"unit":"USD_MICROCENTS","amount":150000}}`,
	})
	ctx := context.Background()
	created, err := c.CreateReservation(ctx, gen.ReservationCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Estimate: dollars("0.005"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	committed, err := c.CommitReservation(ctx, *created.ReservationID, gen.CommitRequest{Actual: dollars("0.0035")})
	if err != nil {
		fmt.Println(err)
		return
	}
	charged, _ := client.MicrocentsOf(committed.Charged)
	fmt.Println(created.Decision, committed.Status, charged)
	// Output: ALLOW COMMITTED 0.0035
}

// A budget that is spent is a refusal with a code; a network that failed is
// not. OutcomeOf tells them apart.
func ExampleOutcomeOf() {
	c := connect(canned{
		"POST /v1/reservations": `{"error":"BUDGET_EXCEEDED","message":"Insufficient remaining budget","request_id":"req-7"}`,
	})
	_, err := c.CreateReservation(context.Background(), gen.ReservationCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Estimate: dollars("12.50"),
	})
	switch {
	case errors.Is(err, client.ErrBudgetExceeded):
		refused, _ := errors.AsType[*client.Error](err)
		fmt.Println("denied:", refused.Message, refused.RequestID)
	case client.OutcomeOf(err) == client.Transient:
		fmt.Println("nobody knows; look it up with FindReservation")
	}
	fmt.Println(client.OutcomeOf(err))
	// Output:
	// denied: Insufficient remaining budget req-7
	// rejected
}

// Ask first, and fit the work to the caps that come with the answer.
func ExampleClient_Decide() {
	c := connect(canned{
		"POST /v1/decide": `{"decision":"ALLOW_WITH_CAPS","affected_scopes":["tenant:acme"],
			"caps":{"max_tokens":1000,"tool_denylist":["shell.exec"],"cooldown_ms":1500}}`,
	})
	answer, err := c.Decide(context.Background(), gen.DecisionRequest{
		Subject: exampleSubject, Action: exampleAction, Estimate: dollars("0.02"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Allowed(answer.Decision), client.CapTokens(answer.Caps, 4096))
	fmt.Println(client.AllowedTools(answer.Caps, []string{"web.search", "shell.exec"}))
	fmt.Println(client.Cooldown(answer.Caps))
	// Output:
	// true 1000
	// [web.search]
	// 1.5s
}

// Spending that could not be estimated is recorded after the fact.
func ExampleClient_CreateEvent() {
	c := connect(canned{
		"POST /v1/events": `{"status":"APPLIED","event_id":"e-1","charged":{"unit":"USD_MICROCENTS","amount":1000000}}`,
	})
	answer, err := c.CreateEvent(context.Background(), gen.EventCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Actual: dollars("0.02"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if answer.Charged != nil {
		charged, _ := client.MicrocentsOf(*answer.Charged)
		fmt.Println(answer.EventID, "only", charged, "was left to charge")
	}
	// Output: e-1 only 0.01 was left to charge
}

// The filters stay pinned while the pages turn.
func ExampleClient_Reservations() {
	const row = `{"reservation_id":"r-%d","status":"ACTIVE","subject":{"tenant":"acme"},"action":{"kind":"tool.search","name":"web"},
		"reserved":{"unit":"TOKENS","amount":10},"created_at_ms":1,"expires_at_ms":2,"scope_path":"tenant:acme","affected_scopes":["tenant:acme"]}`
	c := connect(canned{
		"GET /v1/reservations": `{"reservations":[` + fmt.Sprintf(row, 1) + `,` + fmt.Sprintf(row, 2) + `],"next_cursor":null,"has_more":false}`,
	})
	ctx := context.Background()
	active := gen.ReservationStatusActive
	page, err := c.Reservations(ctx, gen.ListReservationsParams{Status: &active})
	if err != nil {
		fmt.Println(err)
		return
	}
	for reservation, err := range page.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(reservation.ReservationID, reservation.Reserved.Amount)
	}
	// Output:
	// r-1 10
	// r-2 10
}

// An ambiguous create leaves its key behind, and the key leads to what it made.
func ExampleClient_FindReservation() {
	c := connect(canned{
		"POST /v1/reservations": "the answer was lost",
		"GET /v1/reservations": `{"reservations":[{"reservation_id":"r-1","status":"ACTIVE","idempotency_key":"run-42","subject":{"tenant":"acme"},
			"action":{"kind":"tool.search","name":"web"},"reserved":{"unit":"TOKENS","amount":10},"created_at_ms":1,"expires_at_ms":2,
			"scope_path":"tenant:acme","affected_scopes":["tenant:acme"]}]}`,
	})
	ctx := context.Background()
	var meta client.Meta
	_, err := c.CreateReservation(ctx, gen.ReservationCreateRequest{
		IdempotencyKey: "run-42", Subject: exampleSubject, Action: exampleAction, Estimate: dollars("0.01"),
	}, client.WithMeta(&meta))
	if client.OutcomeOf(err) != client.Ambiguous {
		fmt.Println(err)
		return
	}
	fmt.Println("after", meta.Attempts, "attempts nothing is proved")
	found, err := c.FindReservation(ctx, meta.IdempotencyKey)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("but", found.ReservationID, "is", found.Status)
	// Output:
	// after 2 attempts nothing is proved
	// but r-1 is ACTIVE
}

// A dry run evaluates everything and holds nothing. Its denial is an answer.
func ExampleClient_CreateReservation_dryRun() {
	c := connect(canned{
		"POST /v1/reservations": `{"decision":"DENY","reason_code":"BUDGET_FROZEN","affected_scopes":["tenant:acme"],"scope_path":"tenant:acme"}`,
	})
	dryRun := true
	answer, err := c.CreateReservation(context.Background(), gen.ReservationCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Estimate: dollars("0.01"), DryRun: &dryRun,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if !client.Allowed(answer.Decision) {
		fmt.Println(answer.Decision, *answer.ReasonCode)
	}
	// Output: DENY BUDGET_FROZEN
}

// The hook is asked before each attempt; with OpenTelemetry it would inject the
// span of ctx.
func ExampleWithTraceContext() {
	type span struct{}
	c := connect(canned{"GET /v1/balances": `{"balances":[]}`}, client.WithTraceContext(func(ctx context.Context) string {
		parent, _ := ctx.Value(span{}).(string)
		return parent
	}))
	ctx := context.WithValue(context.Background(), span{}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	var meta client.Meta
	_, err := c.GetBalances(ctx, gen.GetBalancesParams{Tenant: &exampleTenant}, client.WithMeta(&meta))
	fmt.Println(err, meta.Status, meta.Attempts)
	// Output: <nil> 200 1
}

// counting is a transport around another one.
type counting struct {
	base  http.RoundTripper
	calls int
}

func (t *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	t.calls++
	return t.base.RoundTrip(req)
}

// Whatever net/http can do goes through the HTTP client: proxies, TLS, or
// counting what leaves.
func ExampleWithHTTPClient() {
	transport := &counting{base: canned{"GET /v1/balances": `{"balances":[]}`}}
	c, err := client.New("https://cycles.example.com",
		client.WithAPIKey("cyc_live_example"), client.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.GetBalances(context.Background(), gen.GetBalancesParams{Tenant: &exampleTenant})
	fmt.Println(err, transport.calls)
	// Output: <nil> 1
}

// The price of a call from the price of a million tokens.
func ExampleMicrocents_ForTokens() {
	price, err := client.ParseUSD("2.50")
	if err != nil {
		fmt.Println(err)
		return
	}
	cost, err := price.ForTokens(1_234)
	fmt.Println(cost, err, int64(cost))
	// Output: 0.003085 <nil> 308500
}
