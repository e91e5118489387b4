// Quickstart shows the main job on a real clock: an agent reserves budget, works
// while its lease is kept alive through two faults, and commits what it used. It
// needs nothing: the server is in the process.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

const (
	tenant  = "acme-corp"
	key     = "cyc_live_quickstart"
	maxLead = 6 * time.Second
	work    = 14 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, newTimeline(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startServer serves a budget authority on loopback. It never lets a
// reservation live longer than maxLead ahead, so the client has to keep
// extending, and it misbehaves twice.
func startServer() (url string, stop func()) {
	mock := mockserver.New(
		mockserver.WithTenant(mockserver.Tenant{ID: tenant, Keys: []string{key}, Policy: mockserver.Policy{MaxLead: maxLead}}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:" + tenant, Allocated: 100_000_000}),
		// The second extend is answered 503. The fourth is applied, but the
		// connection breaks before the answer is out.
		mockserver.WithFault(mockserver.Fault{Operation: mockserver.ExtendReservation, Nth: 2, Status: 503}),
		mockserver.WithFault(mockserver.Fault{Operation: mockserver.ExtendReservation, Nth: 4, Kind: mockserver.FaultResponseLost}),
	)
	server := httptest.NewServer(mock)
	return server.URL, server.Close
}

func run(ctx context.Context, line *timeline) (err error) {
	url, stop := startServer()
	defer stop()

	c, err := client.New(url, client.WithAPIKey(key), client.WithSubject(gen.Subject{Tenant: new(tenant)}))
	if err != nil {
		return err
	}
	leases, err := lease.NewManager(c, lease.WithObserver(line))
	if err != nil {
		return err
	}

	line.title(`An agent reserves 500000 USD_MICROCENTS for 60 s and works for %v. The server never lets a reservation live
more than %v ahead, so the lease has to be extended all the time. Two faults are staged: the second extend
is answered 503, and the fourth is applied but its answer is lost.`, work, maxLead)
	l, err := leases.Acquire(ctx, gen.ReservationCreateRequest{
		Action:   gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"},
		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 500_000},
		TTLMs:    new(int64(60_000)),
	})
	if err != nil {
		return errors.Join(err, leases.Close(ctx))
	}

	used, workErr := doWork(l.Context(ctx))

	// Commit has its own bound and goes out even when ctx has ended: what was
	// spent must reach the ledger.
	commit, err := l.Commit(ctx, gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: used})
	// The clean-up, too, must not be cut short.
	ctx = context.WithoutCancel(ctx)
	if err = errors.Join(err, leases.Close(ctx)); err != nil {
		return errors.Join(workErr, err)
	}
	line.committed(commit)

	balances, err := c.GetBalances(ctx, gen.GetBalancesParams{Tenant: new(tenant)})
	if err != nil {
		return errors.Join(workErr, err)
	}
	line.balances(balances)
	return workErr
}

// doWork stands for the expensive action. It returns what it used, also when it
// is cut short.
func doWork(ctx context.Context) (used int64, err error) {
	const full = 350_000
	start := time.Now()
	done := time.NewTimer(work)
	defer done.Stop()
	select {
	case <-done.C:
		return full, nil
	case <-ctx.Done():
		return full * int64(time.Since(start)) / int64(work), context.Cause(ctx)
	}
}
