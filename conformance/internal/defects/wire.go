package defects

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// server is the server behind a defect: what it answers to a request. Ask as
// often as it takes.
type server func(*suite.Request) *suite.Answer

// rule is a broken rule: how a request is answered, with the right server at
// hand.
type rule func(r *suite.Request, next server) *suite.Answer

// broken is the wrapper for a rule that remembers nothing.
func broken(f rule) Wrap {
	return remembering(func() rule { return f })
}

// remembering is the wrapper for a rule with a memory: fresh makes one for each
// broken server. The rule is called concurrently.
func remembering(fresh func() rule) Wrap {
	return func(next http.Handler) http.Handler {
		f := fresh()
		return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
			r, err := read(in)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			a := f(r, func(r *suite.Request) *suite.Answer { return ask(next, in, r) })
			write(w, a)
		})
	}
}

// read makes of an incoming request what a check would have written to send it.
func read(in *http.Request) (*suite.Request, error) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	r := &suite.Request{
		Method: in.Method,
		Path:   in.URL.EscapedPath(),
		Query:  in.URL.Query(),
		Header: in.Header.Clone(),
	}
	r.Op, r.Reservation = operation(in.Method, in.URL.Path)
	if object, ok := decode(body).(map[string]any); ok {
		r.Body = object
	} else if len(body) > 0 {
		r.RawBody = body
	}
	return r, nil
}

// operation tells which of the contract's operations a request asks for.
func operation(method, path string) (op suite.Op, reservation string) {
	part := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	switch {
	case part[0] == "reservations" && len(part) == 2 && method == http.MethodGet:
		return suite.Get, part[1]
	case part[0] == "reservations" && len(part) == 3 && method == http.MethodPost:
		verbs := map[string]suite.Op{"commit": suite.Commit, "release": suite.Release, "extend": suite.Extend}
		return verbs[part[2]], part[1]
	case part[0] == "evidence" && len(part) == 2 && method == http.MethodGet:
		return suite.Evidence, ""
	}
	plain := map[string]suite.Op{
		"POST decide": suite.Decide, "POST reservations": suite.Create, "GET reservations": suite.List,
		"GET balances": suite.Balances, "POST events": suite.Event, "GET .well-known/cycles-jwks.json": suite.JWKS,
	}
	return plain[method+" "+strings.Join(part, "/")], ""
}

// decode is nil for what is not one strict JSON document: that is passed on byte
// for byte, since decoding it could mend it.
func decode(body []byte) any {
	a := suite.Answer{Body: body}
	a.Decode()
	return a.Value
}

// ask sends r to the server behind.
func ask(next http.Handler, in *http.Request, r *suite.Request) *suite.Answer {
	body, err := r.Payload()
	if err != nil {
		panic(fmt.Sprintf("a defect made a request that is no JSON: %v", err))
	}
	out := in.Clone(in.Context())
	u, err := url.Parse(r.Path)
	if err != nil {
		panic(fmt.Sprintf("a defect made a path that is none: %v", err))
	}
	u.RawQuery = r.Query.Encode()
	out.Method, out.URL, out.RequestURI = r.Method, u, u.RequestURI()
	out.Header = r.Header.Clone()
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := &recorder{header: make(http.Header)}
	next.ServeHTTP(w, out)
	a := &suite.Answer{Request: r, Status: max(w.status, http.StatusOK), Header: w.header, Body: w.body.Bytes()}
	a.Decode()
	return a
}

// recorder collects what the server behind writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func write(w http.ResponseWriter, a *suite.Answer) {
	maps.Copy(w.Header(), a.Header)
	w.Header().Del("Content-Length")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// memory remembers values by key, for one broken server.
type memory[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

// swap sets the value and returns the one before it.
func (m *memory[V]) swap(key string, v V) (before V, was bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.m == nil {
		m.m = make(map[string]V)
	}
	before, was = m.m[key]
	m.m[key] = v
	return before, was
}

// first sets the value unless there is one, and returns the one that counts.
func (m *memory[V]) first(key string, v V) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, was := m.m[key]; was {
		return before, true
	}
	if m.m == nil {
		m.m = make(map[string]V)
	}
	m.m[key] = v
	return v, false
}

func (m *memory[V]) get(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.m[key]
	return v, ok
}
