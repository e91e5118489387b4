package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// CommitOption adds to a commit.
type CommitOption func(*gen.CommitRequest)

// WithMetrics reports how the work went. A missing latency_ms is filled with the
// time since the lease was taken.
func WithMetrics(metrics gen.StandardMetrics) CommitOption {
	return func(r *gen.CommitRequest) { r.Metrics = &metrics }
}

// WithMetadata is kept with the reservation as committed_metadata.
func WithMetadata(metadata map[string]any) CommitOption {
	return func(r *gen.CommitRequest) { r.Metadata = metadata }
}

// WithCommitKey names the commit's idempotency key, which is random otherwise.
func WithCommitKey(key string) CommitOption {
	return func(r *gen.CommitRequest) { r.IdempotencyKey = key }
}

// SettledError says that a lease was settled otherwise, or may have been.
type SettledError struct {
	ReservationID string
	// Op is what settled it: commitReservation or releaseReservation.
	Op client.Op
	// IdempotencyKey is the key of that call.
	IdempotencyKey string
	// Pending is true when its outcome is not known. Repeating that call resends
	// the same key.
	Pending bool
}

func (e *SettledError) Error() string {
	state := "was already settled"
	if e.Pending {
		state = "may already be settled"
	}
	return fmt.Sprintf("lease: reservation %q %s by %s with the key %q", e.ReservationID, state, e.Op, e.IdempotencyKey)
}

// releaseAttempts is how many attempts, by time, a release may take.
const releaseAttempts = 3

var errReleaseBound = errors.New("the release took longer than its bound")

// settling is how far the settlement of a lease has come. turn admits one caller
// at a time.
type settling struct {
	turn chan struct{}

	commit  *settlement.Settlement
	release *releasing
}

type releasing struct {
	request gen.ReleaseRequest
	done    bool
}

// Commit settles the lease with what was really used, in the unit of the
// reservation. It first ends the heartbeat: nothing is planned any more, and an
// extend under way is cancelled and waited for. Then it sends the commit, bounded
// by the client's request timeout and not by ctx, whose end must not lose what
// was spent; ctx only lends its values.
//
// The error is nil exactly when the result is settled. Otherwise
//
//   - the call was refused before it did anything. Nothing was sent, the heartbeat
//     goes on, and a commit as it should be can follow: a *client.RequestError for
//     another unit than the reservation's, a negative amount, or a key, metrics or
//     metadata that cannot be sent, a *client.ConfigError for a nil option;
//   - the lease was settled otherwise before, and nothing was sent: a *SettledError,
//     after a release, or a commit of another amount;
//   - at most one attempt was made and the spend is not settled: a
//     *settlement.Error, whose Disposition the result has too.
//
// Pending is no failure, and not left to the caller: the manager's settler sends
// the same key and bytes again until it is settled, as an event when the
// reservation is over, and with a journal (WithJournal) the next process does. Do
// not charge the spend in another way, and do not commit it elsewhere. Another
// call with the same amount tries it now. After a Rejected one a further call is
// a new commit. A call that comes after a commit of the same amount gets that
// one's result.
//
// Settled means that the server has taken the spend, not that it charged all of
// it: under ALLOW_IF_AVAILABLE, the default, it charges of an excess over the
// estimate what the budget has left. Result.Shortfall is the rest.
//
// Under FailOnFinalize the *StopError of a lease that was lost is joined to the
// error, and beside a settled result it is the error.
func (l *Lease) Commit(ctx context.Context, actual gen.Amount, opts ...CommitOption) (settlement.Result, error) {
	if err := checkOptions(opts); err != nil {
		return settlement.Result{}, err
	}
	request := gen.CommitRequest{Actual: actual}
	for _, opt := range opts {
		opt(&request)
	}
	if err := l.checkActual(&request.Actual); err != nil {
		return settlement.Result{}, err
	}
	s := l.takeTurn()
	defer s.yield()
	if s.release != nil {
		return settlement.Result{}, l.releasedError(s.release)
	}
	if s.commit != nil && s.commit.Actual() != request.Actual && s.commit.Result().Disposition != settlement.Rejected {
		return s.commit.Result(), l.committedError(s.commit)
	}
	if s.commit == nil || s.commit.Result().Disposition == settlement.Rejected {
		request.Metrics = withLatency(request.Metrics, l.age())
		begun, err := l.m.settler.Begin(settlement.Spend{ReservationID: l.id, Created: l.request, Commit: request})
		if err != nil {
			return settlement.Result{}, err
		}
		s.commit = begun
	}
	l.endHeartbeat()
	result, err := s.commit.Settle(context.WithoutCancel(ctx))
	return result, join(err, l.lossToReport())
}

