package mockserver

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// failBefore lets the fault act before the request is worked on. It reports
// whether the request has ended with that.
func (x *exchange) failBefore() bool {
	f := x.fault
	// Read now: the journal is to show what was sent, and a caller who gives up
	// during a delay takes what is still on its way along.
	x.peek()
	switch {
	case f.Kind == FaultStatus && !f.After:
		x.sleep(f.Delay)
		x.sendFaultStatus()
		return true
	case f.Kind == FaultReset:
		x.sleep(f.Delay)
		x.reset()
		return true
	case f.Kind == FaultDelay && !f.After:
		x.sleep(f.Delay)
	}
	return false
}

// peek reads the body and its idempotency key without judging them.
func (x *exchange) peek() {
	if x.readBody() != nil {
		return
	}
	scan := strictjson.New(x.entry.Body)
	_ = scan.Members(func(name []byte) error {
		if string(name) != "idempotency_key" {
			return scan.Skip()
		}
		key, err := scan.Str()
		x.entry.IdempotencyKey = key
		return err
	})
}

// failAfter lets the fault act on an answer. It reports whether the request has
// ended with that.
func (x *exchange) failAfter(status int, body []byte) bool {
	f := x.fault
	switch f.Kind {
	case FaultStatus:
		x.sleep(f.Delay)
		x.sendFaultStatus()
	case FaultResponseLost:
		x.sleep(f.Delay)
		x.reset()
	case FaultBody:
		x.sleep(f.Delay)
		if f.Status != 0 {
			status = f.Status
		}
		x.contentType()
		x.send(status, []byte(f.Body))
	case FaultTruncate:
		x.sleep(f.Delay)
		x.truncate(status, body)
	case FaultDelay:
		if f.After {
			x.sleep(f.Delay)
		}
		return false
	}
	return true
}

func (x *exchange) sendFaultStatus() {
	f, h := x.fault, x.head()
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	if f.Status == http.StatusTooManyRequests {
		// A Retry-After that is no number of seconds resets now.
		wait, _ := strconv.ParseUint(f.RetryAfter, 10, 31)
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(x.s.Now().Add(time.Duration(wait)*time.Second).Unix(), 10))
	}
	if f.Body != "" || f.ContentType != "" {
		x.contentType()
		x.send(f.Status, []byte(f.Body))
		return
	}
	code := f.Code
	if code == "" {
		code = codeOf(f.Status)
	}
	body, err := json.Marshal(x.errorBody(code, "injected fault", nil))
	if err != nil {
		panic(err) // three strings always encode
	}
	x.send(f.Status, body)
}

func (x *exchange) contentType() {
	if x.fault.ContentType != "" {
		x.Header().Set("Content-Type", x.fault.ContentType)
	}
}

// connection is what the in-memory transport has in place of one.
type connection interface {
	resetConnection()
	breakOffAfterBody()
}

// reset breaks the connection so that the caller sees it reset, not closed.
func (x *exchange) reset() {
	x.note(0, nil)
	if c, ok := x.ResponseWriter.(connection); ok {
		c.resetConnection()
		return
	}
	c, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		// HTTP/2, or a writer that is no connection: abort is all there is.
		panic(http.ErrAbortHandler)
	}
	lingerless := c
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok {
		lingerless = wrapped.NetConn()
	}
	if tcp, ok := lingerless.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	}
	_ = c.Close()
}

// truncate announces the whole body and breaks off behind part of it.
func (x *exchange) truncate(status int, body []byte) {
	part := body[:min(x.fault.Bytes, len(body))]
	x.note(status, part)
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	_, _ = x.Write(part)
	if c, ok := x.ResponseWriter.(connection); ok {
		c.breakOffAfterBody()
		return
	}
	_ = http.NewResponseController(x.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// redacted copies headers without the values of the keys.
func redacted(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range [...]string{"X-Cycles-Api-Key", "X-Admin-Api-Key", "Authorization"} {
		if _, ok := out[name]; ok {
			out[name] = []string{"REDACTED"}
		}
	}
	return out
}
