package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jarcoal/httpmock"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// connect starts a budget authority in memory, with one tenant, one key and 100
// dollars, and a client for it. A program names a URL and a key instead, or
// calls client.FromEnv.
func connect(srv *mockserver.Server, opts ...client.Option) *client.Client {
	opts = append([]client.Option{
		client.WithAPIKey(mockserver.DefaultAPIKey),
		client.WithHTTPClient(srv.Client()),
	}, opts...)
	c, err := client.New(srv.URL(), opts...)
	if err != nil {
		panic(err)
	}
	return c
}

var (
	exampleTenant  = mockserver.DefaultTenant
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
	c := connect(mockserver.New())
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
	c := connect(mockserver.New(mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Allocated: 100})))
	_, err := c.CreateReservation(context.Background(), gen.ReservationCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Estimate: dollars("12.50"),
	})
	switch {
	case errors.Is(err, client.ErrBudgetExceeded):
		refused, _ := errors.AsType[*client.Error](err)
		fmt.Println("denied:", refused.Status, refused.Code) // and RequestID, to ask the operator about
	case client.OutcomeOf(err) == client.Transient:
		fmt.Println("nobody knows; look it up with FindReservation")
	}
	fmt.Println(client.OutcomeOf(err))
	// Output:
	// denied: 409 BUDGET_EXCEEDED
	// rejected
}

// Ask first, and fit the work to the caps that come with the answer.
func ExampleClient_Decide() {
	c := connect(mockserver.New(mockserver.WithBudget(mockserver.Budget{
		Scope: mockserver.DefaultScope, Allocated: mockserver.DefaultAllocated,
		Caps: &gen.Caps{MaxTokens: new(int64(1000)), ToolDenylist: []string{"shell.exec"}, CooldownMs: new(int64(1500))},
	})))
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
	c := connect(mockserver.New(mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Allocated: 1_000_000})))
	answer, err := c.CreateEvent(context.Background(), gen.EventCreateRequest{
		Subject: exampleSubject, Action: exampleAction, Actual: dollars("0.02"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if answer.Charged != nil {
		charged, _ := client.MicrocentsOf(*answer.Charged)
		fmt.Println(answer.Status, "but only", charged, "was left to charge")
	}
	// Output: APPLIED but only 0.01 was left to charge
}

// The filters stay pinned while the pages turn.
func ExampleClient_Reservations() {
	c := connect(mockserver.New())
	for _, price := range []string{"0.01", "0.02", "0.03"} {
		_, err := c.CreateReservation(context.Background(), gen.ReservationCreateRequest{
			Subject: exampleSubject, Action: exampleAction, Estimate: dollars(price),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	ctx := context.Background()
	active := gen.ReservationStatusActive
	byAmount := gen.ListReservationsParamsSortByReserved
	two := int64(2)
	page, err := c.Reservations(ctx, gen.ListReservationsParams{Status: &active, SortBy: &byAmount, Limit: &two})
	if err != nil {
		fmt.Println(err)
		return
	}
	for reservation, err := range page.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(reservation.Reserved.Amount)
	}
	// Output:
	// 3000000
	// 2000000
	// 1000000
}

// An ambiguous create leaves its key behind, and the key leads to what it made.
func ExampleClient_FindReservation() {
	c := connect(mockserver.New(mockserver.WithFault(mockserver.Fault{
		Operation: mockserver.CreateReservation, Kind: mockserver.FaultResponseLost, Count: 2,
	})))
	ctx := context.Background()
	var meta client.Meta
	_, err := c.CreateReservation(ctx, gen.ReservationCreateRequest{
		IdempotencyKey: "run-42", Subject: exampleSubject, Action: exampleAction, Estimate: dollars("0.01"),
	}, client.WithMeta(&meta))
	if client.OutcomeOf(err) != client.Transient {
		fmt.Println(err)
		return
	}
	fmt.Println("after", meta.Attempts, "attempts nothing is proved")
	found, err := c.FindReservation(ctx, meta.IdempotencyKey)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("but the reservation is", found.Status)
	// Output:
	// after 2 attempts nothing is proved
	// but the reservation is ACTIVE
}

// A dry run evaluates everything and holds nothing. Its denial is an answer.
func ExampleClient_CreateReservation_dryRun() {
	c := connect(mockserver.New(mockserver.WithBudget(mockserver.Budget{
		Scope: mockserver.DefaultScope, Allocated: mockserver.DefaultAllocated, Status: mockserver.BudgetFrozen,
	})))
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
	c := connect(mockserver.New(), client.WithTraceContext(func(ctx context.Context) string {
		parent, _ := ctx.Value(span{}).(string)
		return parent
	}))
	ctx := context.WithValue(context.Background(), span{}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	var meta client.Meta
	_, err := c.GetBalances(ctx, gen.GetBalancesParams{Tenant: &exampleTenant}, client.WithMeta(&meta))
	fmt.Println(err, meta.TraceID)
	// Output: <nil> 4bf92f3577b34da6a3ce929d0e0e4736
}

// Whatever net/http can do goes through the HTTP client: proxies, TLS, or, in a
// unit test of a single call, a transport that knows one answer.
func ExampleWithHTTPClient() {
	transport := httpmock.NewMockTransport()
	transport.RegisterResponder("GET", "https://cycles.example.com/v1/balances",
		httpmock.NewJsonResponderOrPanic(http.StatusOK, gen.BalanceResponse{Balances: []gen.Balance{}}))
	c, err := client.New("https://cycles.example.com",
		client.WithAPIKey("cyc_live_example"), client.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.GetBalances(context.Background(), gen.GetBalancesParams{Tenant: &exampleTenant})
	fmt.Println(err, transport.GetTotalCallCount())
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
