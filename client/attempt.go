package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// maxBody bounds what is read of an answer, after decompression.
const maxBody = 16 << 20

// attempt sends req one time and reads, times and proves the answer. This is
// below the retry layer, so that an unproved 2xx is a failure there like any
// other.
func (x *exchange) attempt(ctx context.Context, req *http.Request) error {
	if ctx.Err() != nil {
		return x.canceled(ctx)
	}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := x.client.cfg.clock
	late := &timeoutError{x.timeout}
	timer := clock.AfterFunc(x.timeout, func() { cancel(late) })
	defer timer.Stop()

	req = req.WithContext(bounded)
	req.Header = x.header(ctx)
	x.meta = Meta{IdempotencyKey: x.key, Attempts: x.meta.Attempts + 1}
	x.meta.Sent = clock.Now()
	resp, err := x.client.http.Do(req)
	if err != nil {
		return x.noAnswer(ctx, context.Cause(bounded), late, err)
	}
	body, tooLong, err := readBounded(resp.Body, resp.ContentLength)
	resp.Body.Close()
	if err != nil {
		return x.noAnswer(ctx, context.Cause(bounded), late, err)
	}
	x.meta.Status = resp.StatusCode
	x.meta.readHeaders(resp.Header, x.client.redact)

	err = x.judge(resp, body, tooLong)
	if cause := context.Cause(bounded); err == nil && cause == error(late) {
		return x.noAnswer(ctx, cause, late, late) // the proof, too, has to fit
	}
	x.meta.Received = clock.Now()
	return err
}

// header is made anew for each attempt: a transport may still read the one of
// an attempt that was given up.
func (x *exchange) header(ctx context.Context) http.Header {
	cfg := &x.client.cfg
	const most = 5
	h := make(http.Header, most)
	values := make([]string, 0, most)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("Accept", mediaType)
	set("User-Agent", cfg.userAgent)
	if x.hasBody {
		set("Content-Type", mediaType)
	}
	switch {
	case x.options.admin:
		set("X-Admin-Api-Key", cfg.adminKey())
	case x.access != noKey:
		set("X-Cycles-Api-Key", cfg.apiKey())
	}
	if cfg.traceparent != nil {
		if parent := cfg.traceparent(ctx); validTraceparent(parent) {
			set("Traceparent", parent)
		}
	}
	return h
}

// timeoutError is the end of an attempt's own bound, as opposed to the
// caller's deadline.
type timeoutError struct{ bound time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("the attempt took longer than %v", e.bound) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// noAnswer says why there is no complete answer. cause is what ended the
// attempt's context: its own bound, the caller, or nothing.
func (x *exchange) noAnswer(ctx context.Context, cause error, late *timeoutError, err error) error {
	x.meta.Status = 0
	if cause == error(late) {
		return x.transportError(late, true)
	}
	if cause != nil {
		return x.canceled(ctx)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the operation says it better than the URL
	}
	netErr, isNet := errors.AsType[net.Error](err)
	return x.transportError(err, isNet && netErr.Timeout())
}

func (x *exchange) transportError(err error, timeout bool) *TransportError {
	return &TransportError{
		Op: x.op, IdempotencyKey: x.key, ReservationID: x.reservationID, Attempts: x.meta.Attempts,
		Timeout: timeout, Err: err,
	}
}

// canceled is the error for a caller whose context ended. What the attempt
// before left open stays visible.
func (x *exchange) canceled(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != err {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if x.last != nil {
		err = fmt.Errorf("%w; the attempt before: %w", err, x.last)
	}
	e := x.transportError(err, false)
	e.Canceled = true
	return e
}

// readBounded reads all of an answer up to maxBody; what is longer is cut.
func readBounded(r io.Reader, hint int64) (body []byte, tooLong bool, err error) {
	const first = 64 << 10
	size := int64(512)
	if hint >= 0 {
		size = min(hint, first) + 1 // one more, to see the end without growing
	}
	body = make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxBody:
			return body[:maxBody], true, nil
		case err == io.EOF:
			return body, false, nil
		case err != nil:
			return nil, false, err
		}
	}
}
