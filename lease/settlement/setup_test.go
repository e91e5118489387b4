package settlement_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

const (
	memoryURL = "http://budget.test"
	ttl       = 60 * time.Second
	grace     = 5 * time.Second
)

// world is a server in memory, a journal directory, and clients between them.
type world struct {
	t    testing.TB
	srv  *mockserver.Server
	base string
	wire *wire
}

func newWorld(t testing.TB, opts ...mockserver.Option) *world {
	srv := mockserver.New(opts...)
	w := &world{t: t, srv: srv, base: t.TempDir(), wire: borrowWire(t)}
	w.wire.next = srv.Transport()
	t.Cleanup(func() { returnWire(w.wire) })
	return w
}

// Making out a client's fingerprint is slow on purpose, so clients and the wire
// they hang on go from one test to the next.
var spareWires struct {
	mu  sync.Mutex
	all []*wire
}

func borrowWire(t testing.TB) *wire {
	t.Helper()
	spareWires.mu.Lock()
	defer spareWires.mu.Unlock()
	if last := len(spareWires.all) - 1; last >= 0 {
		w := spareWires.all[last]
		spareWires.all = spareWires.all[:last]
		return w
	}
	w := &wire{}
	w.client = newClient(t, w)
	return w
}

func returnWire(w *wire) {
	w.mu.Lock()
	w.next, w.intercept, w.onRequest, w.sent = nil, nil, nil, nil
	w.mu.Unlock()
	spareWires.mu.Lock()
	defer spareWires.mu.Unlock()
	spareWires.all = append(spareWires.all, w)
}

// wire passes requests on, unless a test takes them out.
type wire struct {
	client *client.Client

	mu   sync.Mutex
	next http.RoundTripper
	// intercept answers instead of the server when it returns something.
	intercept func(*http.Request) (*http.Response, error)
	// onRequest sees each request before it leaves.
	onRequest func(*http.Request)
	sent      []sentRequest
}

// sentRequest is a request as it left the client, whether it arrived or not.
type sentRequest struct {
	path, body string
	at         time.Time
}

// bodies of the requests to a path that ends so.
func (w *wire) bodies(suffix string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, s := range w.sent {
		if strings.HasSuffix(s.path, suffix) {
			all = append(all, s.body)
		}
	}
	return all
}

// times at which requests left.
func (w *wire) times() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []time.Time
	for _, s := range w.sent {
		all = append(all, s.at)
	}
	return all
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.sent = append(w.sent, sentRequest{r.URL.Path, string(body), time.Now()})
	next, intercept, onRequest := w.next, w.intercept, w.onRequest
	w.mu.Unlock()
	if onRequest != nil {
		onRequest(r)
	}
	if intercept != nil {
		if resp, err := intercept(r); resp != nil || err != nil {
			return resp, err
		}
	}
	return next.RoundTrip(r)
}

func (w *wire) set(intercept func(*http.Request) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.intercept = intercept
}

func (w *wire) watch(f func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onRequest = f
}

// answer makes an HTTP answer.
func answer(r *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}
}

var errDown = errors.New("connection refused")

func down(*http.Request) (*http.Response, error) { return nil, errDown }

// always gives every request the same answer.
func always(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) { return answer(r, status, body, header...), nil }
}

func refusal(code gen.ErrorCode) string {
	return fmt.Sprintf(`{"error":%q,"message":"no","request_id":"r"}`, code)
}

func (w *world) client(opts ...client.Option) *client.Client {
	w.t.Helper()
	if len(opts) == 0 {
		return w.wire.client
	}
	return newClient(w.t, w.wire, opts...)
}

func newClient(t testing.TB, rt http.RoundTripper, opts ...client.Option) *client.Client {
	t.Helper()
	tenant := mockserver.DefaultTenant
	opts = append([]client.Option{
		client.WithAPIKey(mockserver.DefaultAPIKey), client.WithSubject(gen.Subject{Tenant: &tenant}),
		client.WithHTTPClient(&http.Client{Transport: rt}),
	}, opts...)
	c, err := client.New(memoryURL, opts...)
	require.NoError(t, err)
	return c
}

// settler opens the world's journal. It is closed, without waiting for what is
// pending, when the test ends.
func (w *world) settler(opts ...settlement.Option) *settlement.Settler {
	w.t.Helper()
	return w.settlerOf(w.client(), opts...)
}

func (w *world) settlerOf(c *client.Client, opts ...settlement.Option) *settlement.Settler {
	w.t.Helper()
	opts = append([]settlement.Option{settlement.WithJournal(w.base), settlement.WithoutSync(), settlement.WithFlushTimeout(0)}, opts...)
	s, err := settlement.New(c, opts...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { stop(w.t, s) })
	return s
}

