package lease

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// systemSeeds is how many seeds the whole system runs: manager, client and mock
// server, in virtual time, over the simulated networks. CYCLES_SYSTEM_SEED=n runs
// one seed alone and prints its story.
const systemSeeds = 1_000

// systemRun is a manager with a few leases over a bad network.
type systemRun struct {
	t     *testing.T
	rng   *rand.Rand
	start time.Time
	srv   *mockserver.Server
	m     *Manager
	ttl   int64
	fair  bool
	kind  simServerKind
	// slots is WithMaxInFlight; with as many as leases nothing waits.
	slots int

	mu    sync.Mutex
	lives map[string]*systemLife
	story []string
}

// systemLife is one reservation as the network saw it.
type systemLife struct {
	net       *simNetwork
	lease     *Lease
	inFlight  int
	key, body string
	keys      map[string]bool
	proved    bool      // the last extend
	notBefore time.Time // what a 429 asked for
	atInstant int
	instant   time.Time
	attempts  int
	successes int
	ended     bool // Done was closed and seen
	// trueEnd is when the reservation ends on the server.
	trueEnd time.Time
	// tight: some proved lead did not hold the reserve.
	tight bool
}

func (r *systemRun) tell(format string, args ...any) {
	r.story = append(r.story, fmt.Sprintf("%14v  ", time.Since(r.start))+fmt.Sprintf(format, args...))
}

func (r *systemRun) life(id string) *systemLife {
	l := r.lives[id]
	if l == nil {
		seed := uint64(len(r.lives))
		rng := rand.New(rand.NewPCG(r.rng.Uint64(), seed))
		network := min(simNetworkKind(rng.IntN(int(simNetworkKinds)+2)), simFair)
		if r.fair {
			network = simFair
		}
		l = &systemLife{net: newSimNetwork(rng, network, false), keys: map[string]bool{}, proved: true}
		r.lives[id] = l
	}
	return l
}