// Release gives the whole reservation back because nothing was spent under it.
// It ends the heartbeat like Commit and outlives ctx like Commit, bounded by
// three times the client's request timeout, retries included. reason is for the
// audit log and is cut to the protocol's 256 characters; empty means none. After
// an error that leaves the outcome open a second call sends the same key. A call
// that comes after a commit, or while one is pending, is refused with a
// *SettledError: giving the budget back would lose what was spent.
// FailOnFinalize adds the loss to the error, as for Commit.
func (l *Lease) Release(ctx context.Context, reason string) error {
	return join(l.release(ctx, reason), l.lossToReport())
}

func (l *Lease) release(ctx context.Context, reason string) error {
	s := l.takeTurn()
	defer s.yield()
	if s.commit != nil && s.commit.Result().Disposition != settlement.Rejected {
		return l.committedError(s.commit)
	}
	if s.release == nil {
		s.release = &releasing{request: gen.ReleaseRequest{IdempotencyKey: uuid.NewString()}}
		if reason != "" {
			reason = clipReason(reason)
			s.release.request.Reason = &reason
		}
	}
	if s.release.done {
		return nil
	}
	l.endHeartbeat()
	bounded, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	timer := l.m.clock.AfterFunc(releaseAttempts*l.m.client.RequestTimeout(), func() { cancel(errReleaseBound) })
	defer timer.Stop()
	_, err := l.m.client.ReleaseReservation(bounded, l.id, s.release.request)
	switch client.OutcomeOf(err) {
	case client.Success:
		s.release.done = true
	case client.Unauthorized, client.Expired, client.Finalized, client.Mismatch, client.Rejected, client.Invalid:
		s.release = nil // refused: it had no effect
	}
	return err
}

func (l *Lease) takeTurn() *settling {
	l.m.mu.Lock()
	if l.settling == nil {
		l.settling = &settling{turn: make(chan struct{}, 1)}
	}
	s := l.settling
	l.m.mu.Unlock()
	s.turn <- struct{}{}
	return s
}

func (s *settling) yield() { <-s.turn }

// endHeartbeat finishes the lease and waits for the extend under way, which was
// cancelled, for as long as one may take.
func (l *Lease) endHeartbeat() {
	l.m.mu.Lock()
	l.m.finish(l, l.m.now())
	ended, bound := l.ended(), l.timeout
	l.m.mu.Unlock()
	if ended {
		return
	}
	timer := l.m.clock.Timer(bound)
	defer timer.Stop()
	select {
	case <-l.Done():
	case <-timer.C:
	}
}

// age is how long ago the lease was taken.
func (l *Lease) age() time.Duration {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.m.now().mono - l.taken
}

// withLatency is metrics with a latency_ms, took unless it has one.
func withLatency(metrics *gen.StandardMetrics, took time.Duration) *gen.StandardMetrics {
	var out gen.StandardMetrics
	if metrics != nil {
		out = *metrics
	}
	if out.LatencyMs == nil {
		ms := max(0, took.Milliseconds())
		out.LatencyMs = &ms
	}
	return &out
}

// lossToReport is the *StopError of a lost lease when the policy wants it
// returned, else nil.
func (l *Lease) lossToReport() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if !l.lost || l.m.cfg.onLost != FailOnFinalize {
		return nil
	}
	return l.stopped
}

// join is errors.Join, except that a single error stays itself.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

func (l *Lease) committedError(c *settlement.Settlement) error {
	return &SettledError{ReservationID: l.id, Op: client.OpCommitReservation,
		IdempotencyKey: c.Result().IdempotencyKey, Pending: !c.Result().Settled()}
}

func (l *Lease) releasedError(r *releasing) error {
	return &SettledError{ReservationID: l.id, Op: client.OpReleaseReservation,
		IdempotencyKey: r.request.IdempotencyKey, Pending: !r.done}
}

func checkOptions(opts []CommitOption) error {
	for _, opt := range opts {
		if opt == nil {
			return refused("CommitOption", "must not be nil")
		}
	}
	return nil
}

// checkActual refuses another unit than the reservation's, and fills it in where
// it is missing.
func (l *Lease) checkActual(actual *gen.Amount) error {
	unit := l.estimate().Unit
	if actual.Unit == "" {
		actual.Unit = unit
	}
	if unit != "" && actual.Unit != unit {
		return &client.RequestError{Op: client.OpCommitReservation, Field: "actual.unit", Limit: fmt.Sprintf("%s, as reserved", unit)}
	}
	return nil
}

// estimate is what was reserved, as far as the hand-over told.
func (l *Lease) estimate() gen.Amount {
	if l.request.Estimate.Unit == "" && l.created.Reserved != nil {
		return *l.created.Reserved
	}
	return l.request.Estimate
}

// clipReason keeps a reason within the protocol's limit.
func clipReason(reason string) string {
	const limit = 256
	runes := []rune(strings.ToValidUTF8(reason, "\uFFFD"))
	return string(runes[:min(len(runes), limit)])
}
