package lease_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// setUp makes a manager over a server in memory. A program passes the URL of a
// real one to client.New, and its own key.
func setUp(opts ...lease.Option) (*mockserver.Server, *lease.Manager) {
	srv := mockserver.New()
	c, err := client.New(srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey), client.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}
	m, err := lease.NewManager(c, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return srv, m
}

// completion reserves three cents for a model call.
func completion() gen.ReservationCreateRequest {
	tenant := mockserver.DefaultTenant
	return gen.ReservationCreateRequest{
		Subject:  gen.Subject{Tenant: &tenant},
		Action:   gen.Action{Kind: "llm.completion", Name: "some-model"},
		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 3_000_000},
	}
}

// Reserve, work for as long as it takes, commit what was used.
func Example() {
	_, m := setUp()
	ctx := context.Background()
	defer m.Close(ctx)

	l, err := m.Acquire(ctx, completion())
	if err != nil {
		log.Fatal(err)
	}
	work := l.Context(ctx) // ends when the lease is lost
	fmt.Println("working:", work.Err() == nil, "lead left:", l.Lead() > 0)

	res, err := l.Commit(ctx, gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 2_100_000})
	if err != nil {
		log.Fatal(err) // a *settlement.Error: Commit again later resends the same key
	}
	fmt.Println(res.Disposition, "charged:", res.Commit.Charged.Amount, "given back:", res.Commit.Released.Amount)
	// Output:
	// working: true lead left: true
	// committed charged: 2100000 given back: 900000
}

// A reservation that was created with the plain client is handed over with the
// timing of its create.
func ExampleManager_Keep() {
	srv, m := setUp()
	ctx := context.Background()
	defer m.Close(ctx)
	c, err := client.New(srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey), client.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}

	request := completion()
	var meta client.Meta
	created, err := c.CreateReservation(ctx, request, client.WithMeta(&meta))
	if err != nil {
		log.Fatal(err)
	}
	l, err := m.Keep(lease.Handover{Request: request, Created: created, Meta: meta})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("kept:", l.ID() == *created.ReservationID)

	// The work turned out not to be needed.
	if err := l.Release(ctx, "cancelled by the user"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("active leases:", m.Stats().Active)
	// Output:
	// kept: true
	// active leases: 0
}
