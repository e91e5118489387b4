package lease

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// Each benchmark of many leases also measures perLease, the manager everybody
// writes first: one goroutine with one timer for each lease.

const manyLeases = 100_000

// canned answers every extend with the same bytes at once, and notes when each
// reservation's first one arrived.
type canned struct {
	arrived []atomic.Int64 // Unix nanoseconds, by the number in the reservation's id
	first   atomic.Int64
}

const cannedAnswer = `{"status":"ACTIVE","expires_at_ms":1700000000000,"remaining_ttl_ms":60000}`

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.arrived != nil {
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/reservations/"), "/extend")
		if n, err := strconv.Atoi(id); err == nil && c.arrived[n].CompareAndSwap(0, time.Now().UnixNano()) {
			c.first.Add(1)
		}
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(cannedAnswer)), ContentLength: int64(len(cannedAnswer)), Request: r,
	}, nil
}

// reserved makes hand-overs of n reservations. They share what they can, so that
// a GC has little to do for them.
func reserved(n int) func(i int, received time.Time) Handover {
	created := make([]gen.ReservationCreateResponse, n)
	ids := make([]string, n)
	request, scopes, expiry, remaining := reserve(60_000), []string{"tenant:acme"}, ptr(epochMs), ptr(int64(60_000))
	for i := range created {
		ids[i] = strconv.Itoa(i)
		created[i] = gen.ReservationCreateResponse{
			Decision: gen.DecisionEnumAllow, ReservationID: &ids[i], AffectedScopes: scopes,
			ExpiresAtMs: expiry, RemainingTTLMs: remaining,
		}
	}
	return func(i int, received time.Time) Handover {
		return Handover{Request: request, Created: &created[i], Meta: client.Meta{Sent: received, Received: received}}
	}
}

// keeper is what the two managers have in common.
type keeper interface {
	keep(h Handover)
	close()
}

type managed struct {
	b testing.TB
	m *Manager
}

func (k managed) keep(h Handover) {
	_, err := k.m.Keep(h)
	require.NoError(k.b, err)
}

func (k managed) close() { require.NoError(k.b, k.m.Close(context.Background())) }

// perLease keeps each lease in a goroutine of its own.
type perLease struct {
	client  *client.Client
	timeout time.Duration
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

func newPerLease(c *client.Client, timeout time.Duration) *perLease {
	ctx, cancel := context.WithCancel(context.Background())
	return &perLease{client: c, timeout: timeout, ctx: ctx, cancel: cancel}
}

func (k *perLease) close() {
	k.cancel()
	k.wg.Wait()
}

func (k *perLease) keep(h Handover) {
	k.wg.Go(func() {
		id, origin := *h.Created.ReservationID, h.Meta.Received
		s := newSchedule(params{ttl: *h.Request.TTLMs, fixedTimeout: k.timeout, timerSlack: timerSlack})
		d := s.succeed(success{create: true, timed: true, remaining: h.Created.RemainingTTLMs, expiresAt: h.Created.ExpiresAtMs})
		base := time.Duration(0)
		for key := ""; d.action == actionExtend; {
			timer := time.NewTimer(base + d.delay - time.Since(origin))
			select {
			case <-timer.C:
			case <-k.ctx.Done():
				timer.Stop()
				return
			}
			d = s.dispatch(time.Since(origin))
			if d.key == keyFresh {
				key = ""
			}
			var meta client.Meta
			answer, err := k.client.ExtendReservation(k.ctx, id, gen.ReservationExtendRequest{IdempotencyKey: key, ExtendByMs: *h.Request.TTLMs},
				client.WithMeta(&meta), client.WithAttemptTimeout(d.timeout))
			key = meta.IdempotencyKey
			if err != nil {
				f := failureOf(err)
				f.at = time.Since(origin)
				base, d = f.at, s.fail(f)
				continue
			}
			base = meta.Received.Sub(origin)
			d = s.succeed(success{sent: meta.Sent.Sub(origin), received: base, timed: true,
				remaining: answer.RemainingTTLMs, expiresAt: &answer.ExpiresAtMs})
		}
	})
}

// benchTimeout makes a lead of 60 s beat after 37 s, the timers' slack taken off:
// 2 x 11 s + 1 s are reserved.
const benchTimeout = 11 * time.Second

// eachKeeper runs a benchmark with both managers over the same transport.
func eachKeeper(b *testing.B, bench func(b *testing.B, c *canned, k keeper)) {
	b.Run("manager", func(b *testing.B) {
		c := &canned{arrived: make([]atomic.Int64, manyLeases)}
		m, err := NewManager(newClient(b, c), WithExtendTimeout(benchTimeout))
		require.NoError(b, err)
		bench(b, c, managed{b, m})
	})
	b.Run("goroutine-per-lease", func(b *testing.B) {
		c := &canned{arrived: make([]atomic.Int64, manyLeases)}
		bench(b, c, newPerLease(newClient(b, c), benchTimeout))
	})
}

// BenchmarkIdleLeases measures what a lease costs that waits for its beat, beyond
// the request and the answer it was handed. An operation is a full GC.
func BenchmarkIdleLeases(b *testing.B) {
	eachKeeper(b, func(b *testing.B, _ *canned, k keeper) {
		handover, now := reserved(manyLeases), time.Now()
		memory := func() (heap, stack float64) {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc), float64(m.StackInuse)
		}
		heap, stack := memory()
		goroutines := runtime.NumGoroutine()
		start := time.Now()
		for i := range manyLeases {
			k.keep(handover(i, now))
		}
		took := time.Since(start)
		heapAfter, stackAfter := memory()
		for b.Loop() {
			runtime.GC()
		}
		b.ReportMetric(float64(took.Nanoseconds())/manyLeases, "ns/keep")
		b.ReportMetric((heapAfter-heap)/manyLeases, "heap-B/lease")
		b.ReportMetric((stackAfter-stack)/manyLeases, "stack-B/lease")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		k.close()
		runtime.KeepAlive(handover)
	})
}

