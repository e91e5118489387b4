package mockserver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

// Transport reaches the server in memory: no socket, no goroutine except while
// a fault delays the answer. It takes any host name, works inside a
// testing/synctest bubble, and gives up when the request's context ends. What
// a reset connection is on the network is here an error that wraps
// syscall.ECONNRESET.
func (s *Server) Transport() http.RoundTripper { return memoryTransport{s} }

// Client is an http.Client over Transport. Both work after Close, too.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.Transport()} }

type memoryTransport struct{ s *Server }

func (t memoryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := incoming(r)
	if !t.s.faults.mayDelay() {
		w := &memoryWriter{header: make(http.Header)}
		t.s.ServeHTTP(w, in)
		return w.response(r)
	}
	// Once RoundTrip has returned, body and header are the caller's again.
	in.Header = in.Header.Clone()
	body, err := io.ReadAll(io.LimitReader(in.Body, t.s.cfg.maxBody+1))
	if err != nil {
		return nil, err
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	answered := make(chan *memoryWriter, 1)
	t.s.inFlight.Go(func() {
		w := &memoryWriter{header: make(http.Header), detached: true}
		t.s.ServeHTTP(w, in)
		answered <- w
	})
	select {
	case w := <-answered:
		return w.response(r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// incoming is r as a server would receive it.
func incoming(r *http.Request) *http.Request {
	in := *r
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.Pattern = ""
	return &in
}

// memoryWriter collects an answer.
type memoryWriter struct {
	header http.Header
	status int
	body   []byte
	// reset: the connection broke instead of an answer. cut: it broke behind
	// the bytes in body.
	reset, cut bool
	// detached: the request runs apart from the caller.
	detached bool
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body == nil {
		// The handler writes once and does not touch the bytes again.
		w.body = p
	} else {
		w.body = append(bytes.Clone(w.body), p...)
	}
	return len(p), nil
}

func (w *memoryWriter) resetConnection()   { w.reset = true }
func (w *memoryWriter) breakOffAfterBody() { w.cut = true }

func (w *memoryWriter) response(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.reset {
		return nil, errReset()
	}
	w.WriteHeader(http.StatusOK)
	length := int64(len(w.body))
	if v, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		length = v
	}
	var body io.ReadCloser = io.NopCloser(bytes.NewReader(w.body))
	if w.cut {
		body = io.NopCloser(io.MultiReader(bytes.NewReader(w.body), brokenOff{}))
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.header,
		Body:          body,
		ContentLength: length,
		Request:       r,
	}, nil
}

// brokenOff is the end of a body whose connection was closed too early.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func errReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}
