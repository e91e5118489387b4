package mockserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

const usd = gen.UnitEnumUSDMicrocents

// epoch is where virtual time starts in these tests.
var epoch = time.UnixMilli(1_800_000_000_000)

// world is a server with somebody who talks to it.
type world struct {
	*mockserver.Server
	t   testing.TB
	key string
}

// newWorld is a server in virtual time, reached in memory.
func newWorld(t testing.TB, opts ...mockserver.Option) *world {
	t.Helper()
	s, err := mockserver.Open(append([]mockserver.Option{mockserver.WithVirtualTime(epoch)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return &world{s, t, mockserver.DefaultAPIKey}
}

// acme is a server whose only tenant has these budgets. The key is "acme-key".
func acme(t testing.TB, budgets ...mockserver.Budget) *world {
	t.Helper()
	return acmeWith(t, mockserver.Policy{}, budgets...)
}

func acmeWith(t testing.TB, p mockserver.Policy, budgets ...mockserver.Budget) *world {
	t.Helper()
	opts := []mockserver.Option{mockserver.WithTenant(mockserver.Tenant{ID: "acme", Keys: []string{"acme-key"}, Policy: p})}
	for _, b := range budgets {
		opts = append(opts, mockserver.WithBudget(b))
	}
	w := newWorld(t, opts...)
	w.key = "acme-key"
	return w
}

// as is the same server for the holder of another key.
func (w *world) as(key string) *world { return &world{w.Server, w.t, key} }

// reply is an answer.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	raw    string
	doc    map[string]any
}

// call sends one request. header is a list of names and values.
func (w *world) call(method, path, body string, header ...string) *reply {
	w.t.Helper()
	resp, err := w.send(method, path, body, header...)
	require.NoError(w.t, err)
	return w.read(resp)
}

func (w *world) send(method, path, body string, header ...string) (*http.Response, error) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.URL()+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.key != "" {
		req.Header.Set("X-Cycles-API-Key", w.key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Del(header[i])
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	client := http.Client{
		Transport:     proving{w.t, w.Server, w.Transport()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client.Do(req)
}

func (w *world) read(resp *http.Response) *reply {
	w.t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	out := &reply{t: w.t, status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	d := json.NewDecoder(strings.NewReader(out.raw))
	d.UseNumber()
	_ = d.Decode(&out.doc)
	return out
}

// at walks into the answer: "balances.0.remaining.amount". It is nil where
// there is nothing.
func (r *reply) at(path string) any {
	var v any = r.doc
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func (r *reply) int(path string) int64 {
	r.t.Helper()
	n, ok := r.at(path).(json.Number)
	require.True(r.t, ok, "%s is not a number in %s", path, r.raw)
	i, err := n.Int64()
	require.NoError(r.t, err)
	return i
}

func (r *reply) str(path string) string {
	r.t.Helper()
	s, ok := r.at(path).(string)
	require.True(r.t, ok, "%s is not a string in %s", path, r.raw)
	return s
}

func (r *reply) ok() *reply {
	r.t.Helper()
	require.Equal(r.t, http.StatusOK, r.status, r.raw)
	return r
}

// fails checks the status and the error code.
func (r *reply) fails(status int, code gen.ErrorCode) *reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, r.raw)
	require.Equal(r.t, string(code), r.str("error"), r.raw)
	return r
}

// The requests of these tests, with what each test wants to vary.

func reserveBody(key string, amount int64, extra ...string) string {
	return spendBody(key, "estimate", `{"tenant":"acme"}`, amount, extra...)
}

// spendBody has "estimate" or "actual" as what.
func spendBody(key, what, subject string, amount int64, extra ...string) string {
	return fmt.Sprintf(`{"idempotency_key":%q,"subject":%s,"action":{"kind":"llm.completion","name":"m"},%q:{"unit":"USD_MICROCENTS","amount":%d}%s}`,
		key, subject, what, amount, members(extra))
}

func members(extra []string) string {
	out := ""
	for _, e := range extra {
		out += "," + e
	}
	return out
}

func commitBody(key string, amount int64, extra ...string) string {
	return fmt.Sprintf(`{"idempotency_key":%q,"actual":{"unit":"USD_MICROCENTS","amount":%d}%s}`, key, amount, members(extra))
}

func extendBody(key string, ms int64) string {
	return fmt.Sprintf(`{"idempotency_key":%q,"extend_by_ms":%d}`, key, ms)
}

func releaseBody(key string) string { return fmt.Sprintf(`{"idempotency_key":%q}`, key) }

func (w *world) reserve(key string, amount int64, extra ...string) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/reservations", reserveBody(key, amount, extra...))
}

// held reserves and returns the id.
func (w *world) held(key string, amount int64, extra ...string) string {
	w.t.Helper()
	return w.reserve(key, amount, extra...).ok().str("reservation_id")
}

func (w *world) commit(id, key string, amount int64) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/reservations/"+id+"/commit", commitBody(key, amount))
}

func (w *world) release(id, key string) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/reservations/"+id+"/release", releaseBody(key))
}

func (w *world) extend(id, key string, ms int64) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/reservations/"+id+"/extend", extendBody(key, ms))
}

func (w *world) get(id string) *reply {
	w.t.Helper()
	return w.call("GET", "/v1/reservations/"+id, "")
}

// balance reads a budget and checks the invariant.
func (w *world) balance(scope string) mockserver.Balance {
	w.t.Helper()
	b, err := w.Balance(scope, usd)
	require.NoError(w.t, err)
	require.Equal(w.t, b.Allocated-b.Spent-b.Reserved-b.Debt, b.Remaining)
	return b
}
