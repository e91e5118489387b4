package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

func serve(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	s, err := parseSettings("serve", args, env, stderr)
	if err != nil {
		return err
	}
	opts, err := s.options(stderr)
	if err != nil {
		return err
	}
	srv, l, url, err := s.open(opts)
	if err != nil {
		return err
	}
	s.announce(s.logger(stderr), srv)
	fmt.Fprintln(stdout, "cycles-mock ready at", url)
	return srv.Serve(ctx, l)
}

// announce tells who can use the server. A key is shown only where it is the
// public one that the documentation names, never one that was configured.
func (s *settings) announce(log *slog.Logger, srv *mockserver.Server) {
	if s.config == "" {
		log.Info("serving the built-in demo tenant", "tenant", mockserver.DefaultTenant, "key", mockserver.DefaultAPIKey,
			"scope", mockserver.DefaultScope)
		return
	}
	log.Info("serving the configured tenants", "tenants", strings.Join(srv.Tenants(), " "))
}

// open makes the server and its listener, and tells its URL.
func (s *settings) open(opts []mockserver.Option) (*mockserver.Server, net.Listener, string, error) {
	srv, err := mockserver.Open(opts...)
	if err != nil {
		return nil, nil, "", startError{err}
	}
	l, err := net.Listen("tcp", s.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil, "", startError{fmt.Errorf("%s is in use; choose another address with -addr, or port 0 for a free one", s.addr)}
	}
	if err != nil {
		return nil, nil, "", startError{err}
	}
	if !s.tls {
		return srv, l, "http://" + l.Addr().String(), nil
	}
	cert, pem, err := newCertificate()
	if err == nil && s.tlsCert != "" {
		err = os.WriteFile(s.tlsCert, pem, 0o644)
	}
	if err != nil {
		_ = l.Close()
		return nil, nil, "", startError{err}
	}
	return srv, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}),
		"https://" + l.Addr().String(), nil
}