// stop ends a settler as the end of a process does: what is pending stays.
func stop(t testing.TB, s *settlement.Settler) {
	t.Helper()
	err := s.Close(context.Background())
	if left := new(settlement.LeftError); errors.As(err, &left) {
		err = left.Err
	}
	require.NoError(t, err)
}

func amount(n int64) gen.Amount { return gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: n} }

// reserve makes a reservation on the server and the spend under it.
func (w *world) reserve(actual int64) settlement.Spend {
	w.t.Helper()
	ms := ttl.Milliseconds()
	req := gen.ReservationCreateRequest{
		Action: gen.Action{Kind: "llm.completion", Name: "model"}, Estimate: amount(1000), TTLMs: &ms,
	}
	// Not through the wire, which tests take down.
	created, err := newClient(w.t, w.srv.Transport()).CreateReservation(context.Background(), req)
	require.NoError(w.t, err)
	return settlement.Spend{ReservationID: *created.ReservationID, Created: req, Commit: gen.CommitRequest{Actual: amount(actual)}}
}

func (w *world) begin(s *settlement.Settler, spend settlement.Spend) *settlement.Settlement {
	w.t.Helper()
	x, err := s.Begin(spend)
	require.NoError(w.t, err)
	return x
}

// unsettled is a spend whose first attempt has failed.
func (w *world) unsettled(s *settlement.Settler, spend settlement.Spend) *settlement.Settlement {
	w.t.Helper()
	x := w.begin(s, spend)
	_, err := x.Settle(context.Background())
	require.Error(w.t, err)
	return x
}

// spent is what the ledger has charged so far.
func (w *world) spent() int64 {
	w.t.Helper()
	b, err := w.srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
	require.NoError(w.t, err)
	return b.Spent
}

func (w *world) requests(op mockserver.Operation) []mockserver.Request {
	return w.srv.Requests(mockserver.Match{Operation: op})
}

// fingerprint of tenant demo at memoryURL, which TestKnownFingerprints checks
// the making of.
const fingerprint = "06d99bf9bf9e34be"

// dir is the directory of the identity that the world's clients have.
func (w *world) dir() string { return filepath.Join(w.base, fingerprint) }

// files lists the journal by the endings of its names.
func (w *world) files() map[string]int {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir())
	if errors.Is(err, os.ErrNotExist) {
		return map[string]int{}
	}
	require.NoError(w.t, err)
	endings := map[string]int{}
	for _, e := range entries {
		if e.Name() != "sweep.claim" { // a sweep is just looking
			endings[filepath.Ext(e.Name())]++
		}
	}
	return endings
}

// onDisk reads the record of a reservation as any JSON reader would.
func (w *world) onDisk(id string) map[string]any {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir(), journal.Name(id)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(w.t, err)
	var record map[string]any
	require.NoError(w.t, json.Unmarshal(data, &record))
	return record
}

// leave lays a record down as another process left it.
func (w *world) leave(name, content string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(w.dir(), 0o700))
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir(), name), []byte(content), 0o600))
}

// record is what another process writes about a spend.
func (w *world) record(spend settlement.Spend, key, mode string, at time.Time) string {
	w.t.Helper()
	return w.recordFor(memoryURL, spend, key, mode, at)
}

func (w *world) recordFor(url string, spend settlement.Spend, key, mode string, at time.Time) string {
	w.t.Helper()
	content, err := json.Marshal(map[string]any{
		"version": 1, "reservation_id": spend.ReservationID, "base_url": url, "mode": mode,
		"commit_body": map[string]any{"idempotency_key": key, "actual": spend.Commit.Actual},
		"event_fallback_body": map[string]any{
			"idempotency_key": key, "subject": map[string]any{"tenant": mockserver.DefaultTenant},
			"action": spend.Created.Action, "actual": spend.Commit.Actual,
		},
		"recorded_at_ms": at.UnixMilli(), "not_before_ms": nil,
	})
	require.NoError(w.t, err)
	return string(content)
}

func (w *world) flush(s *settlement.Settler, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return s.Flush(ctx)
}

func sameJSON(t testing.TB, want, got []byte) {
	t.Helper()
	a, err := strictjson.Canonical(want)
	require.NoError(t, err)
	b, err := strictjson.Canonical(got)
	require.NoError(t, err)
	assert.Equal(t, string(a), string(b))
}

// notes collects what the settler tells its owner.
type notes struct {
	mu  sync.Mutex
	all []settlement.Result
}

func (n *notes) option() settlement.Option {
	return settlement.WithNotify(func(r settlement.Result) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all = append(n.all, r)
	})
}

func (n *notes) results() []settlement.Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func (n *notes) dispositions() []settlement.Disposition {
	var all []settlement.Disposition
	for _, r := range n.results() {
		all = append(all, r.Disposition)
	}
	return all
}

func timeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
