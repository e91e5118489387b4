package mockserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// overBoth runs a test in memory and over the network.
func overBoth(t *testing.T, test func(t *testing.T, w *world, c *http.Client)) {
	options := []mockserver.Option{
		mockserver.WithVirtualTime(epoch),
		mockserver.WithTenant(mockserver.Tenant{ID: "acme", Keys: []string{"acme-key"}}),
		mockserver.WithBudget(plenty),
	}
	t.Run("in memory", func(t *testing.T) {
		s := mockserver.New(options...)
		test(t, &world{s, t, "acme-key"}, &http.Client{Transport: proving{t, s, s.Transport()}})
	})
	t.Run("over the network", func(t *testing.T) {
		s := mockserver.Start(t, options...)
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		test(t, &world{s, t, "acme-key"}, &http.Client{Transport: proving{t, s, transport}})
	})
}

func post(t *testing.T, w *world, c *http.Client, path, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequest("POST", w.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Cycles-API-Key", w.key)
	return c.Do(req)
}

func TestStatusFaultAppliesNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Operation: mockserver.CreateReservation, Status: 503})
		resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		r := w.read(resp)
		r.fails(503, gen.ErrorCodeInternalError)
		assert.Equal(t, r.header.Get("X-Request-Id"), r.str("request_id"))
		assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
		resp, err = post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		w.read(resp).ok()
	})
}

func TestResponseLostAfterApply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		// A connection that was used before is where net/http might send twice.
		resp, err := post(t, w, c, "/v1/reservations", reserveBody("warm", 1))
		require.NoError(t, err)
		w.read(resp).ok()
		id := w.Inject(mockserver.Fault{Operation: mockserver.CreateReservation, Kind: mockserver.FaultResponseLost})
		_, err = post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.EqualValues(t, 11, w.balance("tenant:acme").Reserved)
		got := w.Requests(mockserver.Match{IdempotencyKey: "k"})
		require.Len(t, got, 1)
		assert.True(t, got[0].Applied)
		assert.Zero(t, got[0].Status)
		assert.Equal(t, id, got[0].Fault)
		resp, err = post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		w.read(resp).ok()
		assert.EqualValues(t, 11, w.balance("tenant:acme").Reserved)
	})
}

func TestResetAppliesNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Kind: mockserver.FaultReset})
		_, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
	})
}

func TestThrottled(t *testing.T) {
	for name, c := range map[string]struct{ retryAfter, reset string }{
		"with Retry-After":       {"7", "1800000007"},
		"without":                {"", "1800000000"},
		"with a date instead":    {"Wed, 21 Oct 2026 07:28:00 GMT", "1800000000"},
		"with a negative number": {"-3", "1800000000"},
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, w *world, client *http.Client) {
				w.Inject(mockserver.Fault{Status: 429, RetryAfter: c.retryAfter})
				resp, err := post(t, w, client, "/v1/reservations", reserveBody("k", 10))
				require.NoError(t, err)
				r := w.read(resp)
				r.fails(429, gen.ErrorCodeLimitExceeded)
				assert.Equal(t, c.retryAfter, r.header.Get("Retry-After"))
				assert.Equal(t, "0", r.header.Get("X-RateLimit-Remaining"))
				assert.Equal(t, c.reset, r.header.Get("X-RateLimit-Reset"))
			})
		})
	}
}

func TestStatusAfterApply(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Status: 500, After: true})
		resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		w.read(resp).fails(500, gen.ErrorCodeInternalError)
		assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	})
}

func TestReplacedBody(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Body: "<html>gateway</html>", ContentType: "text/html"})
		resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		r := w.read(resp)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, "<html>gateway</html>", r.raw)
		assert.Equal(t, "text/html", r.header.Get("Content-Type"))
		assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	})
}

func TestTruncatedBody(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Kind: mockserver.FaultTruncate, Bytes: 20})
		resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Len(t, body, 20)
		assert.Greater(t, resp.ContentLength, int64(20))
		assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	})
}

func TestFaultsAreAddressed(t *testing.T) {
	w := acme(t, plenty)
	a, b := w.held("a", 10), w.held("b", 10)
	w.Inject(mockserver.Fault{Operation: mockserver.ExtendReservation, ReservationID: b, Nth: 2, Count: 2, Status: 500})
	statuses := func(id string) (out []int) {
		for i := range 5 {
			out = append(out, w.extend(id, string(rune('0'+i)), 10).status)
		}
		return out
	}
	assert.Equal(t, []int{200, 200, 200, 200, 200}, statuses(a))
	assert.Equal(t, []int{200, 500, 500, 200, 200}, statuses(b))
	assert.Equal(t, 200, w.get(b).status)
}

func TestAFaultWithoutEndUntilItIsWithdrawn(t *testing.T) {
	w := acme(t, plenty)
	id := w.Inject(mockserver.Fault{Count: -1, Status: 500})
	for range 3 {
		assert.Equal(t, 500, w.reserve("k", 10).status)
	}
	assert.True(t, w.Withdraw(id))
	assert.False(t, w.Withdraw(id))
	w.reserve("k", 10).ok()
}

