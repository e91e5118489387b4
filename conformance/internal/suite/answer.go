package suite

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// Answer is one complete answer.
type Answer struct {
	Request *Request
	Status  int
	Header  http.Header
	Body    []byte
	// Value is the body decoded, numbers as json.Number; nil when the body is
	// not one JSON document in valid UTF-8 without repeated members.
	Value any
	// Sent and Received are instants of the harness clock, which is the server's
	// own where that is virtual.
	Sent, Received time.Time
	// Took is the round trip in real time.
	Took time.Duration
	// Exchange is the place of the exchange in the record of its check.
	Exchange int
}

// Decode fills Value from Body.
func (a *Answer) Decode() {
	s := strictjson.New(a.Body)
	v, err := s.Any()
	if err == nil && s.End() == nil {
		a.Value = v
	}
}

// Get goes down through objects and arrays, "." in between: "balances.0.scope".
func (a *Answer) Get(path string) (any, bool) { return Lookup(a.Value, path) }

// Lookup goes down from v through objects and arrays, "." in between.
func Lookup(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Has tells whether the member is there, null included.
func (a *Answer) Has(path string) bool {
	_, ok := a.Get(path)
	return ok
}

// Str is a string of the body, empty when it is absent or of another type.
func (a *Answer) Str(path string) string {
	v, _ := a.Get(path)
	s, _ := v.(string)
	return s
}

// Int is an integer of the body; ok is false when it is absent, of another type
// or outside 64 bits.
func (a *Answer) Int(path string) (n int64, ok bool) {
	v, _ := a.Get(path)
	return Integer(v)
}

// Integer reads a number of a decoded body the way JSON Schema does (7, 7.0 and
// 0.7e1 are the same), or one that a check put into a request.
func Integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case json.Number:
		s := strictjson.New([]byte(n))
		i, err := s.Int64()
		return i, err == nil
	default:
		return 0, false
	}
}

// Items is an array of the body, nil when it is absent or of another type.
func (a *Answer) Items(path string) []any {
	v, _ := a.Get(path)
	l, _ := v.([]any)
	return l
}

// Code is the error code of the body, empty when there is none.
func (a *Answer) Code() string { return a.Str("error") }

// Decision is the decision of the body, empty when there is none.
func (a *Answer) Decision() string { return a.Str("decision") }
