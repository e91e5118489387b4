package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// memory carries requests to a handler without a network.
type memory struct{ handler http.Handler }

// errAborted is what a client sees of a handler that panics.
var errAborted = errors.New("the handler gave up without an answer")

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	in.Host = r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &recorder{header: make(http.Header)}
	done := make(chan error, 1)
	// The handler may hang; a client would give up on it all the same.
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("%w: %v", errAborted, p)
			}
		}()
		m.handler.ServeHTTP(w, in)
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return w.response(r), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// recorder collects what a handler writes. The lock is for handlers that write
// on after their client has gone.
type recorder struct {
	mu     sync.Mutex
	header http.Header
	sent   http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status)
}

func (w *recorder) writeHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 && w.header.Get("Content-Type") == "" {
		w.header.Set("Content-Type", http.DetectContentType(p))
	}
	w.writeHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *recorder) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}
}

// Flush is there for handlers that insist on it.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }
