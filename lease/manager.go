package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// Limits of ttl_ms, and its default. A request without one is sent with the
// default spelled out, because the heartbeat extends by the ttl that was asked.
const (
	minTTL     = 1_000
	maxTTL     = 86_400_000
	defaultTTL = 60_000
)

// defaultGrace is how long a server takes a commit after the expiry of a
// reservation that did not ask for a grace period.
const defaultGrace = 5_000

// Manager keeps any number of leases alive over one client. A lease costs a
// struct and two places in a heap while it waits: one goroutine with one timer
// serves them all, and there is none while there is no lease. Each extend runs
// in a goroutine of its own for as long as it takes.
//
// It is safe for concurrent use. Call Close when it is no longer needed.
type Manager struct {
	client  *client.Client
	clock   clock.Clock
	split   clockSeam
	settler *settlement.Settler
	cfg     config

	// mu guards everything below, and all leases. Nothing blocks while holding it.
	mu       sync.Mutex
	leases   map[string]*Lease // the watched ones
	timeline leaseHeap         // the same, by what comes next
	ready    leaseHeap         // those whose beat is due and waits for a slot
	lastSeq  uint64
	inFlight int

	// The scheduler: whether its goroutine runs, until when it sleeps, and what
	// wakes it earlier.
	scheduling bool
	armed      time.Duration
	wake       chan struct{}

	// What the clocks said before. stalled is by how much the clock has lagged
	// behind the timers since they last agreed; suspect is true when that is more
	// than timers and coarse clocks explain.
	seen       time.Duration
	sweptDrift time.Duration
	stalled    time.Duration
	suspect    bool

	counts counts
	outbox outbox

	closed bool
	// running counts the manager's goroutines; idle, if not nil, is closed when
	// none is left.
	running int
	idle    chan struct{}
}

// NewManager makes a manager that extends with c and runs on its clock. It
// starts nothing, unless there is a journal, see settlement.New. Its error is a
// *client.ConfigError, or a *settlement.JournalError.
func NewManager(c *client.Client, opts ...Option) (*Manager, error) {
	if c == nil || c.Clock() == nil {
		return nil, refused("client", "must be made by client.New or client.FromEnv")
	}
	cfg := config{clock: c.Clock(), maxInFlight: DefaultMaxInFlight, extensionBudget: unknownBudget}
	for _, opt := range opts {
		if opt == nil {
			return nil, refused("option", "must not be nil")
		}
		if err := opt(&cfg); err != nil {
			return nil, err
		}
	}
	settler, err := settlement.New(c, cfg.settlement...)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		client:   c,
		clock:    cfg.clock,
		split:    splitFrom(cfg.clock.Now()),
		settler:  settler,
		cfg:      cfg,
		leases:   map[string]*Lease{},
		timeline: newTimeline(),
		ready:    newQueue(),
		wake:     make(chan struct{}, 1),
		counts:   counts{stops: map[StopReason]uint64{}},
	}
	return m, nil
}

// String names the manager by its server.
func (m *Manager) String() string { return "lease manager on " + m.client.String() }

// GoString is String, so that no verb of fmt reads what the mutex guards.
func (m *Manager) GoString() string { return m.String() }

// Handover is a reservation that was created elsewhere, with all that the
// heartbeat starts from.
type Handover struct {
	// Request is what was asked for. Its ttl_ms, 60000 when absent, is the
	// extend_by_ms of every extend.
	Request gen.ReservationCreateRequest
	// Created is the proved answer.
	Created *gen.ReservationCreateResponse
	// Meta times the attempt that produced it; it is what client.WithMeta filled.
	// Without it the timing is unknown: one extend goes out at once, and its own
	// round trip decides.
	Meta client.Meta
}

// Acquire creates a reservation and keeps it alive. ctx bounds the acquire only:
// the lease lives on until it is committed, released, stopped, lost, or the
// manager closes. A dry run is refused.
//
// The error is an *AcquireError. It says whether budget may be held all the
// same, which is the case after an ambiguous create.
func (m *Manager) Acquire(ctx context.Context, req gen.ReservationCreateRequest) (*Lease, error) {
	if err := checkRequest(req); err != nil {
		return nil, &AcquireError{IdempotencyKey: req.IdempotencyKey, Err: err}
	}
	if req.TTLMs == nil {
		ttl := int64(defaultTTL)
		req.TTLMs = &ttl
	}
	if m.isClosed() {
		return nil, &AcquireError{IdempotencyKey: req.IdempotencyKey, Err: ErrClosed}
	}
	var meta client.Meta
	created, err := m.client.CreateReservation(ctx, req, client.WithMeta(&meta))
	req.IdempotencyKey = meta.IdempotencyKey
	if err != nil {
		return nil, &AcquireError{IdempotencyKey: meta.IdempotencyKey, HeldFor: mayBeHeld(err, req), Err: err}
	}
	l, err := m.Keep(Handover{Request: req, Created: created, Meta: meta})
	if err != nil {
		m.giveBack(ctx, err.(*AcquireError), req)
	}
	return l, err
}

