package mockserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// exchange is one request on its way through the server. It is the
// ResponseWriter that the mux sees, so that routing finds the endpoint and
// leaves the answering to run.
type exchange struct {
	http.ResponseWriter
	s     *Server
	r     *http.Request
	entry Request
	fault *Fault
	// methods are the endpoints of the path.
	methods methods
	// admin: the request acts with the admin key and has no tenant.
	admin bool
	quiet bool
	// What readBody found; it reads once.
	bodyRead bool
	bodyErr  error
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, s: s, r: r}
	x.entry = Request{
		Received:  s.Now(),
		Method:    r.Method,
		Path:      r.URL.EscapedPath(),
		Query:     r.URL.RawQuery,
		Header:    redacted(r.Header),
		RequestID: newRequestID(),
		TraceID:   traceOf(r.Header),
	}
	// The mux would answer other paths by a redirect to the cleaned one.
	if p := r.URL.Path; strings.HasPrefix(p, "/") && path.Clean(p) == p {
		s.mux.ServeHTTP(x, r)
	}
	x.run()
}

// run judges the request in the order of precedence and answers.
func (x *exchange) run() {
	e, found := x.methods[x.r.Method]
	if !found {
		e.access = x.methods.access()
	}
	x.entry.Operation = e.operation
	x.quiet = e.quiet
	if found {
		x.entry.Route = x.r.Method + " " + x.r.Pattern
	}
	if id := x.r.PathValue("reservation_id"); id != "" {
		x.entry.ReservationID = id
	}
	if e.operation != "" {
		x.fault, x.entry.Fault = x.s.faults.take(e.operation, x.entry.ReservationID)
	}
	if x.fault != nil && x.failBefore() {
		return
	}
	status, body, err := 0, any(nil), x.authenticate(e.access)
	switch {
	case err != nil:
	case x.methods == nil:
		err = notFound("there is nothing at this path")
	case !found:
		err = x.methods.notAllowed()
	default:
		if e.body == jsonBody || e.body == optionalBody && x.r.ContentLength != 0 {
			err = x.jsonType()
		}
		if err == nil && e.body != noBody {
			err = x.readBody()
		}
		if err == nil {
			status, body, err = e.handle(x)
		}
	}
	x.answer(status, body, err)
}

// jsonType refuses a body that does not claim to be JSON.
func (x *exchange) jsonType() error {
	media, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return &problem{
			status: http.StatusUnsupportedMediaType, code: gen.ErrorCodeInvalidRequest,
			message: "the Content-Type has to be application/json",
		}
	}
	return nil
}

// readBody reads the body up to the limit, once.
func (x *exchange) readBody() error {
	if x.bodyRead {
		return x.bodyErr
	}
	x.bodyRead = true
	limit := x.s.cfg.maxBody
	var buf bytes.Buffer
	if n := x.r.ContentLength; n > 0 && n <= limit {
		buf.Grow(int(n) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(x.r.Body, limit+1))
	switch {
	case err != nil:
		x.bodyErr = invalidRequest("the body broke off")
	case n > limit:
		x.bodyErr = &problem{
			status: http.StatusRequestEntityTooLarge, code: gen.ErrorCodeInvalidRequest,
			message: "the body is larger than this server reads",
		}
	default:
		x.entry.Body = buf.Bytes()
	}
	return x.bodyErr
}

// matchKeyHeader refuses a key in the header that is not the body's.
func (x *exchange) matchKeyHeader(key string) error {
	x.entry.IdempotencyKey = key
	for _, v := range x.r.Header["X-Idempotency-Key"] {
		if v != key {
			return invalidRequest("X-Idempotency-Key is not the body's idempotency_key")
		}
	}
	return nil
}

// outcome notes what the idempotency rule made of the request.
func (x *exchange) outcome(replayed, applied bool, d *ledger.Denial) {
	switch {
	case d != nil && d.Code == gen.ErrorCodeIdempotencyMismatch:
		x.entry.Idempotency = VerdictMismatch
	case replayed:
		x.entry.Idempotency = VerdictReplay
	default:
		x.entry.Idempotency = VerdictFresh
		x.entry.Applied = applied && d == nil
	}
}

// answer sends what a handler returned, unless a fault changes it.
func (x *exchange) answer(status int, body any, err error) {
	h := x.head()
	if x.entry.Tenant != "" {
		h.Set("X-Cycles-Tenant", x.entry.Tenant)
	}
	var p *problem
	if err != nil && !errors.As(err, &p) {
		p = &problem{status: http.StatusInternalServerError, code: gen.ErrorCodeInternalError, message: "Internal error"}
	}
	if strings.HasPrefix(x.r.URL.Path, "/v1/") && (p == nil || p.status != http.StatusUnauthorized) {
		h.Set("X-RateLimit-Remaining", "-1")
		h.Set("X-RateLimit-Reset", "0")
	}
	if p != nil {
		for name, values := range p.header {
			h[name] = values
		}
		status, body = p.status, x.errorBody(p.code, p.message, p.details)
	}
	if raw, ok := body.(rawBody); ok {
		h.Set("Content-Type", raw.contentType)
		x.send(status, []byte(raw.text))
		return
	}
	if body == nil {
		h.Del("Content-Type")
		x.send(status, nil)
		return
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		// Every body is built from valid values; an encoder that fails is a bug
		// that must not look like an answer.
		panic(err)
	}
	if x.fault != nil && x.failAfter(status, encoded) {
		return
	}
	x.send(status, encoded)
}

// head sets the headers that every answer has.
func (x *exchange) head() http.Header {
	h := x.Header()
	h.Set("X-Request-Id", x.entry.RequestID)
	h.Set("X-Cycles-Trace-Id", x.entry.TraceID)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	return h
}

func (x *exchange) errorBody(code gen.ErrorCode, message string, details map[string]any) *gen.ErrorResponse {
	return &gen.ErrorResponse{
		Error:     code,
		Message:   message,
		RequestID: x.entry.RequestID,
		TraceID:   &x.entry.TraceID,
		Details:   details,
	}
}

// send writes an answer and notes it.
func (x *exchange) send(status int, body []byte) {
	x.note(status, body)
	x.WriteHeader(status)
	if len(body) > 0 {
		_, _ = x.Write(body)
	}
}

// note puts the exchange into the journal and the log, before the answer can be
// seen: whoever has the answer finds the request.
func (x *exchange) note(status int, answer []byte) {
	e := &x.entry
	e.Status, e.Answer, e.Answered = status, answer, x.s.Now()
	if x.quiet {
		return
	}
	x.s.journal.add(*e)
	x.s.cfg.logger.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("method", e.Method), slog.String("path", e.Path), slog.String("operation", string(e.Operation)),
		slog.Int("status", status), slog.String("tenant", e.Tenant), slog.String("idempotency", string(e.Idempotency)),
		slog.String("fault", e.Fault), slog.Duration("took", e.Answered.Sub(e.Received)),
		slog.String("request_id", e.RequestID), slog.String("trace_id", e.TraceID))
}

// sleep waits in the server's time. The caller's going away does not end it,
// unless the caller itself runs this.
func (x *exchange) sleep(d time.Duration) {
	ctx := context.Background()
	if w, ok := x.ResponseWriter.(*memoryWriter); ok && !w.detached {
		ctx = x.r.Context()
	}
	_ = x.s.clock.sleep(ctx, x.s.closing, d)
}
