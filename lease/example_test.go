package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

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

// Run is the whole round: reserve, work while the lease is kept alive, settle.
func ExampleRun() {
	_, m := setUp()
	ctx := context.Background()
	defer m.Close(ctx)

	answer, res, err := lease.Run(ctx, m, completion(), func(ctx context.Context, l *lease.Lease) (string, lease.Usage, error) {
		// Deep inside, the lease is in the context.
		if l, ok := lease.FromContext(ctx); ok && l.Lead() > 0 {
			fmt.Println("there is time")
		}
		return "42", lease.Usage{Actual: gen.Amount{Amount: 2_100_000}}, nil
	})
	fmt.Println(answer, res.Disposition, err)

	// Work that fails before it used anything costs nothing.
	_, res, err = lease.Run(ctx, m, completion(), func(context.Context, *lease.Lease) (string, lease.Usage, error) {
		return "", lease.Usage{}, errors.New("no such model")
	})
	fmt.Println(res.Disposition, err)
	// Output:
	// there is time
	// 42 committed <nil>
	// released no such model
}

// A stream commits what was delivered, however it ends.
func ExampleManager_OpenStream() {
	srv, m := setUp()
	ctx, hangUp := context.WithCancel(context.Background())
	defer m.Close(context.Background())

	s, err := m.OpenStream(ctx, completion())
	if err != nil {
		log.Fatal(err)
	}
	for range 3 { // chunks of an answer, as they arrive
		if err := s.Add(250_000); err != nil {
			log.Fatal(err)
		}
	}
	hangUp() // the listener went away

	res, err := s.Commit(context.Background()) // finds the result of the commit that this set off
	fmt.Println(res.Disposition, res.Commit.Charged.Amount, err)
	balance, err := srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
	fmt.Println("spent:", balance.Spent, "still reserved:", balance.Reserved, err)
	// Output:
	// committed 750000 <nil>
	// spent: 750000 still reserved: 0 <nil>
}

// On SIGTERM, end the work first, settle what it used, and close the manager
// last: Close stops the heartbeats, and gives pending commits a last chance.
func Example_shutdown() {
	_, m := setUp()
	// In main: ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	ctx, stop := context.WithCancel(context.Background())

	var jobs sync.WaitGroup
	started := make(chan struct{})
	jobs.Go(func() {
		_, res, err := lease.Run(ctx, m, completion(), func(ctx context.Context, _ *lease.Lease) (int, lease.Usage, error) {
			close(started)
			<-ctx.Done() // the signal ends the work, which says how far it came
			return 0, lease.Usage{Actual: gen.Amount{Amount: 900_000}}, ctx.Err()
		})
		// Settled although ctx had ended: money does not wait for a restart.
		fmt.Println(res.Disposition, res.Commit.Charged.Amount, err)
	})
	<-started
	stop() // SIGTERM

	jobs.Wait()
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second) // below what the platform allows
	defer cancel()
	fmt.Println("closed:", m.Close(grace))
	// Output:
	// committed 900000 context canceled
	// closed: <nil>
}

// The end of a heartbeat says why, and what to do.
func ExampleStopError() {
	srv, m := setUp()
	ctx := context.Background()
	defer m.Close(ctx)
	// A server that allows no extension at all, and a lease too short to wait.
	if err := srv.SetPolicy(mockserver.DefaultTenant, mockserver.Policy{MaxTTL: time.Second, MaxExtensions: mockserver.NoExtensions}); err != nil {
		log.Fatal(err)
	}
	l, err := m.Acquire(ctx, completion())
	if err != nil {
		log.Fatal(err)
	}
	<-l.Done()
	var stop *lease.StopError
	if errors.As(l.Err(), &stop) {
		fmt.Println(stop.Reason, "-", stop.Disposition, "- lead left:", stop.Lead > 0)
		fmt.Println(errors.Is(stop, client.ErrMaxExtensionsExceeded))
	}
	_, err = l.Commit(ctx, gen.Amount{Amount: 1_000})
	fmt.Println("committed in time:", err == nil)
	// Output:
	// max-extensions - finish-within-lead - lead left: true
	// true
	// committed in time: true
}

// An observer sees every step, off the path of the heartbeats.
func ExampleWithObserver() {
	steps := make(chan lease.Step, 16)
	_, m := setUp(lease.WithObserver(lease.ObserverFunc(func(e lease.Event) { steps <- e.Step })))
	ctx := context.Background()
	l, err := m.Acquire(ctx, completion())
	if err != nil {
		log.Fatal(err)
	}
	if err := l.Release(ctx, "example"); err != nil {
		log.Fatal(err)
	}
	if err := m.Close(ctx); err != nil { // waits for the observers
		log.Fatal(err)
	}
	close(steps)
	for step := range steps {
		fmt.Println(step)
	}
	// Output:
	// kept
	// scheduled
	// finished
}
