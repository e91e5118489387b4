// Metrics feeds the leases of a manager into Prometheus. Package lease knows no
// metrics library: it asks for two methods, and meter.go fills them in. With
// OpenTelemetry the same two wrap an Int64Counter and a Float64Histogram.
//
//	go run .
//
// It is a module of its own, so that the library does not depend on Prometheus.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func main() {
	if err := run(5 * time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run keeps a short lease alive for a while, over a server that fails once, and
// prints what a scrape would find.
func run(work time.Duration) error {
	registry := prometheus.NewRegistry()
	srv := mockserver.New(mockserver.WithFault(mockserver.Fault{Operation: mockserver.ExtendReservation, Status: 503, Nth: 2}))
	if err := srv.SetPolicy(mockserver.DefaultTenant, mockserver.Policy{MaxLead: 4 * time.Second}); err != nil {
		return err
	}
	c, err := client.New(srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey), client.WithHTTPClient(srv.Client()))
	if err != nil {
		return err
	}
	m, err := lease.NewManager(c, lease.WithObserver(lease.NewMeterObserver(newMeter(registry))))
	if err != nil {
		return err
	}
	if err := keep(m, work); err != nil {
		return err
	}
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	_, err = os.Stdout.Write(page.Body.Bytes())
	return err
}

func keep(m *lease.Manager, work time.Duration) error {
	ctx := context.Background()
	tenant := mockserver.DefaultTenant
	_, _, err := lease.Run(ctx, m, gen.ReservationCreateRequest{
		Subject:  gen.Subject{Tenant: &tenant},
		Action:   gen.Action{Kind: "llm.completion", Name: "some-model"},
		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 1_000_000},
	}, func(context.Context, *lease.Lease) (int, lease.Usage, error) {
		<-time.After(work)
		return 0, lease.Usage{Actual: gen.Amount{Amount: 700_000}}, nil
	})
	// Close waits for the observer, so that nothing is missing from the scrape.
	return errors.Join(err, m.Close(ctx))
}
