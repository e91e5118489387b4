package client_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

const (
	baseURL  = "http://cycles.test"
	apiKey   = "cyc_live_secret-tenant-key"
	adminKey = "admin-secret-operator-key"
)

// serve is a server without sockets.
type serve func(*http.Request) (*http.Response, error)

func (s serve) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

// seen is one attempt as a server got it.
type seen struct {
	at     time.Time
	method string
	path   string
	query  string
	header http.Header
	body   string
}

// recorder keeps the attempts and lets a test answer the n-th (from 1).
type recorder struct {
	answer func(n int, req *http.Request) (*http.Response, error)

	mu   sync.Mutex
	list []seen
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	r.mu.Lock()
	r.list = append(r.list, seen{time.Now(), req.Method, req.URL.EscapedPath(), req.URL.RawQuery, req.Header.Clone(), string(body)})
	n := len(r.list)
	r.mu.Unlock()
	return r.answer(n, req)
}

func (r *recorder) attempts() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen(nil), r.list...)
}

// always answers every attempt the same way.
func always(status int, body string, header ...string) *recorder {
	return &recorder{answer: func(int, *http.Request) (*http.Response, error) { return reply(status, body, header...), nil }}
}

// inTurn answers the n-th attempt with the n-th step and repeats the last.
func inTurn(steps ...func(*http.Request) (*http.Response, error)) *recorder {
	return &recorder{answer: func(n int, req *http.Request) (*http.Response, error) {
		return steps[min(n, len(steps))-1](req)
	}}
}

func replying(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return reply(status, body, header...), nil }
}

func failing(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// hanging never answers; it ends with the attempt's context, as net/http does.
func hanging(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// reply makes a JSON answer. header is name, value, name, value; an empty value
// removes the header.
func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"req-1"}}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			h.Del(header[i])
			continue
		}
		h.Add(header[i], header[i+1])
	}
	if values := h["Content-Type"]; len(values) == 2 {
		h["Content-Type"] = values[1:]
	}
	return &http.Response{
		StatusCode: status, Header: h, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func newClient(t testing.TB, rt http.RoundTripper, opts ...client.Option) *client.Client {
	t.Helper()
	opts = append([]client.Option{
		client.WithAPIKey(apiKey), client.WithHTTPClient(&http.Client{Transport: rt}),
	}, opts...)
	c, err := client.New(baseURL, opts...)
	require.NoError(t, err)
	return c
}

// liveClient is for servers on loopback, which may be slow on a busy machine.
func liveClient(t testing.TB, url string, opts ...client.Option) *client.Client {
	t.Helper()
	opts = append([]client.Option{client.WithAPIKey(apiKey), client.WithRequestTimeout(5 * time.Minute)}, opts...)
	c, err := client.New(url, opts...)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// slowBody sleeps before its first byte.
type slowBody struct {
	wait time.Duration
	io.Reader
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.wait > 0 {
		time.Sleep(b.wait)
		b.wait = 0
	}
	return b.Reader.Read(p)
}

func (b *slowBody) Close() error { return nil }

// stuckBody gives its bytes and then blocks until the attempt's context ends.
type stuckBody struct {
	bytes.Buffer
	done <-chan struct{}
}

func (b *stuckBody) Read(p []byte) (int, error) {
	if b.Len() > 0 {
		return b.Buffer.Read(p)
	}
	<-b.done
	return 0, io.ErrUnexpectedEOF
}

func (b *stuckBody) Close() error { return nil }

func ptr[T any](v T) *T { return &v }

var (
	extendRequest = gen.ReservationExtendRequest{ExtendByMs: 60_000}
	commitRequest = gen.CommitRequest{Actual: gen.Amount{Unit: gen.UnitEnumTokens, Amount: 7}}
	createRequest = gen.ReservationCreateRequest{
		Subject:  gen.Subject{Tenant: ptr("acme")},
		Action:   gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"},
		Estimate: gen.Amount{Unit: gen.UnitEnumTokens, Amount: 10},
	}
	balanceParams = gen.GetBalancesParams{Tenant: ptr("acme")}
)

const (
	extendOK  = `{"status":"ACTIVE","expires_at_ms":1700000060000,"remaining_ttl_ms":60000}`
	commitOK  = `{"status":"COMMITTED","charged":{"unit":"TOKENS","amount":7}}`
	releaseOK = `{"status":"RELEASED","released":{"unit":"TOKENS","amount":10}}`
	createOK  = `{"decision":"ALLOW","reservation_id":"r-1","affected_scopes":["tenant:acme"],` +
		`"expires_at_ms":1700000060000,"remaining_ttl_ms":60000,"scope_path":"tenant:acme","reserved":{"unit":"TOKENS","amount":10}}`
	balancesOK = `{"balances":[],"has_more":false}`
)

func errorBody(code string) string {
	return `{"error":"` + code + `","message":"no","request_id":"req-body","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`
}

func sortedQuery(query string) string {
	parts := strings.Split(query, "&")
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

func gzipOfSpaces(n int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(strings.Repeat(" ", n)))
	w.Close()
	return out.Bytes()
}
