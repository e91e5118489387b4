package client

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Meta says how an answer came about. WithMeta fills it on success and on
// failure alike; one Meta belongs to one call at a time.
type Meta struct {
	// IdempotencyKey is the key that was sent, filled by the client when the
	// request had none. Empty for reads.
	IdempotencyKey string
	// Attempts counts the HTTP attempts that were started.
	Attempts int
	// Sent and Received belong to the last attempt, which is the one that
	// produced the answer. Sent is read from the client's clock just before the
	// attempt; Received after the whole body was read and proved. Received is
	// zero when there was no complete answer. Both keep the clock's monotonic
	// reading, so Received.Sub(Sent) is the round trip of that attempt alone.
	Sent, Received time.Time
	// Status is the HTTP status, 0 when there was no complete answer.
	Status int
	// RequestID, TraceID and Tenant are the answer's X-Request-Id,
	// X-Cycles-Trace-Id (empty when it is not 32 lower-case hex digits) and
	// X-Cycles-Tenant.
	RequestID, TraceID, Tenant string
	// RateLimitRemaining and RateLimitReset (Unix seconds) are the answer's
	// X-RateLimit headers.
	RateLimitRemaining, RateLimitReset RateLimitValue
}

// RateLimitValue is the integer of a rate-limit header. A header that is
// absent, repeated or no integer leaves OK false: it never spoils an answer.
type RateLimitValue struct {
	Value int64
	OK    bool
}

const (
	headerRequestID          = "X-Request-Id"
	headerTraceID            = "X-Cycles-Trace-Id"
	headerTenant             = "X-Cycles-Tenant"
	headerRateLimitRemaining = "X-Ratelimit-Remaining"
	headerRateLimitReset     = "X-Ratelimit-Reset"
	headerRetryAfter         = "Retry-After"
)

// readHeaders takes over what the answer's headers tell. redact is for those
// that may be any text.
func (m *Meta) readHeaders(h http.Header, redact func(string) string) {
	m.RequestID = redact(h.Get(headerRequestID))
	if trace := h.Get(headerTraceID); lowerHex(trace, traceIDLen) {
		m.TraceID = trace
	}
	m.Tenant = redact(h.Get(headerTenant))
	m.RateLimitRemaining = rateLimitValue(h[headerRateLimitRemaining])
	m.RateLimitReset = rateLimitValue(h[headerRateLimitReset])
}

func rateLimitValue(values []string) RateLimitValue {
	if len(values) != 1 {
		return RateLimitValue{}
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || values[0][0] == '+' {
		return RateLimitValue{}
	}
	return RateLimitValue{Value: n, OK: true}
}

// The largest numbers that fit a time.Duration.
const (
	maxSeconds      = math.MaxInt64 / int64(time.Second)
	maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)
)

// throttle is what an answer's Retry-After says.
type throttle struct {
	wait time.Duration
	// stated is true for a single non-negative number of seconds; malformed for
	// any other header.
	stated, malformed bool
}

// retryAfter reads delta-seconds only. The date form would need the wall
// clocks of both sides to agree, and a repeated header has no one meaning.
func retryAfter(values []string) throttle {
	if len(values) == 0 {
		return throttle{}
	}
	if len(values) > 1 || len(values[0]) == 0 {
		return throttle{malformed: true}
	}
	for _, c := range []byte(values[0]) {
		if c < '0' || c > '9' {
			return throttle{malformed: true}
		}
	}
	seconds, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || seconds > maxSeconds {
		return throttle{malformed: true}
	}
	return throttle{wait: time.Duration(seconds) * time.Second, stated: true}
}

const traceIDLen = 32

func lowerHex(s string, length int) bool {
	if len(s) != length {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
