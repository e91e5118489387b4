package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

// retried are the calls that go through the retry policy.
func retried() map[client.Op]func(context.Context, *client.Client, ...client.CallOption) error {
	through := map[client.Op]func(context.Context, *client.Client, ...client.CallOption) error{}
	for _, call := range calls {
		if call.op != client.OpExtendReservation && call.op != client.OpCreateReservation {
			through[call.op] = func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
				_, err := call.send(ctx, c, opts...)
				return err
			}
		}
	}
	return through
}

func TestFailuresThatMayPassAreRetriedWithTheSameKeyAndBytes(t *testing.T) {
	for op, call := range retried() {
		for name, failure := range map[string]func(*http.Request) (*http.Response, error){
			"503":          replying(503, ""),
			"500":          replying(500, errorBody("INTERNAL_ERROR")),
			"reset":        failing(errReset),
			"timeout":      hanging,
			"202":          replying(202, "{}"),
			"malformed":    replying(200, "[]"),
			"429":          replying(429, errorBody("LIMIT_EXCEEDED")),
			"bodyless 429": replying(429, ""),
		} {
			t.Run(string(op)+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := inTurn(failure)
					var meta client.Meta
					policy := client.RetryPolicy{MaxAttempts: 4, InitialDelay: time.Second, Multiplier: 3, MaxDelay: 5 * time.Second}
					err := call(t.Context(), newClient(t, server, client.WithRetry(policy)), client.WithMeta(&meta))
					require.Error(t, err)
					attempts := server.attempts()
					require.Len(t, attempts, 4)
					assert.Equal(t, 4, meta.Attempts)
					for i, ceiling := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second} {
						wait := attempts[i+1].at.Sub(attempts[i].at)
						if name == "timeout" {
							wait -= client.DefaultRequestTimeout
						}
						assert.GreaterOrEqual(t, wait, time.Duration(0))
						assert.LessOrEqual(t, wait, ceiling)
						assert.Equal(t, attempts[0].body, attempts[i+1].body)
						assert.Equal(t, attempts[0].header, attempts[i+1].header)
					}
					assert.Contains(t, err.Error(), "no attempt is left")
				})
			})
		}
	}
}

func TestAnswersThatWillNotChangeAreNotRetried(t *testing.T) {
	for op, call := range retried() {
		for _, status := range []int{302, 400, 401, 403, 404, 409, 410, 422} {
			server := always(status, "")
			require.Error(t, call(t.Context(), newClient(t, server)))
			assert.Len(t, server.attempts(), 1, "%s %d", op, status)
		}
	}
}

func TestWithoutRetrySendsOnce(t *testing.T) {
	for op, call := range retried() {
		server := always(503, "")
		require.Error(t, call(t.Context(), newClient(t, server), client.WithoutRetry()))
		assert.Len(t, server.attempts(), 1, op)

		server = always(503, "")
		require.Error(t, call(t.Context(), newClient(t, server, client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))))
		assert.Len(t, server.attempts(), 1, op)
	}
}

func TestTheWaitIsDrawnFromTheWholeRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := always(503, "")
		c := newClient(t, server, client.WithRetry(client.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Second}))
		var low, high int
		for range 100 {
			before := time.Now()
			_, err := c.CommitReservation(t.Context(), "r-1", commitRequest)
			require.Error(t, err)
			if time.Since(before) < 500*time.Millisecond {
				low++
			} else {
				high++
			}
		}
		assert.Greater(t, low, 20)
		assert.Greater(t, high, 20)
	})
}

func TestRetryAfterIsAFloorThatIsNeverShortened(t *testing.T) {
	for name, status := range map[string]int{"throttled": 429, "unavailable": 503} {
		for header, floor := range map[string]time.Duration{"0": 0, "2": 2 * time.Second, "120": 2 * time.Minute, "3600": time.Hour} {
			t.Run(name+" "+header, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := inTurn(replying(status, "", "Retry-After", header), replying(200, commitOK))
					_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest)
					require.NoError(t, err)
					attempts := server.attempts()
					require.Len(t, attempts, 2)
					wait := attempts[1].at.Sub(attempts[0].at)
					assert.GreaterOrEqual(t, wait, floor, "never early")
					assert.LessOrEqual(t, wait, max(floor, 500*time.Millisecond), "above the maximum delay, not below the header")
				})
			})
		}
	}
}

