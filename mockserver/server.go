package mockserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// Server is one Cycles server with a memory of its own. It is safe for
// concurrent use, and two servers share nothing.
type Server struct {
	cfg     config
	clock   *clock
	mux     *http.ServeMux
	faults  *faults
	journal *journal

	snapshots snapshots

	// moving is held while the time moves by command, so that a restore does not
	// come in between. It comes before mu.
	moving sync.Mutex
	// mu guards the ledger. The time of a step is read under it, so that the
	// ledger sees time in the order of its steps.
	mu     sync.Mutex
	ledger *ledger.Ledger

	listening atomic.Pointer[listening] // nil without Start or Serve

	closing  chan struct{}
	closed   sync.Once
	inFlight sync.WaitGroup // requests that outlive their RoundTrip
}

var errClosed = errors.New("mockserver: the server was closed")

// memoryURL is the base URL of a server that listens nowhere.
const memoryURL = "http://cycles.mock"

// New returns a server that listens nowhere: an http.Handler, which Client and
// Transport reach in memory. It runs no goroutine, so it needs no Close.
//
// New panics when an option is nil or the options contradict each other (a
// budget of a tenant that does not exist, a key given twice, a negative amount):
// that is a mistake in the test itself. Open returns such a mistake as an error.
func New(opts ...Option) *Server {
	s, err := Open(opts...)
	if err != nil {
		panic(err)
	}
	return s
}

// Open is New for options that come from outside, such as a file.
func Open(opts ...Option) (*Server, error) {
	s := &Server{
		cfg:     newConfig(opts),
		closing: make(chan struct{}),
	}
	if err := errors.Join(s.cfg.errs...); err != nil {
		return nil, err
	}
	s.clock = newClock(&s.cfg)
	s.faults = &faults{}
	s.journal = newJournal(s.cfg.journalSize)
	s.mux = routes()
	var err error
	if s.ledger, err = s.fresh(s.nowMs()); err != nil {
		return nil, err
	}
	for _, f := range s.cfg.faults {
		if _, err := s.faults.inject(f); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// TB is what Start needs of a *testing.T, *testing.B or *testing.F.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start serves on a free port of 127.0.0.1 until the test ends. Its Client and
// Transport work too, and avoid the network.
//
// Inside a testing/synctest bubble use New and Client: real sockets keep a
// bubble from ever being idle.
func Start(tb TB, opts ...Option) *Server {
	tb.Helper()
	s, err := Open(opts...)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("mockserver: %v", err)
	}
	s.serveOn(l)
	tb.Cleanup(s.Close)
	return s
}

// URL is the base URL. Without a listener it is a name that only Client and
// Transport know, so that a client under test is set up in the same way.
func (s *Server) URL() string {
	if on := s.listening.Load(); on != nil {
		return on.url
	}
	return memoryURL
}

// String names the server by its URL.
func (s *Server) String() string { return "cycles mock server at " + s.URL() }

// Format prints String under whatever verb, so that printing a server neither
// shows its keys nor reads what its requests are changing.
func (s *Server) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.String())
}

// Close stops listening, breaks off what is delayed and waits until every
// request has ended. It is not an error to close a server twice.
//
// What Close ends is the listener. Client, Transport and ServeHTTP go on
// answering, and Requests, Balance and the like go on telling, so that a test
// can look at a server after its end; only a fault's delay is over at once.
func (s *Server) Close() {
	s.closed.Do(func() {
		close(s.closing)
		if on := s.listening.Load(); on != nil {
			on.close()
		}
	})
	s.inFlight.Wait()
}

// Now is the server's time.
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves virtual time by d. On the way it wakes what waits for the time
// (the delays of faults) and expires what is due, in order. It panics when the
// server runs on real time or d is negative: that is a mistake in the test.
func (s *Server) Advance(d time.Duration) {
	if err := s.advance(d); err != nil {
		panic(err)
	}
}

func (s *Server) advance(d time.Duration) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.clock.advance(s.clock.now().Add(d), s.reached)
}

func (s *Server) advanceTo(t time.Time) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.clock.advance(t, s.reached)
}

// reached expires what is due by t.
func (s *Server) reached(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.ExpireDue(t.UnixMilli())
}

// Inject arms a fault and returns its id for Withdraw. It panics when the fault
// cannot act (an unknown operation, FaultStatus without a status): that is a
// mistake in the test.
func (s *Server) Inject(f Fault) string {
	id, err := s.faults.inject(f)
	if err != nil {
		panic(err)
	}
	return id
}

// Withdraw disarms a fault. It reports whether it was still armed.
func (s *Server) Withdraw(id string) bool { return s.faults.withdraw(id) }

// Requests returns the remembered requests that match, the oldest first.
// Several matches are alternatives; none selects all.
func (s *Server) Requests(match ...Match) []Request { return s.journal.requests(match) }

// WaitForRequests waits until at least n remembered requests match, and
// returns them. When ctx ends first, the error tells how many there were.
func (s *Server) WaitForRequests(ctx context.Context, n int, match ...Match) ([]Request, error) {
	for {
		got, changed := s.journal.watch(match)
		if len(got) >= n {
			return got, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got, fmt.Errorf("mockserver: %d of %d requests came: %w", len(got), n, context.Cause(ctx))
		}
	}
}

// Waiting is how many requests wait for virtual time to pass. A test that is
// about to Advance over a delay can make sure that the request has arrived.
func (s *Server) Waiting() int { return s.clock.waiting() }
