package lease

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// Stream is a lease for work that learns bit by bit what it uses, such as a
// model's answer that arrives in tokens. What was added is what is committed: by
// Commit, or by itself when the stream's context ends. The end of the context
// releases nothing, since what was delivered was used.
//
// It is settled once, by whichever of Commit, Release and the end of the context
// comes first. All methods are safe for concurrent use.
type Stream struct {
	lease *Lease
	ctx   context.Context
	opts  []CommitOption
	// detach takes the settlement at the end of the context back.
	detach func() bool

	mu     sync.Mutex
	used   int64
	frozen bool
}

// OpenStream acquires a reservation for a stream that ends with ctx at the
// latest. The options go with its commit.
func (m *Manager) OpenStream(ctx context.Context, req gen.ReservationCreateRequest, opts ...CommitOption) (*Stream, error) {
	if err := checkOptions(opts); err != nil {
		return nil, &AcquireError{IdempotencyKey: req.IdempotencyKey, Err: err}
	}
	l, err := m.Acquire(ctx, req)
	if err != nil {
		return nil, err
	}
	s := &Stream{lease: l, ctx: l.workContext(ctx), opts: opts}
	s.detach = context.AfterFunc(ctx, s.settleAtEnd)
	return s, nil
}

// Lease is the lease behind the stream. Settle through the stream, not through
// it.
func (s *Stream) Lease() *Lease { return s.lease }

// Context is the context for the stream's work, as for Run.
func (s *Stream) Context() context.Context { return s.ctx }

// Add counts n more of the reservation's unit as used. n must not be negative.
// Once the settlement has begun it is refused with ErrFinished: the amount
// stands. Other errors are a *client.RequestError; the amount is then as before.
func (s *Stream) Add(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n < 0:
		return s.unaddable(n, "added to, not taken from")
	case s.frozen:
		return fmt.Errorf("%w: reservation %q is being settled", ErrFinished, s.lease.id)
	case n > math.MaxInt64-s.used:
		return s.unaddable(n, "at most 9223372036854775807 in all")
	}
	s.used += n
	return nil
}

func (s *Stream) unaddable(n int64, limit string) error {
	return fmt.Errorf("lease: Stream.Add(%d) to reservation %q: %w", n, s.lease.id,
		&client.RequestError{Op: client.OpCommitReservation, Field: "actual.amount", Limit: limit})
}

// String names the stream by its reservation.
func (s *Stream) String() string { return fmt.Sprintf("stream of reservation %q", s.lease.id) }

// GoString is String, so that no verb of fmt reads what the mutexes guard.
func (s *Stream) GoString() string { return s.String() }

// Used is what was added so far.
func (s *Stream) Used() gen.Amount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return gen.Amount{Amount: s.used, Unit: s.lease.estimate().Unit}
}

// Commit settles the stream with what was added, like Lease.Commit. After the
// end of the context it gives the result of the commit that was made then, and
// sends the same key and bytes again if that one is still pending.
func (s *Stream) Commit(ctx context.Context, opts ...CommitOption) (settlement.Result, error) {
	if err := checkOptions(opts); err != nil {
		return settlement.Result{}, err
	}
	s.detach()
	all := append(append([]CommitOption(nil), s.opts...), opts...)
	return s.lease.Commit(ctx, s.freeze(), all...)
}

// Release gives the whole reservation back, what was added notwithstanding, like
// Lease.Release.
func (s *Stream) Release(ctx context.Context, reason string) error {
	s.detach()
	s.freeze()
	return s.lease.Release(ctx, reason)
}

// freeze ends the adding.
func (s *Stream) freeze() gen.Amount {
	s.mu.Lock()
	s.frozen = true
	s.mu.Unlock()
	return s.Used()
}

// settleAtEnd commits when the stream's context has ended. The manager counts
// it, so that Close waits for it.
func (s *Stream) settleAtEnd() {
	m := s.lease.m
	m.mu.Lock()
	m.enter()
	m.mu.Unlock()
	_, _ = s.lease.Commit(s.ctx, s.freeze(), s.opts...) // Commit gives the result to whoever asks for it
	m.mu.Lock()
	m.leave()
	m.mu.Unlock()
}
