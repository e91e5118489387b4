package settlement_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// childRole makes the test binary another process: it works, or it recovers,
// against the server and in the journal of its arguments, until it is killed.
const childRole = "CYCLES_SETTLEMENT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch role := os.Getenv(childRole); role {
	case "":
		os.Exit(m.Run())
	case "work", "recover":
		if err := child(role, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// Reservations of the crash tests live so long; work takes up to twice that, so
// that about half of it ends when its reservation is over.
const crashTTL = 30 * time.Millisecond

func child(role, url, dir string) error {
	c, err := crashClient(url, &announcer{next: http.DefaultTransport})
	if err != nil {
		return err
	}
	opts := []settlement.Option{settlement.WithJournal(dir), settlement.WithoutSync()}
	if role == "work" {
		// The other children have left nothing yet, and this one is to leave much.
		opts = append(opts, settlement.WithoutBackground())
	}
	s, err := settlement.New(c, opts...)
	if err != nil {
		return err
	}
	if role == "recover" {
		fmt.Println("ready")
		select {}
	}
	var workers sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		workers.Go(func() {
			for err == nil {
				if err := work(c, s); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	return <-errs
}

// announcer prints what was spent just before its request leaves, when its
// record is on disk by the settler's promise. A killed process does not take
// back what it has written to a pipe.
type announcer struct{ next http.RoundTripper }

func (a *announcer) RoundTrip(r *http.Request) (*http.Response, error) {
	if s, ok := r.Context().Value(announced{}).(string); ok && strings.HasSuffix(r.URL.Path, "/commit") {
		fmt.Println(s)
	}
	return a.next.RoundTrip(r)
}

type announced struct{}

// work spends under one reservation.
func work(c *client.Client, s *settlement.Settler) error {
	ctx := context.Background()
	noGrace := int64(0)
	req := gen.ReservationCreateRequest{
		Action: gen.Action{Kind: "k", Name: "n"}, Estimate: amount(100), GracePeriodMs: &noGrace,
	}
	created, err := c.CreateReservation(ctx, req)
	if err != nil {
		return err
	}
	time.Sleep(rand.N(2 * crashTTL))
	actual := 1 + rand.Int64N(1000)
	x, err := s.Begin(settlement.Spend{ReservationID: *created.ReservationID, Created: req, Commit: gen.CommitRequest{Actual: amount(actual)}})
	if err != nil {
		return err
	}
	line := fmt.Sprintln("spent", x.Result().IdempotencyKey, actual)
	_, _ = x.Settle(context.WithValue(ctx, announced{}, strings.TrimSpace(line)))
	return nil
}

func crashClient(url string, rt http.RoundTripper) (*client.Client, error) {
	tenant := mockserver.DefaultTenant
	return client.New(url, client.WithAPIKey(mockserver.DefaultAPIKey), client.WithSubject(gen.Subject{Tenant: &tenant}),
		client.WithHTTPClient(&http.Client{Transport: rt}))
}

// process is a child that runs until it is killed.
type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startProcess(t *testing.T, role, url, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], url, dir)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &process{cmd, bufio.NewReader(out)}
}

// killAfter waits for the child's first line, goes on for d, kills it and
// returns all that it said.
func (p *process) killAfter(t *testing.T, d time.Duration) []string {
	t.Helper()
	first, err := p.out.ReadString('\n')
	require.NoError(t, err, "the child does not work")
	time.Sleep(d) // in another process time is real
	require.NoError(t, p.cmd.Process.Kill())
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	_ = p.cmd.Wait()
	return strings.Split(strings.TrimSpace(first+string(rest)), "\n")
}

// killSpends kills processes that spend, and processes that recover, n times, at
// random points, and lets the last one finish. Every spend that was on disk, or
// had left, is in the ledger once.
func killSpends(t *testing.T, n int) {
	var spends, inDoubt, events int
	for round := range n {
		srv := mockserver.Start(t, mockserver.WithTenant(mockserver.Tenant{
			ID: mockserver.DefaultTenant, Keys: []string{mockserver.DefaultAPIKey},
			Policy: mockserver.Policy{DefaultTTL: crashTTL},
		}), mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Allocated: mockserver.DefaultAllocated}))
		// Answers take their time, before and after they are applied, so that a
		// random instant is likely to be within one.
		for i, op := range []mockserver.Operation{mockserver.CommitReservation, mockserver.CreateEvent} {
			srv.Inject(mockserver.Fault{Operation: op, Delay: 10 * time.Millisecond, After: (round+i)%2 == 0, Count: -1})
		}
		dir := t.TempDir()
		expected := map[string]int64{}
		for _, line := range startProcess(t, "work", srv.URL(), dir).killAfter(t, rand.N(120*time.Millisecond)) {
			note(t, expected, line)
		}
		left := noteJournal(t, expected, dir)
		if round%2 == 0 && left > 0 {
			startProcess(t, "recover", srv.URL(), dir).killAfter(t, rand.N(20*time.Millisecond))
		}

		c, err := crashClient(srv.URL(), http.DefaultTransport)
		require.NoError(t, err)
		s, err := settlement.New(c, settlement.WithJournal(dir), settlement.WithoutSync())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		require.NoError(t, s.Flush(ctx))
		cancel()
		require.NoError(t, s.Close(context.Background()))

		applied := map[string]int{}
		for _, r := range srv.Requests() {
			if r.Applied && (r.Operation == mockserver.CommitReservation || r.Operation == mockserver.CreateEvent) {
				applied[r.IdempotencyKey]++
				if r.Operation == mockserver.CreateEvent {
					events++
				}
			}
		}
		var sum int64
		for key, actual := range expected {
			sum += actual
			assert.Equal(t, 1, applied[key], "round %d: spend %s", round, key)
		}
		assert.Len(t, applied, len(expected), "round %d", round)
		b, err := srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
		require.NoError(t, err)
		assert.Equal(t, sum, b.Spent, "round %d: the ledger is the sum of the actuals", round)
		list, err := settlement.List(dir)
		require.NoError(t, err)
		assert.Empty(t, list, "round %d", round)
		srv.Close()
		spends += len(expected)
		inDoubt += left
	}
	t.Logf("%d kills, %d spends, %d of them pending at the kill, %d as events", n, spends, inDoubt, events)
	assert.Positive(t, inDoubt, "no kill hit a pending spend, so nothing was tested")
	assert.Positive(t, events)
}

