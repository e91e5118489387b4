package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// retryLoop is one call under the retry policy. It sits where retryablehttp
// expects an http.Client's transport, runs each attempt there, and keeps the
// last failure itself: what retryablehttp makes of it has lost its type. It has
// no CloseIdleConnections, so that a call that gives up cannot close the
// connections of all the others.
type retryLoop struct {
	*exchange
	policy RetryPolicy
	// first is how the attempt before the loop failed.
	first error
	wait  time.Duration
	// waiting is true between the decision to retry and the next attempt.
	waiting bool
}

// retrying sends the call under the retry policy. The first attempt goes out
// before the loop is set up: nearly every call ends with it, and setting up the
// loop adds a fifth to the time of a call over loopback.
func (x *exchange) retrying(ctx context.Context, build func(body io.Reader) (*http.Request, error)) error {
	first := x.once(ctx, build)
	if first == nil {
		return nil
	}
	built, err := x.request(build)
	if err != nil {
		return err
	}
	r := &retryLoop{exchange: x, policy: x.client.cfg.retry, first: first}
	req := &retryablehttp.Request{Request: built.WithContext(ctx)}
	if x.hasBody {
		if err := req.SetBody(x.body); err != nil {
			return err
		}
	}
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: r},
		RetryMax:   r.policy.MaxAttempts, // CheckRetry stops before that
		CheckRetry: r.checkRetry,
		Backoff:    func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return r.wait },
	}
	if resp, err := loop.Do(req); err == nil {
		resp.Body.Close()
	}
	if r.waiting && ctx.Err() != nil {
		return x.canceled(ctx)
	}
	return x.last
}

// RoundTrip runs one attempt. What it returns only tells retryablehttp whether
// there was a failure.
func (r *retryLoop) RoundTrip(req *http.Request) (*http.Response, error) {
	r.waiting = false
	if first := r.first; first != nil {
		r.first = nil
		return nil, first
	}
	if r.last = r.attempt(req.Context(), req); r.last != nil {
		return nil, r.last
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func (r *retryLoop) checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	wait, reason := r.next(ctx)
	if reason != "" {
		noteGivenUp(r.last, reason)
		return false, nil
	}
	if wait < 0 {
		return false, nil
	}
	r.wait, r.waiting = wait, true
	r.client.cfg.logger.LogAttrs(ctx, slog.LevelWarn, "cycles: attempt failed, will retry",
		slog.String("op", string(r.op)), slog.Int("attempt", r.meta.Attempts), slog.Duration("wait", wait),
		slog.String("outcome", OutcomeOf(r.last).String()), slog.Int("status", r.meta.Status),
		slog.String("request_id", r.meta.RequestID), slog.String("reservation_id", r.reservationID))
	return true, nil
}

// next is the wait before the next attempt. It is negative when there must be
// none, and then reason tells what kept a failure that could be retried from it.
func (r *retryLoop) next(ctx context.Context) (wait time.Duration, reason string) {
	switch OutcomeOf(r.last) {
	case Transient, Ambiguous, Throttled:
	default:
		return -1, ""
	}
	if _, pointless := errors.AsType[*tls.CertificateVerificationError](r.last); pointless {
		return -1, ""
	}
	if r.meta.Attempts >= r.policy.MaxAttempts {
		return -1, "no attempt is left"
	}
	wait = time.Duration(rand.Int64N(int64(r.policy.ceiling(r.meta.Attempts)) + 1))
	if e, ok := errors.AsType[*Error](r.last); ok {
		switch {
		case e.throttle.malformed && e.outcome() == Throttled:
			return -1, "not retried, since its Retry-After cannot be read and any retry might be too early"
		case e.throttle.stated && e.throttle.wait > r.policy.MaxRetryAfter:
			return -1, "not retried, since its Retry-After is longer than MaxRetryAfter"
		case e.throttle.stated:
			wait = max(wait, e.throttle.wait)
		}
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return -1, "not retried, since the context ends before the next attempt is due"
	}
	return wait, ""
}

func noteGivenUp(err error, reason string) {
	switch e := err.(type) {
	case *Error:
		e.gaveUp = reason
	case *ResponseError:
		e.gaveUp = reason
	case *TransportError:
		e.gaveUp = reason
	}
}
