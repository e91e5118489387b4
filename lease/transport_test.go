package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// wire is a server in memory, scripted by a function. It runs in the goroutine
// of the call, so that time.Sleep in a bubble is latency.
type wire struct {
	handle func(*wireCall) *http.Response

	mu    sync.Mutex
	calls []*wireCall
}

// wireCall is one request as the server read it.
type wireCall struct {
	ctx  context.Context
	op   string // create, extend, commit, release
	id   string
	at   time.Time
	body map[string]any
	raw  string
	// deaf answers although the caller has given up.
	deaf bool
}

func (c *wireCall) key() string { return c.body["idempotency_key"].(string) }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	c := &wireCall{ctx: r.Context(), at: time.Now()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // v1/reservations[/id/op]
	if c.op = "create"; len(parts) == 4 {
		c.id, c.op = parts[2], parts[3]
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.raw = string(raw)
	if err := json.Unmarshal(raw, &c.body); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.calls = append(w.calls, c)
	w.mu.Unlock()
	resp := w.handle(c)
	if err := r.Context().Err(); err != nil && !c.deaf {
		return nil, err
	}
	if resp == nil {
		return nil, io.ErrUnexpectedEOF
	}
	resp.Request = r
	return resp, nil
}

// sent are the calls of one operation so far.
func (w *wire) sent(op string) []*wireCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	var of []*wireCall
	for _, c := range w.calls {
		if c.op == op {
			of = append(of, c)
		}
	}
	return of
}

// hang is a server that does not answer; the attempt's bound ends it.
func (c *wireCall) hang() *http.Response {
	<-c.ctx.Done()
	return nil
}

func reply(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func replyRefused(status int, code gen.ErrorCode) *http.Response {
	return reply(status, fmt.Sprintf(`{"error":%q,"message":"no","request_id":"r"}`, code))
}

const epochMs = int64(1_700_000_000_000)

func replyCreated(id string, remaining int64) *http.Response {
	return reply(200, fmt.Sprintf(`{"decision":"ALLOW","reservation_id":%q,"affected_scopes":["tenant:acme"],"expires_at_ms":%d,"remaining_ttl_ms":%d}`,
		id, epochMs, remaining))
}

func replyCreatedLegacy(id string) *http.Response {
	return reply(200, fmt.Sprintf(`{"decision":"ALLOW","reservation_id":%q,"affected_scopes":["tenant:acme"],"expires_at_ms":%d}`, id, epochMs))
}

func replyExtended(remaining int64) *http.Response {
	return reply(200, fmt.Sprintf(`{"status":"ACTIVE","expires_at_ms":%d,"remaining_ttl_ms":%d}`, epochMs, remaining))
}

func replyExtendedLegacy(expiresAt int64) *http.Response {
	return reply(200, fmt.Sprintf(`{"status":"ACTIVE","expires_at_ms":%d}`, expiresAt))
}

func replyCommitted(amount int64) *http.Response {
	return reply(200, fmt.Sprintf(`{"status":"COMMITTED","charged":{"unit":"TOKENS","amount":%d}}`, amount))
}

func replyReleased() *http.Response {
	return reply(200, `{"status":"RELEASED","released":{"unit":"TOKENS","amount":100}}`)
}

func tokens(n int64) gen.Amount { return gen.Amount{Unit: gen.UnitEnumTokens, Amount: n} }

func reserve(ttl int64) gen.ReservationCreateRequest {
	tenant := "acme"
	return gen.ReservationCreateRequest{
		Subject: gen.Subject{Tenant: &tenant}, Action: gen.Action{Kind: "llm.completion", Name: "m"},
		Estimate: tokens(100), TTLMs: &ttl,
	}
}

func newClient(t testing.TB, rt http.RoundTripper, opts ...client.Option) *client.Client {
	t.Helper()
	opts = append([]client.Option{client.WithAPIKey("cyc_live_test"), client.WithHTTPClient(&http.Client{Transport: rt})}, opts...)
	c, err := client.New("http://budget.test", opts...)
	require.NoError(t, err)
	return c
}

// manage makes a manager over w that is closed at the end of the test. Commits
// that a test leaves pending are no failure of the close.
func manage(t testing.TB, w http.RoundTripper, opts ...Option) *Manager {
	t.Helper()
	m, err := NewManager(newClient(t, w), opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := m.Close(context.Background()); !errors.As(err, new(*settlement.LeftError)) {
			require.NoError(t, err)
		}
	})
	return m
}

func acquire(t testing.TB, m *Manager, ttl int64) *Lease {
	t.Helper()
	l, err := m.Acquire(context.Background(), reserve(ttl))
	require.NoError(t, err)
	return l
}
