package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cycles-protocol/cycles-go/lease"
)

var _ lease.Meter = (*meter)(nil)

func TestMeterFillsTheRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	observer := lease.NewMeterObserver(newMeter(registry))
	for _, e := range []lease.Event{
		{Step: lease.StepKept},
		{Step: lease.StepAttempt}, {Step: lease.StepSuccess},
		{Step: lease.StepAttempt}, {Step: lease.StepSuccess},
		{Step: lease.StepStopped, Reason: lease.StopMaxExtensions},
		{Step: lease.StepLost, Reason: lease.StopMaxExtensions},
	} {
		observer.Observe(e)
	}
	want := `
# HELP lease_extends_total See lease.NewMeterObserver.
# TYPE lease_extends_total counter
lease_extends_total{outcome="success"} 2
# HELP lease_kept_total See lease.NewMeterObserver.
# TYPE lease_kept_total counter
lease_kept_total 1
# HELP lease_stopped_total See lease.NewMeterObserver.
# TYPE lease_stopped_total counter
lease_stopped_total{reason="max-extensions"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"lease_extends_total", "lease_kept_total", "lease_stopped_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "lease_extend_seconds"); err != nil || n != 1 {
		t.Errorf("lease_extend_seconds: %d, %v", n, err)
	}
}
