package client_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

// The server answers the first request of a connection, reads the second and
// drops the connection: net/http must not send it again behind our back.
func TestExtendOnAReusedConnectionThatDiesAfterTheServerReadItIsSentOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	var read, connections atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := 1; ; n++ {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					if read.Add(1) == 2 {
						return
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 74\r\n\r\n"+extendOK)
				}
			}()
		}
	}()
	require.Len(t, extendOK, 74)

	c := liveClient(t, "http://"+listener.Addr().String())
	_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest)
	require.NoError(t, err)

	var meta client.Meta
	_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
	require.Equal(t, client.Transient, client.OutcomeOf(err), "%v", err)
	assert.Equal(t, 1, meta.Attempts)
	assert.Zero(t, meta.Status)
	assert.EqualValues(t, 2, read.Load(), "requests the server read")
	assert.EqualValues(t, 1, connections.Load())
}

func TestRedirectIsRefusedAndTheKeyDoesNotLeave(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Int32
		origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", other.URL+r.URL.Path)
			w.WriteHeader(status)
		}))
		follow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		c := liveClient(t, origin.URL, client.WithHTTPClient(follow))

		_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest)
		var refused *client.Error
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, status, refused.Status)
		assert.Equal(t, client.Unrecognized, client.OutcomeOf(err))
		_, err = c.CommitReservation(t.Context(), "r-1", commitRequest)
		assert.Equal(t, client.Unrecognized, client.OutcomeOf(err))
		_, err = c.GetReservation(t.Context(), "r-1")
		assert.Equal(t, client.Unrecognized, client.OutcomeOf(err))
		assert.EqualValues(t, 3, asked.Load(), "a refused redirect is not retried")
		c.CloseIdleConnections()
		origin.Close()
	}
	assert.Zero(t, strayed.Load(), "requests that reached the other host")
}

