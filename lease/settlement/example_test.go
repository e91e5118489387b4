package settlement_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// The server fails just when the work is done, and the process ends. The next
// one finds the spend in the journal.
func Example() {
	srv := mockserver.New()
	srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Status: 503})
	dir, _ := os.MkdirTemp("", "journal")
	defer os.RemoveAll(dir)
	tenant := mockserver.DefaultTenant
	c, _ := client.New("http://budget.example", client.WithAPIKey(mockserver.DefaultAPIKey),
		client.WithSubject(gen.Subject{Tenant: &tenant}), client.WithHTTPClient(&http.Client{Transport: srv.Transport()}))
	ctx := context.Background()

	request := gen.ReservationCreateRequest{
		Action:   gen.Action{Kind: "llm.completion", Name: "model"},
		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 1000},
	}
	created, _ := c.CreateReservation(ctx, request)

	first, _ := settlement.New(c, settlement.WithJournal(dir), settlement.WithFlushTimeout(0))
	spend, _ := first.Begin(settlement.Spend{
		ReservationID: *created.ReservationID, Created: request,
		Commit: gen.CommitRequest{Actual: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 730}},
	})
	result, err := spend.Settle(ctx)
	fmt.Println(result.Disposition, "on disk:", result.Journaled, "because of:", client.OutcomeOf(err))
	_ = first.Close(ctx)

	second, _ := settlement.New(c, settlement.WithJournal(dir))
	_ = second.Flush(ctx)
	_ = second.Close(ctx)
	balance, _ := srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
	fmt.Println("charged:", balance.Spent)
	// Output:
	// pending on disk: true because of: transient
	// charged: 730
}