// RoundTrip is the network: it lets a request through, or does worse.
func (r *systemRun) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	require.NoError(r.t, err)
	inner := req.Clone(context.WithoutCancel(req.Context()))
	inner.Body = io.NopCloser(bytes.NewReader(body))
	id, extend := strings.CutSuffix(strings.TrimPrefix(req.URL.Path, "/v1/reservations/"), "/extend")
	if !extend {
		resp, err := r.srv.Transport().RoundTrip(inner)
		if err == nil {
			r.learn(resp, req.URL.Path == "/v1/reservations")
		}
		return resp, err
	}

	r.mu.Lock()
	l := r.life(id)
	r.departed(l, id, body)
	up, down, fate := l.net.oneWay(), l.net.oneWay(), l.net.fate(time.Since(r.start))
	hangs := l.net.rng.IntN(2) == 0
	wait, stated := l.net.retryAfter()
	r.mu.Unlock()
	if r.fair && fate == fateAnswered {
		up, down = up/4, down/4 // an answer in time is what is fair
	}

	resp, err := r.carry(req.Context(), inner, fate, up, down, hangs)
	if fate == fateThrottled && err == nil {
		resp = replyRefused(429, gen.ErrorCodeLimitExceeded)
		if stated {
			resp.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.inFlight--
	switch {
	case err != nil:
		r.tell("%s: no answer", id)
	case resp.StatusCode == 200:
		l.proved = true
		l.successes++
		fallthrough
	default:
		r.tell("%s: %d", id, resp.StatusCode)
	}
	if fate == fateThrottled && err == nil && stated {
		l.notBefore = time.Now().Add(wait)
	}
	return resp, err
}

// departed checks an extend that has just left.
func (r *systemRun) departed(l *systemLife, id string, body []byte) {
	var sent struct {
		Key      string `json:"idempotency_key"`
		ExtendBy int64  `json:"extend_by_ms"`
	}
	require.NoError(r.t, json.Unmarshal(body, &sent))
	now := time.Now()
	if r.check(l.inFlight == 0, "%s: two extends at once", id); now != l.instant {
		l.instant, l.atInstant = now, 0
	}
	l.inFlight++
	l.atInstant++
	l.attempts++
	r.check(l.atInstant <= 3, "%s: %d extends at one instant", id, l.atInstant)
	r.check(!l.ended, "%s: an extend after the end", id)
	r.check(!now.Before(l.notBefore), "%s: a 429 was retried %v early", id, l.notBefore.Sub(now))
	r.check(sent.ExtendBy == r.ttl, "%s: extends by %d", id, sent.ExtendBy)
	if l.proved {
		r.check(!l.keys[sent.Key], "%s: an old key came back", id)
	} else {
		r.check(sent.Key == l.key && string(body) == l.body, "%s: the outstanding extend got another key or body", id)
	}
	r.tell("%s: extend %d with key %.8s", id, l.attempts, sent.Key)
	l.key, l.body, l.proved, l.notBefore = sent.Key, string(body), false, time.Time{}
	l.keys[sent.Key] = true
}

// carry brings a request to the server and an answer back, or not.
func (r *systemRun) carry(ctx context.Context, req *http.Request, fate simFate, up, down time.Duration, hangs bool) (*http.Response, error) {
	lost := func() (*http.Response, error) {
		if !hangs {
			return nil, io.ErrUnexpectedEOF
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	pause := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	if !pause(up) {
		return nil, ctx.Err()
	}
	switch fate {
	case fateLostBefore:
		return lost()
	case fate5xx:
		return reply(503, ""), nil
	case fateThrottled:
		return nil, nil
	case fateRejected:
		return replyRefused(400, gen.ErrorCodeInvalidRequest), nil
	}
	resp, err := r.srv.Transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.learn(resp, false)
	switch {
	case fate == fateLostAfter:
		return lost()
	case fate == fate5xxAfter:
		return reply(500, ""), nil
	case fate == fateAmbiguous:
		return reply(202, "{}"), nil
	case !pause(down):
		return nil, ctx.Err()
	}
	return resp, nil
}

// learn reads from a server's answer when the reservation truly ends, before the
// network may lose it.
func (r *systemRun) learn(resp *http.Response, create bool) {
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		ID      string `json:"reservation_id"`
		Expires int64  `json:"expires_at_ms"`
	}
	if resp.StatusCode != 200 || json.Unmarshal(body, &answer) != nil || answer.Expires == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := answer.ID
	if !create {
		id = strings.Split(resp.Request.URL.Path, "/")[3]
	}
	end := time.UnixMilli(answer.Expires)
	if l := r.life(id); end.After(l.trueEnd) {
		l.trueEnd = end
	}
}

func (r *systemRun) check(ok bool, format string, args ...any) {
	if !ok {
		r.t.Errorf(format, args...)
	}
}

// observe checks what a lease claims against the truth.
func (r *systemRun) observe(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.life(e.ReservationID)
	switch e.Step {
	case StepKept, StepSuccess:
		const rounding = time.Millisecond // the server's clock ticks in whole ones
		r.check(e.Lead <= max(0, l.trueEnd.Sub(e.Time))+rounding, "%s: claims %v of lead, %v is left", e.ReservationID, e.Lead, l.trueEnd.Sub(e.Time))
		l.tight = l.tight || e.Fallback || e.LeadFloor <= e.RetryReserve+4*time.Millisecond
	case StepStopped:
		r.tell("%s: stopped %s", e.ReservationID, e.Reason)
	}
}

func newSystemRun(t *testing.T, seed uint64) *systemRun {
	rng := rand.New(rand.NewPCG(seed, 0x73797374656d))
	ttls := []int64{1000, 5000, 10_000, 24_000, 60_000}
	r := &systemRun{
		t: t, rng: rng, start: time.Now(), ttl: ttls[rng.IntN(len(ttls))], fair: rng.IntN(3) == 0,
		kind: simServerKind(rng.IntN(int(simServerKinds))), slots: 1 + rng.IntN(4), lives: map[string]*systemLife{},
	}
	r.srv = mockserver.New(mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Unit: gen.UnitEnumTokens, Allocated: 1_000_000}))
	r.setPolicy()
	opts := []Option{WithMaxInFlight(r.slots), WithObserver(ObserverFunc(r.observe))}
	if rng.IntN(3) == 0 {
		opts = append(opts, WithExtendTimeout(time.Duration(300+rng.IntN(8000))*time.Millisecond))
	}
	if rng.IntN(3) == 0 {
		opts = append(opts, WithJitter(rng.Float64()/2))
	}
	c, err := client.New(r.srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey), client.WithHTTPClient(&http.Client{Transport: r}))
	require.NoError(t, err)
	r.m, err = NewManager(c, opts...)
	require.NoError(t, err)
	return r
}

// setPolicy makes the mock one of the simulator's kinds of server.
func (r *systemRun) setPolicy() {
	ms := func(percent int64) time.Duration { return time.Duration(max(1, r.ttl*percent/100)) * time.Millisecond }
	p := mockserver.Policy{MaxTTL: 24 * time.Hour, MaxExtensions: mockserver.UnlimitedExtensions}
	grants := r.kind
	if grants >= simLegacy {
		grants = simServerKind(r.rng.IntN(int(simLegacy)))
	}
	switch grants {
	case simGrantClamped:
		p.MaxTTL, p.MaxGrant = ms(20+r.rng.Int64N(70)), ms(20+r.rng.Int64N(70))
	case simMaximumLead:
		p.MaxLead = ms(30 + r.rng.Int64N(150))
	case simCappedCreate:
		p.MaxTTL = ms(20 + r.rng.Int64N(70))
	}
	p.Legacy = r.kind == simLegacy || r.kind == simFlapping && r.rng.IntN(2) == 0
	if !r.fair && r.rng.IntN(4) == 0 {
		p.MaxExtensions = 1 + r.rng.IntN(10)
	}
	require.NoError(r.t, r.srv.SetPolicy(mockserver.DefaultTenant, p))
}

