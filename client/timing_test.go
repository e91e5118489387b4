package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

func TestSentAndReceivedAreThoseOfTheAttemptThatAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := inTurn(
			func(*http.Request) (*http.Response, error) {
				time.Sleep(700 * time.Millisecond)
				return reply(503, ""), nil
			},
			func(*http.Request) (*http.Response, error) {
				time.Sleep(200 * time.Millisecond)
				r := reply(200, commitOK)
				r.Body = &slowBody{300 * time.Millisecond, strings.NewReader(commitOK)}
				return r, nil
			})
		var meta client.Meta
		_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest, client.WithMeta(&meta))
		require.NoError(t, err)
		assert.Equal(t, 2, meta.Attempts)
		assert.Equal(t, server.attempts()[1].at, meta.Sent)
		assert.Equal(t, 500*time.Millisecond, meta.Received.Sub(meta.Sent))
		assert.Equal(t, 200, meta.Status)
	})
}

func TestSentAndReceivedKeepTheMonotonicReading(t *testing.T) {
	var meta client.Meta
	_, err := newClient(t, always(200, extendOK)).ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
	require.NoError(t, err)
	assert.Contains(t, meta.Sent.String(), "m=")
	assert.Contains(t, meta.Received.String(), "m=")
}

func TestTheInjectedClockTimesTheAttempt(t *testing.T) {
	mock := clock.NewMock()
	mock.Set(time.Unix(1_000, 0))
	server := serve(func(*http.Request) (*http.Response, error) {
		mock.Add(3 * time.Second)
		return reply(200, extendOK), nil
	})
	var meta client.Meta
	c := newClient(t, server, client.WithClock(mock))
	_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
	require.NoError(t, err)
	assert.True(t, time.Unix(1_000, 0).Equal(meta.Sent))
	assert.Equal(t, 3*time.Second, meta.Received.Sub(meta.Sent))
	assert.Equal(t, clock.Clock(mock), c.Clock())
}

func TestTheInjectedClockEndsTheAttempt(t *testing.T) {
	mock := clock.NewMock()
	server := serve(func(req *http.Request) (*http.Response, error) {
		mock.Add(client.DefaultRequestTimeout)
		return hanging(req)
	})
	_, err := newClient(t, server, client.WithClock(mock)).ExtendReservation(t.Context(), "r-1", extendRequest)
	var broken *client.TransportError
	require.ErrorAs(t, err, &broken)
	assert.True(t, broken.Timeout)
}

// Every phase of an attempt counts against its bound.
func TestAHangInAnyPhaseEndsAtTheBound(t *testing.T) {
	for name, server := range map[string]serve{
		"before the headers": hanging,
		"before the body": func(req *http.Request) (*http.Response, error) {
			r := reply(200, extendOK)
			r.Body = &stuckBody{done: req.Context().Done()}
			return r, nil
		},
		"inside the body": func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			r := reply(200, extendOK)
			body := &stuckBody{done: req.Context().Done()}
			body.WriteString(extendOK[:30])
			r.Body = body
			return r, nil
		},
		"between the last byte and the end": func(req *http.Request) (*http.Response, error) {
			r := reply(200, extendOK)
			body := &stuckBody{done: req.Context().Done()}
			body.WriteString(extendOK)
			r.Body, r.ContentLength = body, -1
			return r, nil
		},
		"inside the body of an error": func(req *http.Request) (*http.Response, error) {
			r := reply(410, "")
			r.Body = &stuckBody{done: req.Context().Done()}
			return r, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, server, client.WithRequestTimeout(8*time.Second))
				for bound, opts := range map[time.Duration][]client.CallOption{
					8 * time.Second:         nil,
					1234 * time.Millisecond: {client.WithAttemptTimeout(1234 * time.Millisecond)},
				} {
					var meta client.Meta
					start := time.Now()
					_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest, append(opts, client.WithMeta(&meta))...)
					assert.Equal(t, bound, time.Since(start))
					var broken *client.TransportError
					require.ErrorAs(t, err, &broken)
					assert.True(t, broken.Timeout)
					assert.False(t, broken.Canceled)
					assert.Equal(t, client.Transient, client.OutcomeOf(err))
					assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
					assert.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context is not to blame")
					assert.Zero(t, meta.Status)
					assert.Zero(t, meta.Received)
					assert.Equal(t, start, meta.Sent)
				}
			})
		})
	}
}

func TestAnAnswerJustBeforeTheBoundCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second - time.Nanosecond)
			return reply(200, extendOK), nil
		})
		_, err := newClient(t, server).ExtendReservation(t.Context(), "r-1", extendRequest, client.WithAttemptTimeout(time.Second))
		assert.NoError(t, err)
	})
}

func TestCallerCancelsBeforeTheCall(t *testing.T) {
	server := always(200, extendOK)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("shutting down")
	cancel(reason)
	var meta client.Meta
	_, err := newClient(t, server).ExtendReservation(ctx, "r-1", extendRequest, client.WithMeta(&meta))
	assert.Equal(t, client.Canceled, client.OutcomeOf(err))
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, reason)
	assert.Empty(t, server.attempts())
	assert.Zero(t, meta.Attempts)
	assert.NotEmpty(t, meta.IdempotencyKey)
}

func TestCallerCancelsDuringTheAttempt(t *testing.T) {
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"extend": func(ctx context.Context, c *client.Client) error {
			_, err := c.ExtendReservation(ctx, "r-1", extendRequest)
			return err
		},
		"create": func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateReservation(ctx, createRequest)
			return err
		},
		"commit": func(ctx context.Context, c *client.Client) error {
			_, err := c.CommitReservation(ctx, "r-1", commitRequest)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := inTurn(hanging)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err := call(ctx, newClient(t, server))
				assert.Equal(t, 2*time.Second, time.Since(start))
				assert.Equal(t, client.Canceled, client.OutcomeOf(err))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				var broken *client.TransportError
				require.ErrorAs(t, err, &broken)
				assert.Equal(t, 1, broken.Attempts)
				assert.NotEmpty(t, broken.IdempotencyKey)
				assert.Len(t, server.attempts(), 1, "no further attempt")
			})
		})
	}
}

func TestCallerCancelsDuringTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := inTurn(func(req *http.Request) (*http.Response, error) {
			r := reply(200, commitOK)
			r.Body = &stuckBody{done: req.Context().Done()}
			time.AfterFunc(time.Second, cancel)
			return r, nil
		})
		_, err := newClient(t, server).CommitReservation(ctx, "r-1", commitRequest)
		assert.Equal(t, client.Canceled, client.OutcomeOf(err))
		assert.Len(t, server.attempts(), 1)
	})
}

func TestCallerCancelsBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := inTurn(func(*http.Request) (*http.Response, error) {
			time.AfterFunc(3*time.Second, cancel)
			return reply(429, errorBody("LIMIT_EXCEEDED"), "Retry-After", "10"), nil
		})
		start := time.Now()
		var meta client.Meta
		_, err := newClient(t, server).CommitReservation(ctx, "r-1", commitRequest, client.WithMeta(&meta))
		assert.Equal(t, 3*time.Second, time.Since(start), "the wait ends with the context")
		assert.Equal(t, client.Canceled, client.OutcomeOf(err))
		assert.ErrorIs(t, err, client.ErrLimitExceeded, "what the last attempt said stays visible")
		assert.Len(t, server.attempts(), 1)
		assert.Equal(t, 1, meta.Attempts)
	})
}

func TestConnectionThatBreaksInsideTheBodyIsNoAnswer(t *testing.T) {
	server := serve(func(*http.Request) (*http.Response, error) {
		r := reply(200, extendOK)
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(extendOK), failedReader{}))
		return r, nil
	})
	var meta client.Meta
	_, err := newClient(t, server).ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
	var broken *client.TransportError
	require.ErrorAs(t, err, &broken)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Zero(t, meta.Status)
}

// The bound of the caller's own http.Client counts as a timeout of the attempt.
func TestATimeoutBelowTheClientIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New(baseURL, client.WithAPIKey(apiKey), client.WithHTTPClient(&http.Client{Transport: serve(hanging), Timeout: time.Second}))
		require.NoError(t, err)
		before := time.Now()
		_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest)
		var broken *client.TransportError
		require.ErrorAs(t, err, &broken)
		assert.True(t, broken.Timeout)
		assert.False(t, broken.Canceled)
		assert.Equal(t, time.Second, time.Since(before))
	})
	_, err := newClient(t, inTurn(failing(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}))).ExtendReservation(t.Context(), "r-1", extendRequest)
	var broken *client.TransportError
	require.ErrorAs(t, err, &broken)
	assert.True(t, broken.Timeout)
}

type failedReader struct{}

func (failedReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
