package lease

import (
	"context"
	"log/slog"
)

// NewSlogObserver writes each event to l: what needs attention as a warning, the
// loss of a lease as an error, what a person following one lease wants to see at
// info, and each planned or sent extend at debug. Keys of idempotency are
// written, API keys and bodies never are. WithObserver refuses one made of nil.
func NewSlogObserver(l *slog.Logger) Observer { return slogObserver{l} }

type slogObserver struct{ log *slog.Logger }

func (o slogObserver) Observe(e Event) {
	ctx := context.Background()
	level := levelOf(e)
	if !o.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("reservation_id", e.ReservationID), slog.Duration("lead", e.Lead)}
	add := func(a ...slog.Attr) { attrs = append(attrs, a...) }
	if e.Attempt > 0 {
		add(slog.Int("attempt", e.Attempt), slog.String("key", e.IdempotencyKey))
	}
	switch e.Step {
	case StepScheduled, StepSkipped:
		add(slog.Duration("delay", e.Delay), slog.Bool("same_key", e.SameKey), slog.Duration("retry_reserve", e.RetryReserve))
	case StepAttempt:
		add(slog.Bool("same_key", e.SameKey), slog.Duration("timeout", e.Timeout),
			slog.Duration("queue_wait", e.QueueWait), slog.Duration("lateness", e.Lateness))
	case StepSuccess:
		add(slog.Duration("rtt", e.RTT), slog.Duration("lead_before", e.LeadBefore), slog.Time("expires_at", e.ExpiresAt))
	case StepFailure:
		add(slog.Duration("after", e.RTT), slog.String("outcome", e.Outcome.String()), slog.String("disposition", string(e.Disposition)))
	case StepStopped:
		add(slog.String("reason", e.Reason.String()), slog.String("disposition", string(e.Disposition)))
	case StepLost:
		add(slog.String("reason", e.Reason.String()))
	case StepWarning:
		add(slog.String("warning", string(e.Warning)))
	}
	if e.Fallback {
		add(slog.Bool("fallback", true))
	}
	if e.Forecast != nil {
		add(slog.Int("extensions_left", e.Forecast.ExtensionsLeft), slog.Duration("budget_lasts", e.Forecast.Lasts))
	}
	if e.Err != nil {
		add(slog.String("error", e.Err.Error()))
	}
	o.log.LogAttrs(ctx, level, "lease "+string(e.Step), attrs...)
}

func levelOf(e Event) slog.Level {
	switch e.Step {
	case StepLost:
		return slog.LevelError
	case StepStopped, StepFailure, StepUnproven, StepWarning:
		return slog.LevelWarn
	case StepKept, StepFinished:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}
