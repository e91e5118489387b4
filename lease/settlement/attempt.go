package settlement

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// maxFloor is the longest that a server's wish not to be called is followed.
const maxFloor = time.Hour

// advance makes the attempt that is due. The caller has the turn.
func (x *Settlement) advance(ctx context.Context) {
	claim, proceed := x.secure()
	if claim != nil {
		defer claim.Release()
	}
	if proceed {
		x.attempt(ctx, claim)
	}
}

// attempt sends, and sends again at once when the first answer turned a commit
// into an event.
func (x *Settlement) attempt(ctx context.Context, claim *journal.Claim) {
	if wait := x.settler.floors.left(x.name, x.rec.NotBeforeMs, x.settler.clock.Now()); wait > 0 {
		x.update(func(r *Result) {
			if r.Err == nil {
				r.Err = ErrNotBefore
			}
		})
		x.postpone(wait)
		return
	}
	if x.rec.Mode == journal.Commit && !x.commit(ctx, claim) {
		return
	}
	x.event(ctx, claim)
}

// commit sends the commit. It reports true when the event is to be sent now.
func (x *Settlement) commit(ctx context.Context, claim *journal.Claim) (expired bool) {
	var meta client.Meta
	answer, err := x.settler.client.CommitReservation(ctx, x.rec.ReservationID, gen.CommitRequest{},
		client.WithRawBody(x.rec.CommitBody), client.WithoutRetry(), client.WithMeta(&meta))
	x.update(func(r *Result) { r.Attempts += meta.Attempts; r.Commit, r.Err = answer, err })
	switch outcome := client.OutcomeOf(err); outcome {
	case client.Success:
		x.settled(claim, Committed)
	case client.Expired:
		return x.becomeEvent(claim)
	default:
		x.failed(claim, outcome, err)
	}
	return false
}

// event sends the spend without its reservation.
func (x *Settlement) event(ctx context.Context, claim *journal.Claim) {
	if !x.keyIsRemembered() {
		x.update(func(r *Result) { r.Err = ErrKeyForgotten })
		x.bury(claim, Parked)
		return
	}
	var meta client.Meta
	answer, err := x.settler.client.CreateEvent(ctx, gen.EventCreateRequest{},
		client.WithRawBody(x.rec.EventBody), client.WithoutRetry(), client.WithMeta(&meta))
	x.update(func(r *Result) { r.Attempts += meta.Attempts; r.Event, r.Err = answer, err })
	switch outcome := client.OutcomeOf(err); {
	case outcome == client.Success:
		x.settled(claim, RecoveredByEvent)
	case outcome == client.Expired && errors.Is(err, client.ErrReservationExpired):
		// An event has no reservation; whoever answers so has understood and refused.
		x.failed(claim, client.Rejected, err)
	case outcome == client.Expired:
		x.failed(claim, client.Unrecognized, err)
	default:
		x.failed(claim, outcome, err)
	}
}

// becomeEvent makes the record an event before one is sent, so that no crash
// can lead back to the commit. From now on the time it carries is the earliest
// that the event can have been taken.
func (x *Settlement) becomeEvent(claim *journal.Claim) bool {
	if !hasMembers(x.rec.EventBody) {
		x.update(func(r *Result) { r.Err = errors.Join(ErrNoFallback, r.Err) })
		x.failures++
		x.postpone(spread(x.settler.cfg.rescan))
		return false
	}
	x.failures = 0
	x.rec.Mode, x.rec.NotBeforeMs, x.rec.RecordedAtMs = journal.Event, nil, x.settler.nowMs()
	x.rewrite(claim)
	return true
}

// keyIsRemembered reports whether the server still knows the event if it took
// it: it cannot have done so before the record became one. A record that does
// not tell its time is too old to be sure.
func (x *Settlement) keyIsRemembered() bool {
	age := x.settler.clock.Now().Sub(time.UnixMilli(x.rec.RecordedAtMs))
	return age+x.settler.client.RequestTimeout() < eventKeyLife
}

