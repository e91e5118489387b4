package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// maxBody is more than any answer of the protocol has reason to be.
const maxBody = 16 << 20

// session carries the requests of a run.
type session struct {
	client   *http.Client
	base     *url.URL
	name     string // of the target, for reports
	timeout  time.Duration
	throttle time.Duration
	pace     *pace
	watchers []*watcher
	answers  atomic.Int64
}

func newSession(t Target, o Options) (*session, error) {
	s := &session{timeout: o.RequestTimeout, throttle: o.ThrottleBound, pace: newPace(o.Rate)}
	var err error
	if s.base, s.name, err = where(t); err != nil {
		return nil, err
	}
	s.client = &http.Client{
		Transport: transport(t),
		// A redirect is an answer like any other, and would carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

func where(t Target) (base *url.URL, name string, err error) {
	if t.BaseURL == "" {
		if t.Handler == nil && t.Transport == nil {
			return nil, "", usagef("the target has no base URL")
		}
		return &url.URL{Scheme: "http", Host: "server.in-memory"}, report.InMemory, nil
	}
	base, err = url.Parse(t.BaseURL)
	switch {
	case err != nil:
		return nil, "", usagef("the base URL cannot be read: %v", err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, "", usagef("the base URL must be http://host or https://host, with a path if need be")
	case base.User != nil:
		return nil, "", usagef("the base URL must not hold a user or password")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, "", usagef("the base URL must not have a query or fragment")
	}
	if t.Handler != nil && t.Transport == nil {
		return base, report.InMemory, nil // the URL is for the handler to see; nobody listens there
	}
	return base, strings.TrimSuffix(base.String(), "/"), nil
}

func transport(t Target) http.RoundTripper {
	switch {
	case t.Transport != nil:
		return t.Transport
	case t.Handler != nil:
		return memory{t.Handler}
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConnsPerHost = 64
	tr.DisableCompression = true
	return tr
}

// close drops idle connections, so that nothing of a run stays behind.
func (s *session) close() { s.client.CloseIdleConnections() }

// do sends r and returns the complete answer. A 429 that r does not ask for is
// waited out, since throttling says nothing about what is under test.
func (s *session) do(ctx context.Context, r *suite.Request, now func() time.Time) (*suite.Answer, error) {
	giveUp := time.Now().Add(s.throttle)
	for {
		a, err := s.once(ctx, r, now)
		if err != nil || a.Status != http.StatusTooManyRequests || r.Throttled {
			return a, err
		}
		pause := retryAfter(a.Header)
		if time.Now().Add(pause).After(giveUp) {
			return nil, fmt.Errorf("the server throttles: still 429 after %v of patience", s.throttle)
		}
		if err := (realTime{}).wait(ctx, time.Now().Add(pause)); err != nil {
			return nil, err
		}
	}
}

// retryAfter is the pause a 429 asks for, a second when it does not say.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32)
	if err != nil || n < 1 {
		return time.Second
	}
	return time.Duration(n) * time.Second
}

func (s *session) once(ctx context.Context, r *suite.Request, now func() time.Time) (*suite.Answer, error) {
	if err := s.pace.wait(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no complete answer within %v", s.timeout))
	defer cancel()
	req, err := s.build(ctx, r)
	if err != nil {
		return nil, err
	}
	a := &suite.Answer{Request: r, Sent: now()}
	began := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, noAnswer(ctx, err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxBody)
	}
	a.Received, a.Took = now(), time.Since(began)
	a.Status, a.Header, a.Body = resp.StatusCode, resp.Header, body
	a.Decode()
	s.answers.Add(1)
	return a, nil
}

func (s *session) build(ctx context.Context, r *suite.Request) (*http.Request, error) {
	body, err := r.Payload()
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if body != nil {
		// A reader that net/http cannot rewind: with one that it can, it would
		// silently send a POST again that carries an idempotency header.
		reader = io.NopCloser(bytes.NewReader(body))
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, s.url(r), reader)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(body))
	req.Header = r.Header.Clone()
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "cycles-conformance")
	}
	return req, nil
}

func (s *session) url(r *suite.Request) string {
	u := strings.TrimSuffix(s.base.String(), "/") + r.Path
	if len(r.Query) > 0 {
		u += "?" + r.Query.Encode()
	}
	return u
}

// noAnswer says why there is none, without the URL, which is in the record.
func noAnswer(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// pace spaces requests evenly.
type pace struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

func newPace(perSecond float64) *pace {
	if perSecond <= 0 {
		return &pace{}
	}
	return &pace{every: time.Duration(float64(time.Second) / perSecond)}
}

func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.every)
	p.mu.Unlock()
	return realTime{}.wait(ctx, at)
}