func TestTheFaultInjectedFirstActsAndTheOtherIsUsedUp(t *testing.T) {
	w := acme(t, plenty)
	w.Inject(mockserver.Fault{Status: 500})
	w.Inject(mockserver.Fault{Status: 502, Count: 2})
	assert.Equal(t, 500, w.reserve("k", 10).status)
	assert.Equal(t, 502, w.reserve("k", 10).status)
	assert.Equal(t, 200, w.reserve("k", 10).status)
}

func TestFaultsThatCannotAct(t *testing.T) {
	w := acme(t)
	for name, f := range map[string]mockserver.Fault{
		"nothing to do":      {},
		"unknown operation":  {Operation: "extend", Status: 500},
		"unknown kind":       {Kind: "explode"},
		"status below 200":   {Status: 100},
		"status without one": {Kind: mockserver.FaultStatus},
		"negative delay":     {Status: 500, Delay: -1},
		"delay of nothing":   {Kind: mockserver.FaultDelay},
	} {
		t.Run(name, func(t *testing.T) { assert.Panics(t, func() { w.Inject(f) }) })
	}
}

func TestDelayInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mockserver.New()
		w := &world{s, t, mockserver.DefaultAPIKey}
		body := strings.ReplaceAll(reserveBody("k", 10), "acme", "demo")

		s.Inject(mockserver.Fault{Delay: 3 * time.Second})
		began := time.Now()
		resp, err := post(t, w, s.Client(), "/v1/reservations", body)
		require.NoError(t, err)
		w.read(resp).ok()
		assert.Equal(t, 3*time.Second, time.Since(began))

		// The caller gives up; what it asked for happens all the same.
		s.Inject(mockserver.Fault{Delay: 3 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "POST", w.URL()+"/v1/reservations", strings.NewReader(strings.Replace(body, `"k"`, `"k2"`, 1)))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Cycles-API-Key", w.key)
		_, err = s.Client().Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 4*time.Second, time.Since(began))
		balance := func() int64 {
			b, err := s.Balance(mockserver.DefaultScope, usd)
			require.NoError(t, err)
			return b.Reserved
		}
		assert.EqualValues(t, 10, balance())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 20, balance())
	})
}

func TestDelayInVirtualTimeEndsByCommand(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Delay: 3 * time.Second})
		done := make(chan error, 1)
		go func() {
			resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10))
			if err == nil {
				err = resp.Body.Close()
			}
			done <- err
		}()
		for waiting := false; !waiting; {
			waiting = w.Waiting() == 1
		}
		w.Advance(2999 * time.Millisecond)
		assert.Equal(t, 1, w.Waiting())
		w.Advance(time.Millisecond)
		require.NoError(t, <-done)
		got := w.Requests()
		require.Len(t, got, 1)
		assert.Equal(t, 3*time.Second, got[0].Answered.Sub(got[0].Received))
	})
}

func TestWhatACallerWhoGaveUpAskedForHappensAllTheSame(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		w.Inject(mockserver.Fault{Delay: 3 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			req, err := http.NewRequestWithContext(ctx, "POST", w.URL()+"/v1/reservations", strings.NewReader(reserveBody("k", 10)))
			if err == nil {
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-Cycles-API-Key", w.key)
				_, err = c.Do(req)
			}
			done <- err
		}()
		for w.Waiting() == 0 {
			runtime.Gosched()
		}
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		assert.Zero(t, w.balance("tenant:acme").Reserved)
		w.Advance(3 * time.Second)
		got, err := w.WaitForRequests(t.Context(), 1)
		require.NoError(t, err)
		assert.True(t, got[0].Applied)
		assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	})
}

func TestAFaultyRequestIsRememberedAsItWasSent(t *testing.T) {
	for name, f := range map[string]mockserver.Fault{
		"status": {Status: 503}, "reset": {Kind: mockserver.FaultReset}, "lost": {Kind: mockserver.FaultResponseLost},
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, w *world, c *http.Client) {
				w.Inject(f)
				if resp, err := post(t, w, c, "/v1/reservations", reserveBody("k", 10)); err == nil {
					require.NoError(t, resp.Body.Close())
				}
				got := w.Requests(mockserver.Match{IdempotencyKey: "k"})
				require.Len(t, got, 1)
				assert.Equal(t, reserveBody("k", 10), string(got[0].Body))
				assert.Equal(t, f.Status, got[0].Status)
			})
		})
	}
}

func TestCloseEndsWhatIsDelayed(t *testing.T) {
	s := mockserver.New(mockserver.WithVirtualTime(epoch))
	w := &world{s, t, mockserver.DefaultAPIKey}
	s.Inject(mockserver.Fault{Delay: time.Hour})
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err := post(t, w, s.Client(), "/v1/reservations", reserveBody("k", 10))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	for s.Waiting() == 0 {
	}
	s.Close()
	<-done
}

func TestACallerWhoHasGoneAlready(t *testing.T) {
	s := mockserver.New()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("gone"))
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL()+"/v1/balances", nil)
	require.NoError(t, err)
	_, err = s.Client().Do(req)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, s.Requests())
}
