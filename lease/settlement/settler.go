package settlement

import (
	"context"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// eventKeyLife is how long the reference server remembers an event's key. Sent
// again later, the event would be a new one.
const eventKeyLife = 7 * 24 * time.Hour

// Settler settles spends with one client, and runs on its clock. It is safe for
// concurrent use. Call Close when it is no longer needed.
type Settler struct {
	client  *client.Client
	clock   clock.Clock
	cfg     config
	backoff backoff
	dir     *journal.Dir // nil without a journal
	floors  floors
	trouble trouble

	// ctx ends when Close does not wait any longer.
	ctx    context.Context
	cancel context.CancelFunc
	// running counts the goroutines.
	running sync.WaitGroup
	// ownSlots and foundSlots bound the attempts in the background.
	ownSlots, foundSlots chan struct{}
	wake                 chan struct{}

	// mu guards what follows. Nothing blocks while holding it.
	mu      sync.Mutex
	pending map[*Settlement]struct{}
	names   map[string]int // the pending ones by the name of their record
	queue   dueQueue       // those of them that wait for their time
	sweeps  sweeps
	// changed is closed, and replaced, when something came to an end.
	changed  chan struct{}
	keeping  bool
	flushing int
	// closing: Close gives what is pending a last chance.
	closing, closed bool
}

// New makes a settler for c. Without options it follows the environment when c
// was made by client.FromEnv, and keeps no journal otherwise. A journal that was
// asked for with WithJournal and cannot be opened is an error, a *JournalError;
// one that only the environment asks for is reported by the logger and Status.
//
// With a journal it starts at once to settle what other processes have left in
// it.
func New(c *client.Client, opts ...Option) (*Settler, error) {
	if c == nil || c.Clock() == nil {
		return nil, refused("client", "must be made by client.New or client.FromEnv")
	}
	cfg, err := configure(c, opts)
	if err != nil {
		return nil, err
	}
	s := &Settler{
		client:     c,
		clock:      c.Clock(),
		cfg:        cfg,
		backoff:    backoffOf(c.RetryPolicy()),
		ownSlots:   make(chan struct{}, workers),
		foundSlots: make(chan struct{}, workers),
		wake:       make(chan struct{}, 1),
		pending:    map[*Settlement]struct{}{},
		names:      map[string]int{},
		changed:    make(chan struct{}),
	}
	s.trouble.logger = cfg.logger
	if err := s.openJournal(); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeps.next = s.clock.Now()
	s.start()
	return s, nil
}

func (s *Settler) openJournal() error {
	if s.cfg.journal == "" || s.cfg.noJournal {
		return nil
	}
	identity := s.client.JournalIdentity()
	dir, err := journal.Open(journal.Config{
		Base: s.cfg.journal, Fingerprint: identity.Fingerprint(), BaseURL: identity.BaseURL(),
		Now: s.clock.Now, NoSync: s.cfg.noSync, Files: s.cfg.files,
	})
	if err == nil {
		s.dir = dir
		return nil
	}
	err = &JournalError{Err: err}
	if !s.cfg.mayFail {
		return err
	}
	s.trouble.failed(err)
	return nil
}

// String names the settler by its server.
func (s *Settler) String() string { return "settler on " + s.client.String() }

// GoString is String, so that no verb of fmt reads what the mutex guards.
func (s *Settler) GoString() string { return s.String() }

// settlement makes the handle of a record.
func (s *Settler) settlement(rec journal.Record) *Settlement {
	return &Settlement{
		settler: s, name: journal.Name(rec.ReservationID), turn: make(chan struct{}, 1), rec: rec, slot: notQueued,
		result: Result{Disposition: Pending, ReservationID: rec.ReservationID},
	}
}

func (s *Settler) nowMs() int64 { return max(0, s.clock.Now().UnixMilli()) }
