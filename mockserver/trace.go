package mockserver

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
)

const zeroTrace = "00000000000000000000000000000000"

// traceOf finds the trace id of a request: traceparent first, then
// X-Cycles-Trace-Id, else a new one. A header that is malformed, or sent more
// than once, counts as absent.
func traceOf(h http.Header) string {
	if id, ok := parseTraceparent(single(h, "Traceparent")); ok {
		return id
	}
	if id := single(h, "X-Cycles-Trace-Id"); isTraceID(id) {
		return id
	}
	for {
		if id := hexOf(rand.Uint64(), rand.Uint64()); id != zeroTrace {
			return id
		}
	}
}

func single(h http.Header, name string) string {
	if values := h[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// parseTraceparent takes version 00 of W3C Trace Context.
func parseTraceparent(v string) (trace string, ok bool) {
	const span = 16
	parts := strings.Split(v, "-")
	if len(parts) != 4 || parts[0] != "00" {
		return "", false
	}
	trace = parts[1]
	return trace, isTraceID(trace) &&
		isLowerHex(parts[2], span) && parts[2] != zeroTrace[:span] &&
		isLowerHex(parts[3], 2)
}

func isTraceID(s string) bool { return isLowerHex(s, len(zeroTrace)) && s != zeroTrace }

func isLowerHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func hexOf(hi, lo uint64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return hex.EncodeToString(b[:])
}

func newRequestID() string { return "req_" + hexOf(rand.Uint64(), rand.Uint64()) }
