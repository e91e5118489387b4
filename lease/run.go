package lease

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// Usage is what work reports to have used, in the unit of its reservation (which
// is filled in when absent). Metrics and Metadata go with the commit; a missing
// metrics.latency_ms is filled with the time the work took.
type Usage struct {
	Actual   gen.Amount
	Metrics  *gen.StandardMetrics
	Metadata map[string]any
}

// Estimated is the usage of work that cannot tell what it used: the reserved
// estimate, marked as such in the metadata the way all SDKs of the protocol mark
// it.
func Estimated(l *Lease) Usage {
	return Usage{Actual: l.estimate(), Metadata: map[string]any{"actual_source": "estimate"}}
}

// Reasons of the releases that Run makes, as the audit log shows them.
const (
	reasonWorkFailed   = "guarded_method_failed"
	reasonWorkPanicked = "guard_dropped"
)

// Run reserves, works under the reservation while it is kept alive, and settles:
//
//   - when work succeeds, its usage is committed, be it zero;
//   - when work fails, what its usage reports is committed, and when that is zero
//     the reservation is released;
//   - when work panics, or ends its goroutine, the reservation is released, and
//     the panic goes on.
//
// A usage that cannot be sent as it is (metadata that JSON cannot hold, a
// negative amount) does not lose the spend: it is committed without metrics and
// metadata, or else as Estimated, and the error holds the *client.RequestError
// that says what was wrong.
//
// The work's value is returned in every case in which there is one. The error
// joins that of the work with that of the settlement; an *AcquireError means
// that the work never ran, and the result is None. When ctx ends it is for the work to notice, and
// settlement is still made. The policy of WithOnLost decides what the loss of
// the lease does to the work's context.
//
// FromContext finds the lease in the work's context. A Run inside a Run has a
// lease of its own and leaves the outer one alone.
func Run[T any](ctx context.Context, m *Manager, req gen.ReservationCreateRequest,
	work func(context.Context, *Lease) (T, Usage, error)) (value T, result settlement.Result, err error) {
	if work == nil {
		return value, settlement.Result{}, &AcquireError{IdempotencyKey: req.IdempotencyKey, Err: refused("work", "must not be nil")}
	}
	l, err := m.Acquire(ctx, req)
	if err != nil {
		return value, settlement.Result{}, err
	}
	returned := false
	defer func() {
		if !returned {
			l.giveBack(ctx, reasonWorkPanicked)
		}
	}()
	start := m.clock.Now()
	value, usage, err := work(l.workContext(ctx), l)
	returned = true
	if err != nil && usage.Actual.Amount == 0 {
		result, settleErr := l.giveBack(ctx, reasonWorkFailed)
		return value, result, join(err, settleErr)
	}
	result, settleErr := l.commitUsage(ctx, usage, m.clock.Since(start))
	return value, result, join(err, settleErr)
}

// commitUsage commits what the work reports. A report that no commit can be made
// of must not lose the spend: what is wrong with it is left out, and told.
func (l *Lease) commitUsage(ctx context.Context, u Usage, took time.Duration) (settlement.Result, error) {
	var told error
	for _, usage := range []Usage{u, {Actual: u.Actual}, Estimated(l)} {
		result, err := l.Commit(ctx, usage.Actual, usage.options(took)...)
		_, unusable := errors.AsType[*client.RequestError](err)
		if !unusable || result.ReservationID != "" {
			return result, join(told, err)
		}
		told = join(told, err)
	}
	return settlement.Result{ReservationID: l.id}, told
}

// giveBack releases and says what came of it.
func (l *Lease) giveBack(ctx context.Context, reason string) (settlement.Result, error) {
	result := settlement.Result{ReservationID: l.id}
	if result.Err = l.release(ctx, reason); result.Err == nil {
		result.Disposition = settlement.Released
	}
	return result, join(result.Err, l.lossToReport())
}

// workContext is what guarded work runs in: under CancelWork the loss of the
// lease ends it, else it only leads to the lease.
func (l *Lease) workContext(ctx context.Context) context.Context {
	if l.m.cfg.onLost == CancelWork {
		return l.Context(ctx)
	}
	return contextWith(ctx, l)
}

func (u Usage) options(took time.Duration) []CommitOption {
	return []CommitOption{WithMetrics(*withLatency(u.Metrics, took)), WithMetadata(maps.Clone(u.Metadata))}
}
