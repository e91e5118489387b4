package lease

import "time"

// Meter is all that a metrics library has to offer to count leases. Both methods
// are called from one goroutine at a time, with a fixed set of names and labels,
// see NewMeterObserver.
type Meter interface {
	// Add moves a counter.
	Add(name string, n float64, label string)
	// Record adds a duration in seconds to a histogram.
	Record(name string, seconds float64)
}

// NewMeterObserver feeds m, which must not be nil (WithObserver refuses it), with
// these:
//
//	counter                       label (empty: none)
//	lease_kept_total
//	lease_extends_total           the outcome: success, transient, throttled, ...
//	lease_extends_skipped_total
//	lease_stopped_total           the stop reason
//	lease_lost_total              the stop reason
//	lease_unproven_total
//	lease_warnings_total          the warning
//	lease_finished_total
//
//	histogram, in seconds         of
//	lease_extend_seconds          the time of an attempt until its outcome
//	lease_lead_seconds            the lead left just before an extend was proved
//	lease_queue_seconds           the wait for a slot
//	lease_lateness_seconds        due instant to departure, the wait included
func NewMeterObserver(m Meter) Observer { return meterObserver{m} }

type meterObserver struct{ meter Meter }

func (o meterObserver) Observe(e Event) {
	count := func(name, label string) { o.meter.Add(name, 1, label) }
	record := func(name string, d time.Duration) { o.meter.Record(name, d.Seconds()) }
	switch e.Step {
	case StepKept:
		count("lease_kept_total", "")
	case StepAttempt:
		record("lease_queue_seconds", e.QueueWait)
		record("lease_lateness_seconds", e.Lateness)
	case StepSuccess:
		count("lease_extends_total", e.Outcome.String())
		record("lease_extend_seconds", e.RTT)
		record("lease_lead_seconds", e.LeadBefore)
	case StepFailure:
		count("lease_extends_total", e.Outcome.String())
		record("lease_extend_seconds", e.RTT)
	case StepSkipped:
		count("lease_extends_skipped_total", "")
	case StepStopped:
		count("lease_stopped_total", e.Reason.String())
	case StepLost:
		count("lease_lost_total", e.Reason.String())
	case StepUnproven:
		count("lease_unproven_total", "")
	case StepWarning:
		count("lease_warnings_total", string(e.Warning))
	case StepFinished:
		count("lease_finished_total", "")
	}
}
