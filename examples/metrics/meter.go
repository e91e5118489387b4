package main

import "github.com/prometheus/client_golang/prometheus"

// labels names the one label of each counter that has one.
var labels = map[string]string{
	"lease_extends_total":  "outcome",
	"lease_stopped_total":  "reason",
	"lease_lost_total":     "reason",
	"lease_warnings_total": "warning",
}

// meter is a lease.Meter over a Prometheus registry: it makes each metric when
// it is first used. The manager calls it from one goroutine at a time, so it
// needs no lock of its own.
type meter struct {
	registry   prometheus.Registerer
	counters   map[string]*prometheus.CounterVec
	histograms map[string]prometheus.Histogram
}

func newMeter(r prometheus.Registerer) *meter {
	return &meter{registry: r, counters: map[string]*prometheus.CounterVec{}, histograms: map[string]prometheus.Histogram{}}
}

// Add moves a counter.
func (m *meter) Add(name string, n float64, label string) {
	c := m.counters[name]
	if c == nil {
		var names []string
		if labels[name] != "" {
			names = []string{labels[name]}
		}
		c = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "See lease.NewMeterObserver."}, names)
		m.registry.MustRegister(c)
		m.counters[name] = c
	}
	if labels[name] == "" {
		c.WithLabelValues().Add(n)
		return
	}
	c.WithLabelValues(label).Add(n)
}

// Record adds to a histogram whose buckets reach from a millisecond to a
// minute and more, which fits round trips and leads alike.
func (m *meter) Record(name string, seconds float64) {
	h := m.histograms[name]
	if h == nil {
		h = prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: "See lease.NewMeterObserver.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		})
		m.registry.MustRegister(h)
		m.histograms[name] = h
	}
	h.Observe(seconds)
}
