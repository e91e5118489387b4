package mockserver

import (
	"context"
	"crypto/tls"
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
	ended  sync.WaitGroup // the accept loop and every connection
}

// serveOn serves on l until Close. With a certificate it speaks TLS.
func (s *Server) serveOn(l net.Listener, cert *tls.Certificate) {
	on := &listening{url: "http://" + l.Addr().String()}
	on.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          log.New(discard{}, "", 0),
		ConnState:         on.count,
	}
	if cert != nil {
		on.url = "https://" + l.Addr().String()
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12})
	}
	s.listening = on
	on.ended.Go(func() { _ = on.server.Serve(l) })
}

// discard drops what net/http has to say about broken connections: faults
// break them on purpose.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

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

// shutdown lets requests in flight end, within ctx.
func (on *listening) shutdown(ctx context.Context) error {
	return on.server.Shutdown(ctx)
}