// settled records the success.
func (x *Settlement) settled(claim *journal.Claim, d Disposition) {
	x.update(func(r *Result) { r.Disposition = d })
	if claim == nil {
		return
	}
	if err := claim.Discard(); err != nil {
		x.journalFailed(err)
		x.settler.leaveStuck(x.name, x.result.IdempotencyKey)
	}
}

// failed decides what an answer that is no success means for the record.
func (x *Settlement) failed(claim *journal.Claim, outcome client.Outcome, err error) {
	first := x.failures == 0
	x.failures++
	wait := x.settler.backoff.after(x.failures)
	switch outcome {
	case client.Finalized, client.Mismatch, client.Rejected:
		x.bury(claim, Rejected)
		return
	case client.Invalid:
		if unsendable(err) {
			x.bury(claim, Rejected)
			return
		}
		wait = spread(x.settler.cfg.rescan)
	case client.Throttled:
		wait = max(wait, x.setFloor(claim, err))
	case client.Unauthorized:
		// Nothing helps but other credentials, which may come.
		wait = spread(x.settler.cfg.rescan)
	case client.Unrecognized:
		if !first {
			wait = spread(x.settler.cfg.rescan)
		}
	}
	x.postpone(wait)
	level := slog.LevelDebug
	if first {
		level = slog.LevelWarn
	}
	x.settler.cfg.logger.LogAttrs(context.Background(), level, "cycles: a spend is not settled yet",
		slog.String("reservation", x.rec.ReservationID), slog.String("mode", string(x.rec.Mode)),
		slog.String("outcome", outcome.String()), slog.Duration("next_attempt_in", wait), slog.Any("error", err))
}

// setFloor records that the server asked not to be called for a while.
func (x *Settlement) setFloor(claim *journal.Claim, err error) time.Duration {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok {
		return 0
	}
	wait, ok := refusal.RetryAfter()
	if !ok || wait == 0 {
		return 0
	}
	wait = min(wait, maxFloor)
	floor := x.settler.nowMs() + wait.Milliseconds()
	x.rec.NotBeforeMs = &floor
	x.rewrite(claim)
	return max(wait, x.settler.floors.left(x.name, &floor, x.settler.clock.Now()))
}

// unsendable reports whether the record itself is what the client refused: its
// id or its body. Everything else (a client without a key) can be mended.
func unsendable(err error) bool {
	refusal, ok := errors.AsType[*client.RequestError](err)
	if !ok {
		return false
	}
	switch refusal.Field {
	case "reservation_id", "idempotency_key", "raw body", "parameters":
		return true
	}
	return false
}

// bury ends the settlement and sets its record aside for a person.
func (x *Settlement) bury(claim *journal.Claim, d Disposition) {
	x.update(func(r *Result) { r.Disposition = d })
	result := x.Result()
	x.settler.cfg.logger.LogAttrs(context.Background(), slog.LevelError, "cycles: a spend will not be settled by itself",
		slog.String("reservation", x.rec.ReservationID), slog.String("disposition", d.String()), slog.Any("error", result.Err))
	if claim == nil {
		return
	}
	dead := journal.DeadLetter{Reason: d.String(), Detail: result.Err.Error()}
	if d == Rejected {
		dead.Reason = client.OutcomeOf(result.Err).String()
	}
	if refusal, ok := errors.AsType[*client.Error](result.Err); ok {
		dead.Status, dead.Code = refusal.Status, string(refusal.Code)
	}
	if err := claim.Bury(x.rec, dead); err != nil {
		x.journalFailed(err)
		x.settler.leaveStuck(x.name, x.result.IdempotencyKey)
	}
}

// postpone plans the next attempt.
func (x *Settlement) postpone(wait time.Duration) {
	x.setDue(x.settler.clock.Now().Add(wait))
}

// credentialsRefused reports whether the settlement failed for a reason that
// all others share.
func (x *Settlement) credentialsRefused() bool {
	refusal, ok := errors.AsType[*client.Error](x.Result().Err)
	return ok && refusal.Status == http.StatusUnauthorized
}
