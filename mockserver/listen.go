package mockserver

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// listening is one http.Server and everything that ends with it.
type listening struct {
	url    string
	server *http.Server
	failed chan error     // the accept loop's error
	ended  sync.WaitGroup // the accept loop and every connection
}

// shutdownGrace is how long Serve lets requests in flight go on.
const shutdownGrace = 5 * time.Second

// Serve serves on l until ctx ends, then lets the requests in flight end within
// five seconds and closes the server. It returns nil after such an end, and an
// error when l fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	on := s.serveOn(l)
	select {
	case err := <-on.failed:
		s.Close()
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	_ = on.server.Shutdown(grace) // what is left then, Close breaks off
	s.Close()
	return nil
}

// serveOn serves on l until Close.
func (s *Server) serveOn(l net.Listener) *listening {
	on := &listening{url: "http://" + l.Addr().String(), failed: make(chan error, 1)}
	on.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		// Faults break connections on purpose; what net/http has to say about
		// that is of no use.
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnState: on.count,
	}
	s.listening.Store(on)
	on.ended.Go(func() {
		if err := on.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			on.failed <- err
		}
	})
	return on
}

// count follows the connections' goroutines, which http.Server.Close does not
// wait for.
func (on *listening) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		on.ended.Add(1)
	case http.StateClosed, http.StateHijacked:
		on.ended.Done()
	}
}

func (on *listening) close() {
	_ = on.server.Close()
	on.ended.Wait()
}