// run keeps some leases for a while and ends each in some way.
func (r *systemRun) run() {
	tenant := mockserver.DefaultTenant
	var leases []*Lease
	for range 1 + r.rng.IntN(4) {
		req := reserve(r.ttl)
		req.Subject.Tenant = &tenant
		l, err := r.m.Acquire(context.Background(), req)
		if !assert.NoError(r.t, err) {
			break
		}
		leases = append(leases, l)
		r.mu.Lock()
		r.life(l.ID()).lease = l
		r.mu.Unlock()
		time.Sleep(time.Duration(r.rng.Int64N(int64(time.Second))))
	}
	for range 5 {
		time.Sleep(time.Duration(r.rng.Int64N(3 * r.ttl * int64(time.Millisecond))))
		if r.kind == simFlapping {
			r.setPolicy()
		}
		synctest.Wait()
		r.audit(leases)
	}
	for _, l := range leases {
		switch r.rng.IntN(4) {
		case 0:
			_, _ = l.Commit(context.Background(), tokens(1)) // the network may not let it
		case 1:
			_ = l.Release(context.Background(), "")
		case 2:
			l.Stop()
		}
	}
	_ = r.m.Close(context.Background()) // commits may be left pending
	for _, l := range leases {
		r.check(isClosed(l.Done()), "%s: not done after Close", l.ID())
	}
	r.mu.Lock()
	for _, life := range r.lives {
		life.ended = true
	}
	r.mu.Unlock()
	time.Sleep(2 * time.Duration(r.ttl) * time.Millisecond)
	r.check(running() == 0, "a goroutine of the manager is left")
	r.auditServer()
}

// audit checks each lease while it lives.
func (r *systemRun) audit(leases []*Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range leases {
		life := r.lives[l.ID()]
		left := time.Until(life.trueEnd)
		r.check(l.Lead() <= max(0, left)+time.Millisecond, "%s: claims a lead of %v, %v is left", l.ID(), l.Lead(), left)
		life.ended = life.ended || isClosed(l.Done())
		switch {
		case l.Err() == nil:
			r.check(!isClosed(l.Lost()), "%s: lost without a reason", l.ID())
			r.check(left > -time.Duration(r.ttl)*time.Millisecond-20*time.Second || life.inFlight > 0, "%s: beats on a lease that ended %v ago", l.ID(), -left)
		case left < -2*time.Duration(r.ttl)*time.Millisecond:
			r.check(isClosed(l.Lost()), "%s: stopped, over since %v, and not lost", l.ID(), -left)
		}
		if !r.fair || life.tight || r.slots < len(leases) {
			continue
		}
		r.check(l.Err() == nil, "%s: ended though no two attempts in a row failed: %v", l.ID(), l.Err())
		r.check(left > 0, "%s: lapsed though every proved lead held the reserve", l.ID())
	}
}

// auditServer reads from the mock's own record that no key was applied twice.
func (r *systemRun) auditServer() {
	applied := map[string]int{}
	for _, req := range r.srv.Requests(mockserver.Match{Operation: mockserver.ExtendReservation}) {
		if req.Applied {
			applied[req.ReservationID+" "+req.IdempotencyKey]++
		}
	}
	for key, n := range applied {
		r.check(n == 1, "%s was applied %d times", key, n)
	}
	for id, l := range r.lives {
		r.check(len(l.keys) <= l.successes+1, "%s: %d keys for %d proved extends", id, len(l.keys), l.successes)
	}
}

func TestSimulatedSystemsKeepEveryInvariant(t *testing.T) {
	from, to := uint64(0), uint64(systemSeeds)
	if one := os.Getenv("CYCLES_SYSTEM_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		require.NoError(t, err)
		from, to = seed, seed+1
	}
	promised, extends, stops := 0, 0, map[string]int{}
	for seed := from; seed < to && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			r := newSystemRun(t, seed)
			r.run()
			for _, l := range r.lives {
				extends += l.attempts
				if r.fair && !l.tight && r.slots >= len(r.lives) {
					promised++
				}
				if l.lease != nil && l.lease.Err() != nil {
					stops[l.lease.Err().(*StopError).Reason.String()]++
				}
			}
			if t.Failed() || to == from+1 {
				t.Logf("seed %d (%v, ttl %d, %d slots, fair %t)\n%s", seed, r.kind, r.ttl, r.slots, r.fair, strings.Join(r.story, "\n"))
			}
		})
	}
	if to == from+1 || t.Failed() {
		return
	}
	t.Logf("%d extends, %d leases promised not to lapse, stops %v", extends, promised, stops)
	assert.Greater(t, extends, 10_000)
	assert.Greater(t, promised, 100)
	var reached []string
	for reason := range stops {
		reached = append(reached, reason)
	}
	slices.Sort(reached)
	assert.Subset(t, reached, []string{"expired", "lease-too-short", "max-extensions", "rejected", "retry-window", "throttled"})
}