// Keep takes over a reservation that was created elsewhere and keeps it alive.
// It sends nothing itself and returns at once; the first extend is planned from
// the create's answer. The error is an *AcquireError; the reservation is then as
// it was, and still the caller's to settle.
func (m *Manager) Keep(h Handover) (*Lease, error) {
	id, err := checkHandover(h)
	if err != nil {
		return nil, &AcquireError{ReservationID: id, IdempotencyKey: h.Request.IdempotencyKey, Err: err}
	}
	l := &Lease{m: m, id: id, request: h.Request, created: h.Created}
	p := params{ttl: defaultTTL, fixedTimeout: m.cfg.extendTimeout}
	if h.Request.TTLMs != nil {
		p.ttl = *h.Request.TTLMs
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if monotonic(now.at) {
		p.timerSlack = timerSlack
	}
	l.schedule = newSchedule(p)
	sent, received, timed := m.timing(h.Meta, now)
	l.drift = received.drift()
	if expiry := h.Created.ExpiresAtMs; expiry != nil {
		l.expiresAt, l.hasExpiry = *expiry, true
	}
	first := l.schedule.succeed(success{
		create: true, sent: sent.mono, received: received.mono, timed: timed,
		remaining: h.Created.RemainingTTLMs, expiresAt: h.Created.ExpiresAtMs, jitter: m.drawJitter(),
	})
	switch {
	case m.closed:
		err = ErrClosed
	case m.leases[id] != nil:
		err = ErrKept
	case l.schedule.upperBound(now.mono, l.gap(now)) < 0:
		err = ErrOver
	}
	if err != nil {
		return nil, &AcquireError{ReservationID: id, IdempotencyKey: h.Request.IdempotencyKey, Err: err}
	}
	m.adopt(l, first, received, now)
	return l, nil
}

// adopt starts the heartbeat of a lease.
func (m *Manager) adopt(l *Lease, first decision, received, now reading) {
	m.lastSeq++
	l.seq = m.lastSeq
	l.taken = now.mono
	l.interval = first.delay
	l.watched = true
	m.leases[l.id] = l
	m.counts.kept++
	m.counts.active++
	if m.observed() {
		e := l.event(StepKept, now)
		e.explain(first)
		m.post(e)
		if first.path == pathPrimary && l.schedule.timed && first.leadFloor <= first.retryReserve {
			e := l.event(StepWarning, now)
			e.explain(first)
			e.Warning = WarnReserve
			m.post(e)
		}
	}
	m.follow(l, first, received.mono, now)
	m.step(now)
	m.rearm()
}

func (m *Manager) drawJitter() float64 {
	if m.cfg.jitter == 0 {
		return 0
	}
	return m.cfg.jitter * rand.Float64()
}

// giveBack releases a reservation that was made for a lease that cannot be kept:
// no work ran under it, and nobody else knows of it.
func (m *Manager) giveBack(ctx context.Context, failed *AcquireError, req gen.ReservationCreateRequest) {
	if failed.ReservationID == "" {
		return
	}
	reason := "lease not kept"
	_, err := m.client.ReleaseReservation(context.WithoutCancel(ctx), failed.ReservationID,
		gen.ReleaseRequest{Reason: &reason}, client.WithoutRetry())
	if err != nil {
		failed.HeldFor = heldFor(req)
	}
}

// Close stops the heartbeat of every lease, cancels the extends under way, and
// waits until nothing of the manager runs any more, or until ctx ends; the error
// then is that of ctx. It releases nothing and commits no lease: they can still
// be committed and released, for as long as their reservations live. Later calls
// of Acquire and Keep are refused with ErrClosed.
//
// Commits that are pending already get a last chance, see
// settlement.Settler.Close. When some stay pending the error holds a
// *settlement.LeftError.
//
// With a ctx that never ends and a server that cannot be reached it takes no
// longer than this: the commits that ended streams are making, of up to two
// request timeouts each, then the flush timeout
// (settlement.DefaultFlushTimeout unless set). What has no bound is the
// program's own: an observer that does not return, and a transport that goes on
// after its request was cancelled.
func (m *Manager) Close(ctx context.Context) error {
	ended, settled := m.endAll(ctx), m.settler.Close(ctx)
	if ended != nil && errors.Is(settled, context.Cause(ctx)) {
		// Both waits were cut short by the same end of ctx, which is told once.
		return fmt.Errorf("lease: close: %w", settled)
	}
	return join(ended, settled)
}

// endAll ends all heartbeats.
func (m *Manager) endAll(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	now := m.now()
	for _, l := range slices.Clone(m.timeline.leases) {
		m.finish(l, now)
	}
	m.rearm()
	if m.running == 0 {
		m.mu.Unlock()
		return nil
	}
	if m.idle == nil {
		m.idle = make(chan struct{})
	}
	idle := m.idle
	m.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lease: close: %w", context.Cause(ctx))
	}
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// enter and leave count the manager's goroutines. Both are called with mu held.
func (m *Manager) enter() { m.running++ }

func (m *Manager) leave() {
	if m.running--; m.running == 0 && m.idle != nil {
		close(m.idle)
		m.idle = nil
	}
}
