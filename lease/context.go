package lease

import (
	"context"
)

// Context derives a context for work that runs under the lease. It ends with
// parent, and with a cause of its own:
//
//   - the *StopError, when the lease is lost;
//   - ErrUnproven, when the policy is CancelWork and the proved lead is used up
//     while an extend is still under way;
//   - ErrFinished, when the lease is finished. That also frees it, as there is
//     no cancel function to call.
//
// FromContext finds the lease in it.
func (l *Lease) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(contextWith(parent, l))
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	switch {
	case l.lost:
		cancel(l.stopped)
	case l.phase == phaseFinished:
		cancel(ErrFinished)
	case l.unproven && l.m.cfg.onLost == CancelWork:
		cancel(ErrUnproven)
	default:
		if l.contexts == nil {
			l.contexts = &boundContexts{}
		}
		l.contexts.add(ctx, cancel)
	}
	return ctx
}

// FromContext is the lease that the work runs under: that of the innermost Run,
// Stream or Lease.Context. It is false outside of any.
func FromContext(ctx context.Context) (*Lease, bool) {
	l, ok := ctx.Value(contextKey{}).(*Lease)
	return l, ok
}

type contextKey struct{}

func contextWith(parent context.Context, l *Lease) context.Context {
	return context.WithValue(parent, contextKey{}, l)
}

// cancelContexts ends all work contexts. Called with the manager's mutex held.
func (l *Lease) cancelContexts(cause error) {
	if l.contexts == nil {
		return
	}
	for _, c := range l.contexts.list {
		c.cancel(cause)
	}
	l.contexts = nil
}

// boundContexts are the contexts to end with the lease.
type boundContexts struct {
	list []boundContext
	// pruneAt is the length at which those that ended with their parents are
	// dropped. It doubles with what stays, so that a long lease that hands out a
	// context per request neither grows nor scans all of them each time.
	pruneAt int
}

type boundContext struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (b *boundContexts) add(ctx context.Context, cancel context.CancelCauseFunc) {
	const few = 8
	if len(b.list) >= max(few, b.pruneAt) {
		live := b.list[:0]
		for _, c := range b.list {
			if c.ctx.Err() == nil {
				live = append(live, c)
			}
		}
		clear(b.list[len(live):])
		b.list = live
		b.pruneAt = 2 * len(live)
	}
	b.list = append(b.list, boundContext{ctx, cancel})
}
