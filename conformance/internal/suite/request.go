package suite

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// The headers that requests carry.
const (
	HeaderKey         = "X-Cycles-API-Key"
	HeaderAdminKey    = "X-Admin-API-Key"
	HeaderIdempotency = "X-Idempotency-Key"
	HeaderTrace       = "X-Cycles-Trace-Id"
	HeaderParent      = "traceparent"
)

// JSON is a piece of JSON that is sent as it is, for values Go would not write:
// JSON("1e3"), JSON("1.5").
type JSON = json.RawMessage

// Request is one request in the making. It is never changed: each method
// returns a changed copy, so that a replay is the same Request done again.
type Request struct {
	// Op is the operation, empty when the request is none of the contract's.
	Op Op
	// Reservation is the id in the path of a commit, release, extend or get.
	Reservation string
	Method      string
	// Path is below the base URL, escaped, like /v1/reservations/abc/commit.
	Path   string
	Query  url.Values
	Header http.Header
	// Body is the JSON object to send. Ignored when RawBody is set; with neither
	// the request has no body.
	Body map[string]any
	// RawBody is sent as it is.
	RawBody []byte
	// Throttled says that a 429 is what the check looks for, so it is not waited
	// out.
	Throttled bool
}

func (r *Request) clone() *Request {
	c := *r
	c.Query = url.Values(http.Header(r.Query).Clone())
	c.Header = r.Header.Clone()
	if r.Body != nil {
		c.Body = cloneValue(r.Body).(map[string]any)
	}
	c.RawBody = slices.Clone(r.RawBody)
	return &c
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = cloneValue(e)
		}
		return m
	case map[string]string:
		return maps.Clone(v)
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = cloneValue(e)
		}
		return l
	default:
		return v
	}
}

// With sets a member of the body. The path goes down through objects, "." in
// between, and makes those that are missing.
func (r *Request) With(path string, value any) *Request {
	c := r.clone()
	if c.Body == nil {
		c.Body = map[string]any{}
	}
	at, last := c.Body, path
	for {
		head, rest, more := strings.Cut(last, ".")
		if !more {
			break
		}
		next, ok := at[head].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[head] = next
		}
		at, last = next, rest
	}
	at[last] = value
	return c
}

// Without leaves a member out of the body.
func (r *Request) Without(path string) *Request {
	c := r.clone()
	at, last := c.Body, path
	for {
		head, rest, more := strings.Cut(last, ".")
		if !more {
			delete(at, last)
			return c
		}
		next, ok := at[head].(map[string]any)
		if !ok {
			return c
		}
		at, last = next, rest
	}
}

// Raw sends body as it is in place of the JSON object.
func (r *Request) Raw(body string) *Request {
	c := r.clone()
	c.RawBody = []byte(body)
	return c
}

// WithHeader sets a header; an empty value is sent as an empty header.
func (r *Request) WithHeader(name, value string) *Request {
	c := r.clone()
	c.Header.Set(name, value)
	return c
}

// WithoutHeader leaves a header out.
func (r *Request) WithoutHeader(name string) *Request {
	c := r.clone()
	c.Header.Del(name)
	return c
}

// As sends the request with the key of tenant.
func (r *Request) As(tenant target.Tenant) *Request {
	return r.WithoutHeader(HeaderAdminKey).WithHeader(HeaderKey, tenant.APIKey)
}

// WithKey sends the request with this API key, which may be one the server
// does not know.
func (r *Request) WithKey(key string) *Request { return r.WithHeader(HeaderKey, key) }

// WithoutKey sends the request without any key.
func (r *Request) WithoutKey() *Request {
	return r.WithoutHeader(HeaderKey).WithoutHeader(HeaderAdminKey)
}

// AsAdmin sends the request with the admin key in place of a tenant's.
func (r *Request) AsAdmin(key string) *Request {
	return r.WithoutHeader(HeaderKey).WithHeader(HeaderAdminKey, key)
}

// WithQuery sets a query parameter.
func (r *Request) WithQuery(name, value string) *Request {
	c := r.clone()
	if c.Query == nil {
		c.Query = url.Values{}
	}
	c.Query.Set(name, value)
	return c
}

// WithoutQuery leaves a query parameter out.
func (r *Request) WithoutQuery(name string) *Request {
	c := r.clone()
	c.Query.Del(name)
	return c
}

// WithMethod uses another method, which makes the request none of the
// contract's.
func (r *Request) WithMethod(method string) *Request {
	c := r.clone()
	c.Op, c.Method = "", method
	return c
}

// WithPath uses another path, which makes the request none of the contract's.
func (r *Request) WithPath(path string) *Request {
	c := r.clone()
	c.Op, c.Path = "", path
	return c
}

// Throttle says that a 429 is welcome.
func (r *Request) Throttle() *Request {
	c := r.clone()
	c.Throttled = true
	return c
}

// Key is the idempotency key of the body, empty when there is none.
func (r *Request) Key() string {
	key, _ := r.Body["idempotency_key"].(string)
	return key
}

// Payload is the bytes of the body, nil when the request has none.
func (r *Request) Payload() ([]byte, error) {
	switch {
	case r.RawBody != nil:
		return r.RawBody, nil
	case r.Body == nil:
		return nil, nil
	default:
		return json.Marshal(r.Body)
	}
}