func TestAnswersToExtend(t *testing.T) {
	const expires = `"expires_at_ms":1700000060000`
	long := `{"status":"ACTIVE",` + expires + `,"x":"` + strings.Repeat("y", 20<<20) + `"}`
	for _, tc := range []struct {
		name   string
		status int
		body   string
		header []string
		want   client.Outcome
	}{
		{"proved", 200, extendOK, nil, client.Success},
		{"without remaining_ttl_ms", 200, `{"status":"ACTIVE",` + expires + `}`, nil, client.Success},
		{"integer spelt 6e4", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":6e4}`, nil, client.Success},
		{"integer spelt 60000.0", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":60000.0}`, nil, client.Success},
		{"charset parameter", 200, extendOK, []string{"Content-Type", "application/json; charset=UTF-8"}, client.Success},
		{"bad rate-limit headers", 200, extendOK, []string{"X-RateLimit-Remaining", "many", "X-RateLimit-Reset", "1.5"}, client.Success},
		{"bad trace header", 200, extendOK, []string{"X-Cycles-Trace-Id", "ZZ"}, client.Success},
		{"bad retry-after on a success", 200, extendOK, []string{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}, client.Success},

		{"html 200", 200, "<html>ok</html>", []string{"Content-Type", "text/html"}, client.Ambiguous},
		{"html 200 that calls itself JSON", 200, "<html>ok</html>", nil, client.Ambiguous},
		{"JSON that calls itself html", 200, extendOK, []string{"Content-Type", "text/html"}, client.Ambiguous},
		{"problem+json", 200, extendOK, []string{"Content-Type", "application/problem+json"}, client.Ambiguous},
		{"no content type", 200, extendOK, []string{"Content-Type", ""}, client.Ambiguous},
		{"202", 202, extendOK, nil, client.Ambiguous},
		{"201", 201, extendOK, nil, client.Ambiguous},
		{"204", 204, "", nil, client.Ambiguous},
		{"empty", 200, "", nil, client.Ambiguous},
		{"null", 200, "null", nil, client.Ambiguous},
		{"array", 200, "[]", nil, client.Ambiguous},
		{"string", 200, `"ACTIVE"`, nil, client.Ambiguous},
		{"number", 200, `1`, nil, client.Ambiguous},
		{"empty object", 200, "{}", nil, client.Ambiguous},
		{"truncated", 200, extendOK[:40], nil, client.Ambiguous},
		{"trailing bytes", 200, extendOK + "x", nil, client.Ambiguous},
		{"second document", 200, extendOK + extendOK, nil, client.Ambiguous},
		{"byte order mark", 200, "\ufeff" + extendOK, nil, client.Ambiguous},
		{"duplicate key", 200, `{"status":"ACTIVE","status":"ACTIVE",` + expires + `}`, nil, client.Ambiguous},
		{"escaped duplicate key", 200, `{"status":"ACTIVE","\u0073tatus":"ACTIVE",` + expires + `}`, nil, client.Ambiguous},
		{"wrong-case keys", 200, `{"Status":"ACTIVE","Expires_At_Ms":1}`, nil, client.Ambiguous},
		{"wrong-case key beside the right one", 200, `{"status":"ACTIVE","Status":"ACTIVE",` + expires + `}`, nil, client.Ambiguous},
		{"another status", 200, `{"status":"COMMITTED",` + expires + `}`, nil, client.Ambiguous},
		{"null status", 200, `{"status":null,` + expires + `}`, nil, client.Ambiguous},
		{"null expiry", 200, `{"status":"ACTIVE","expires_at_ms":null}`, nil, client.Ambiguous},
		{"expiry as text", 200, `{"status":"ACTIVE","expires_at_ms":"1"}`, nil, client.Ambiguous},
		{"remaining null", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":null}`, nil, client.Ambiguous},
		{"remaining 1.5", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":1.5}`, nil, client.Ambiguous},
		{"remaining 2^63", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":9223372036854775808}`, nil, client.Ambiguous},
		{"remaining 1e400000000", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":1e400000000}`, nil, client.Ambiguous},
		{"remaining negative", 200, `{"status":"ACTIVE",` + expires + `,"remaining_ttl_ms":-1}`, nil, client.Ambiguous},
		{"unknown member", 200, `{"status":"ACTIVE",` + expires + `,"bonus":1}`, nil, client.Ambiguous},
		{"unknown member in a balance", 200, `{"status":"ACTIVE",` + expires + `,"balances":[{"scope":"a","scope_path":"a","remaining":{"unit":"TOKENS","amount":1},"x":1}]}`, nil, client.Ambiguous},
		{"deny_detail where it is not published", 200, `{"status":"ACTIVE",` + expires + `,"deny_detail":{}}`, nil, client.Ambiguous},
		{"invalid UTF-8", 200, "{\"status\":\"ACTIVE\"," + expires + ",\"\xff\":1}", nil, client.Ambiguous},
		{"20 MiB", 200, long, nil, client.Ambiguous},
		{"deep nesting", 200, `{"status":` + strings.Repeat("[", 100_000), nil, client.Ambiguous},

		{"html 302", 302, "<html>moved</html>", []string{"Content-Type", "text/html", "Location", "http://elsewhere.test/"}, client.Unrecognized},
		{"html 404", 404, "<html>gone</html>", []string{"Content-Type", "text/html"}, client.Unrecognized},
		{"html 410", 410, "<html>gone</html>", []string{"Content-Type", "text/html"}, client.Expired},
		{"html 401", 401, "<html>who?</html>", []string{"Content-Type", "text/html"}, client.Unauthorized},
		{"html 429", 429, "<html>slow</html>", []string{"Content-Type", "text/html"}, client.Throttled},
		{"html 500", 500, "<html>oops</html>", []string{"Content-Type", "text/html"}, client.Transient},
		{"html 503", 503, "<html>later</html>", []string{"Content-Type", "text/html"}, client.Transient},
		{"20 MiB of 409", 409, long, nil, client.Unrecognized},
		{"a success body with a 409", 409, extendOK, nil, client.Unrecognized},
		{"finalized", 409, errorBody("RESERVATION_FINALIZED"), nil, client.Finalized},
		{"code twice", 409, `{"error":"NOT_FOUND","error":"RESERVATION_FINALIZED","message":"","request_id":""}`, nil, client.Unrecognized},
		{"status 600", 600, "", nil, client.Unrecognized},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := always(tc.status, tc.body, tc.header...)
			var meta client.Meta
			answer, err := newClient(t, server).ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))

			assert.Equal(t, tc.want, client.OutcomeOf(err), "%v", err)
			assert.Equal(t, tc.status, meta.Status)
			assert.Equal(t, "req-1", meta.RequestID)
			assert.Len(t, server.attempts(), 1)
			assert.NotEmpty(t, meta.IdempotencyKey)
			if tc.want == client.Success {
				require.NoError(t, err)
				assert.EqualValues(t, int64(1700000060000), answer.ExpiresAtMs)
				return
			}
			require.Error(t, err)
			assert.Nil(t, answer)
			switch e := err.(type) {
			case *client.Error:
				assert.GreaterOrEqual(t, tc.status, 300)
				assert.Equal(t, tc.status, e.Status)
				assert.Equal(t, meta.IdempotencyKey, e.IdempotencyKey)
				assert.Equal(t, "r-1", e.ReservationID)
			case *client.ResponseError:
				assert.Less(t, tc.status, 300)
				assert.Equal(t, tc.status, e.Status)
				assert.Equal(t, meta.IdempotencyKey, e.IdempotencyKey)
				assert.LessOrEqual(t, len(e.Excerpt()), 512)
				assert.True(t, strings.HasPrefix(tc.body, string(e.Excerpt())) || strings.Contains(tc.name, "UTF-8"))
				assert.NotEmpty(t, e.Reason)
			default:
				t.Fatalf("unexpected type %T", err)
			}
		})
	}
}

func TestTheReasonNamesThePlaceThatIsWrongAndNotWhatStandsThere(t *testing.T) {
	const body = `{"status":"ACTIVE","expires_at_ms":1,"balances":[{"scope":"a","scope_path":"a","remaining":{"unit":"TOKENS","amount":"confidential"}}]}`
	_, err := newClient(t, always(200, body)).ExtendReservation(t.Context(), "r-1", extendRequest)
	var unproved *client.ResponseError
	require.ErrorAs(t, err, &unproved)
	assert.Contains(t, unproved.Reason, "balances[].remaining.amount")
	assert.NotContains(t, err.Error(), "confidential")
	assert.Contains(t, string(unproved.Excerpt()), "confidential", "a person can look into it")
}

func TestBadHeadersOfAProvedAnswerAreAbsent(t *testing.T) {
	extend := func(header ...string) client.Meta {
		var meta client.Meta
		_, err := newClient(t, always(200, extendOK, header...)).
			ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
		require.NoError(t, err)
		return meta
	}
	meta := extend("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1700000000",
		"X-Cycles-Trace-Id", "4bf92f3577b34da6a3ce929d0e0e4736", "X-Cycles-Tenant", "acme")
	assert.Equal(t, client.RateLimitValue{Value: 0, OK: true}, meta.RateLimitRemaining, "zero is not absence")
	assert.Equal(t, client.RateLimitValue{Value: 1700000000, OK: true}, meta.RateLimitReset)
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", meta.TraceID)
	assert.Equal(t, "acme", meta.Tenant)

	assert.Equal(t, client.RateLimitValue{Value: -1, OK: true}, extend("X-RateLimit-Remaining", "-1").RateLimitRemaining)
	for _, bad := range []string{"", "x", "+1", "1.5", "1e3", "9223372036854775808", " "} {
		assert.Zero(t, extend("X-RateLimit-Remaining", bad).RateLimitRemaining, "%q", bad)
	}
	assert.Zero(t, extend("X-RateLimit-Remaining", "1", "X-RateLimit-Remaining", "1").RateLimitRemaining, "repeated")
	for _, bad := range []string{"4BF92F3577B34DA6A3CE929D0E0E4736", "4bf92f", "4bf92f3577b34da6a3ce929d0e0e47360"} {
		assert.Empty(t, extend("X-Cycles-Trace-Id", bad).TraceID)
	}
}

func TestExtendNeverSendsTheIdempotencyHeader(t *testing.T) {
	server := always(200, extendOK)
	c := newClient(t, server)
	_, err := c.ExtendReservation(t.Context(), "r/1 é?#%2e", extendRequest)
	require.NoError(t, err)
	got := server.attempts()[0]
	assert.Equal(t, "/v1/reservations/r%2F1%20%C3%A9%3F%23%252e/extend", got.path)
	assert.Equal(t, "POST", got.method)
	assert.NotContains(t, got.header, "X-Idempotency-Key")
	assert.NotContains(t, got.header, "Idempotency-Key")
	assert.Equal(t, []string{apiKey}, got.header["X-Cycles-Api-Key"])
	assert.NotContains(t, got.header, "X-Admin-Api-Key")
	assert.Equal(t, []string{"application/json"}, got.header["Content-Type"])
}
