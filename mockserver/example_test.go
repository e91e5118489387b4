package mockserver_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// send is what a client does, cut down to what the examples need.
func send(srv *mockserver.Server, path, body string) (string, error) {
	req, err := http.NewRequest("POST", srv.URL()+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Cycles-API-Key", mockserver.DefaultAPIKey)
	resp, err := srv.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Status, err
}

const reserve500 = `{"idempotency_key":"step-1","subject":{"tenant":"demo"},
	"action":{"kind":"llm.completion","name":"openai:gpt-4o"},
	"estimate":{"unit":"USD_MICROCENTS","amount":500},"ttl_ms":10000}`

// A server with a tenant, a key and a budget, reached in memory. In a test,
// Start(t) serves on a port as well.
func Example() {
	srv := mockserver.New()
	status, err := send(srv, "/v1/reservations", reserve500)
	fmt.Println(status, err)
	balance, err := srv.Balance(mockserver.DefaultScope, "USD_MICROCENTS")
	fmt.Println(balance.Reserved, err)
	// Output:
	// 200 OK <nil>
	// 500 <nil>
}

// summarize is an agent: it reserves, works, and commits what the work cost.
func summarize(srv *mockserver.Server, work func() (cost int)) error {
	if _, err := send(srv, "/v1/reservations", reserve500); err != nil {
		return err
	}
	id := srv.Requests(mockserver.Match{IdempotencyKey: "step-1"})[0].ReservationID // an agent has it from the answer
	_, err := send(srv, "/v1/reservations/"+id+"/commit",
		fmt.Sprintf(`{"idempotency_key":"step-1-commit","actual":{"unit":"USD_MICROCENTS","amount":%d}}`, work()))
	return err
}

// A test of an agent: let it work, then ask the server what arrived.
func Example_testOfAnAgent() {
	srv := mockserver.New() // mockserver.Start(t) in a test
	if err := summarize(srv, func() int { return 350 }); err != nil {
		fmt.Println(err)
	}
	for _, r := range srv.Requests() {
		fmt.Println(r.Operation, r.Status)
	}
	balance, _ := srv.Balance(mockserver.DefaultScope, "USD_MICROCENTS")
	fmt.Println("spent", balance.Spent, "still reserved", balance.Reserved)
	// Output:
	// createReservation 200
	// commitReservation 200
	// spent 350 still reserved 0
}

// Virtual time: a reservation expires when the test says so.
func ExampleServer_Advance() {
	srv := mockserver.New(mockserver.WithVirtualTime(time.Unix(1_800_000_000, 0)))
	_, _ = send(srv, "/v1/reservations", reserve500)
	srv.Advance(15 * time.Second) // 10 s of ttl and 5 s of grace: the last moment
	before, _ := srv.Balance(mockserver.DefaultScope, "USD_MICROCENTS")
	srv.Advance(time.Millisecond)
	after, _ := srv.Balance(mockserver.DefaultScope, "USD_MICROCENTS")
	fmt.Println(before.Reserved, after.Reserved)
	// Output: 500 0
}

// A lost response: the server applied the request, the caller cannot know.
func ExampleServer_Inject() {
	srv := mockserver.New()
	srv.Inject(mockserver.Fault{
		Operation: mockserver.CreateReservation,
		Kind:      mockserver.FaultResponseLost,
	})
	_, err := send(srv, "/v1/reservations", reserve500)
	fmt.Println("reset:", errors.Is(err, syscall.ECONNRESET))
	status, _ := send(srv, "/v1/reservations", reserve500) // the same key again
	balance, _ := srv.Balance(mockserver.DefaultScope, "USD_MICROCENTS")
	fmt.Println(status, "reserved once:", balance.Reserved)
	for _, r := range srv.Requests(mockserver.Match{Operation: mockserver.CreateReservation}) {
		fmt.Println(r.IdempotencyKey, r.Status, r.Applied, r.Idempotency)
	}
	// Output:
	// reset: true
	// 200 OK reserved once: 500
	// step-1 0 true fresh
	// step-1 200 false replay
}

// Tenants, budgets and lease policies of one's own.
func ExampleNew() {
	srv := mockserver.New(
		mockserver.WithTenant(mockserver.Tenant{
			ID:   "acme",
			Keys: []string{"acme-key"},
			Policy: mockserver.Policy{
				MaxLead:       6 * time.Second, // no lease is ever longer
				MaxExtensions: mockserver.UnlimitedExtensions,
			},
		}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:acme", Allocated: 1_000_000}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:acme/agent:bot", Allocated: 5_000, OverdraftLimit: 1_000}),
	)
	balance, err := srv.Balance("tenant:acme/agent:bot", "USD_MICROCENTS")
	fmt.Println(balance.Remaining, balance.OverdraftLimit, err)
	// Output: 5000 1000 <nil>
}