func TestARetryAfterThatCannotBeHonouredIsHandedBack(t *testing.T) {
	for name, header := range map[string][]string{
		"date":        {"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"},
		"negative":    {"Retry-After", "-1"},
		"signed":      {"Retry-After", "+5"},
		"fractional":  {"Retry-After", "1.5"},
		"overflowing": {"Retry-After", "9223372037"},
		"repeated":    {"Retry-After", "1", "Retry-After", "1"},
		"too long":    {"Retry-After", "3601"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := always(429, errorBody("LIMIT_EXCEEDED"), header...)
				before := time.Now()
				_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest)
				assert.Equal(t, client.Throttled, client.OutcomeOf(err))
				assert.Len(t, server.attempts(), 1)
				assert.Zero(t, time.Since(before))
				assert.Contains(t, err.Error(), "Retry-After")
			})
		})
	}
}

func TestARetryThatWouldComeAfterTheDeadlineIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		server := always(429, errorBody("LIMIT_EXCEEDED"), "Retry-After", "10")
		before := time.Now()
		_, err := newClient(t, server).CommitReservation(ctx, "r-1", commitRequest)
		assert.Zero(t, time.Since(before), "fails now, not at the deadline")
		assert.ErrorIs(t, err, client.ErrLimitExceeded)
		assert.Contains(t, err.Error(), "context ends before")
		assert.Equal(t, client.Throttled, client.OutcomeOf(err))
		assert.Len(t, server.attempts(), 1)
	})
}

func TestNoAttemptStartsAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			deadline, _ := ctx.Deadline()
			server := always(503, "")
			_, err := newClient(t, server, client.WithRetry(client.RetryPolicy{MaxAttempts: 20, InitialDelay: time.Second})).
				CommitReservation(ctx, "r-1", commitRequest)
			cancel()
			assert.Equal(t, client.Transient, client.OutcomeOf(err))
			for _, attempt := range server.attempts() {
				assert.True(t, attempt.at.Before(deadline))
			}
		}
	})
}

func TestHugePolicyDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := always(503, "")
		policy := client.RetryPolicy{MaxAttempts: 200, InitialDelay: time.Hour, Multiplier: 1e300, MaxDelay: time.Minute}
		before := time.Now()
		_, err := newClient(t, server, client.WithRetry(policy)).CommitReservation(t.Context(), "r-1", commitRequest)
		require.Error(t, err)
		assert.Len(t, server.attempts(), 200)
		assert.LessOrEqual(t, time.Since(before), 199*time.Minute)
		assert.Greater(t, time.Since(before), 50*time.Minute, "waits near zero would mean an overflow")
	})
}

func TestACertificateThatDoesNotVerifyIsNotRetried(t *testing.T) {
	server := inTurn(failing(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}))
	_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest)
	assert.Equal(t, client.Transient, client.OutcomeOf(err))
	assert.Len(t, server.attempts(), 1)
}

// writerFunc is called for each line of a log.
type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// retryablehttp closes the idle connections of its client when it gives up;
// here that would take the connections of every other call.
func TestACallThatGivesUpLeavesThePoolAlone(t *testing.T) {
	var failing, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch failing.Load() {
		case 1:
			w.WriteHeader(503)
			return
		case 2:
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(429)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(commitOK))
	}))
	server.Start()
	defer server.Close()
	cancelAtRetry := func() {}
	c := liveClient(t, server.URL,
		client.WithLogger(slog.New(slog.NewTextHandler(writerFunc(func() { cancelAtRetry() }), nil))),
		client.WithRetry(client.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Nanosecond, MaxDelay: time.Nanosecond}))
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			connections.Add(1)
		}
	}})
	for i := range 10 {
		failing.Store(int32(i % 2))
		_, err := c.CommitReservation(ctx, "r-1", commitRequest)
		assert.Equal(t, i%2 == 1, err != nil)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancelAtRetry = cancel
	failing.Store(2)
	_, err := c.CommitReservation(canceled, "r-1", commitRequest)
	require.Equal(t, client.Canceled, client.OutcomeOf(err), "canceled while it waits for its retry")
	failing.Store(0)
	_, err = c.CommitReservation(ctx, "r-1", commitRequest)
	require.NoError(t, err)
	assert.EqualValues(t, 1, connections.Load(), "connections opened for all calls")
}