// BenchmarkLateness measures how long after its due instant a beat reaches the
// transport, when 100,000 leases that beat every 37 s make 2,700 beats a second, and
// a little more.
func BenchmarkLateness(b *testing.B) {
	eachKeeper(b, func(b *testing.B, c *canned, k keeper) {
		const (
			cadence = 37*time.Second - timerSlack
			leadIn  = 3 * time.Second // for the set-up
			beats   = 15_000
		)
		handover, start := reserved(manyLeases), time.Now()
		// All answers have been received by now, the last one just so.
		due := func(i int) time.Time {
			return start.Add(leadIn + time.Duration(i)*(cadence-leadIn)/manyLeases)
		}
		for i := range manyLeases {
			k.keep(handover(i, due(i).Add(-cadence)))
		}
		if time.Since(start) > leadIn {
			b.Fatal("the set-up took too long to measure anything")
		}
		for b.Loop() {
			for c.first.Load() < beats {
				<-time.After(10 * time.Millisecond) // leaves both cores to the manager
			}
		}
		var late []time.Duration
		for i := range c.arrived {
			if at := c.arrived[i].Load(); at != 0 {
				late = append(late, time.Unix(0, at).Sub(due(i)))
			}
		}
		k.close()
		slices.Sort(late)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(ms(late[len(late)/2]), "ms-late-p50")
		b.ReportMetric(ms(late[len(late)*99/100]), "ms-late-p99")
		b.ReportMetric(ms(late[len(late)-1]), "ms-late-max")
		inside, _ := slices.BinarySearch(late, timerSlack)
		b.ReportMetric(float64(len(late)-inside), "inside-the-reserve")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkBeat is the whole life of one beat on one core: due, sent through the
// client, answered, proved, planned again.
func BenchmarkBeat(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that elapsed time is CPU time
	c := &canned{}
	m := manage(b, c, WithExtendTimeout(benchTimeout))
	var ahead atomic.Int64
	split := m.split
	m.split = func(t time.Time) (mono, wall time.Duration) {
		mono, wall = split(t)
		d := time.Duration(ahead.Load())
		return mono + d, wall + d
	}
	_, err := m.Keep(reserved(1)(0, time.Now()))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		ahead.Add(int64(37 * time.Second))
		m.mu.Lock()
		m.step(m.now())
		for m.inFlight > 0 {
			m.mu.Unlock()
			runtime.Gosched()
			m.mu.Lock()
		}
		m.mu.Unlock()
	}
	stats := m.Stats()
	if stats.Succeeded < uint64(b.N) || stats.Failed > 0 {
		b.Fatal(fmt.Sprint("not every beat was one: ", stats))
	}
}