func note(t *testing.T, expected map[string]int64, line string) {
	t.Helper()
	words := strings.Fields(line)
	require.Len(t, words, 3, line)
	actual, err := strconv.ParseInt(words[2], 10, 64)
	require.NoError(t, err)
	expected[words[1]] = actual
}

// noteJournal adds what the dead process has left on disk.
func noteJournal(t *testing.T, expected map[string]int64, dir string) (pending int) {
	t.Helper()
	list, err := settlement.List(dir)
	require.NoError(t, err)
	for _, e := range list {
		require.Equal(t, "pending", e.State, "%s: %s", filepath.Base(e.Path), e.Reason)
		expected[e.IdempotencyKey] = e.Actual.Amount
		pending++
	}
	return pending
}

func TestSpendsSurviveSIGKILLAtAnyPoint(t *testing.T) { killSpends(t, 20) }

func TestRecordIsOnDiskBeforeTheFirstRequestLeaves(t *testing.T) {
	w := newWorld(t)
	spend := w.reserve(42)
	var seen []any
	w.wire.watch(func(*http.Request) {
		record := w.onDisk(spend.ReservationID)
		seen = append(seen, record["mode"], record["reservation_id"], record["commit_body"].(map[string]any)["idempotency_key"])
	})
	result, err := w.begin(w.settler(), spend).Settle(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []any{"commit", spend.ReservationID, result.IdempotencyKey}, seen)
}

func TestTwoProcessesOnOneJournalSendEachRecordOnce(t *testing.T) {
	srv := mockserver.Start(t)
	c, err := crashClient(srv.URL(), http.DefaultTransport)
	require.NoError(t, err)
	w := &world{t: t, srv: srv, base: t.TempDir()}
	dir := filepath.Join(w.base, c.JournalIdentity().Fingerprint())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	const n = 100
	for i := range n {
		spend := w.reserve(1)
		record := w.recordFor(srv.URL(), spend, fmt.Sprint("key", i), "commit", time.Now())
		require.NoError(t, os.WriteFile(filepath.Join(dir, journal.Name(spend.ReservationID)), []byte(record), 0o600))
	}
	srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 5 * time.Millisecond, Count: -1})
	processes := []*process{startProcess(t, "recover", srv.URL(), w.base), startProcess(t, "recover", srv.URL(), w.base)}
	ctx, cancel := timeout(t, 30*time.Second)
	defer cancel()
	_, err = srv.WaitForRequests(ctx, n, mockserver.Match{Operation: mockserver.CommitReservation})
	require.NoError(t, err)
	for _, p := range processes {
		p.killAfter(t, 50*time.Millisecond) // time for a request too many
	}
	assert.Len(t, w.requests(mockserver.CommitReservation), n)
	assert.EqualValues(t, n, w.spent())
	list, err := settlement.List(w.base)
	require.NoError(t, err)
	assert.Empty(t, list)
}
