package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// access says whose key an operation takes.
type access int

const (
	tenantKey access = iota
	tenantOrAdminKey
	noKey
)

// operation is what is fixed about one operation.
type operation[T any] struct {
	op      Op
	status  int // the only one that counts as success
	answer  *schema[T]
	lenient bool
	access  access
}

// call is one call of an operation on its way. The first thing that is wrong
// with it is kept by the checker, and then nothing is sent.
type call[T any] struct {
	exchange
	checker
	answer *T
}

// exchange is the part of a call that does not depend on the answer's type.
type exchange struct {
	client  *Client
	op      Op
	options callOptions
	access  access
	timeout time.Duration
	success int
	// prove reads the body of a success, and keeps it.
	prove  func(body []byte) error
	proved []byte

	reservationID string
	unit          gen.UnitEnum
	// key and body are frozen before the first attempt.
	key     string
	body    []byte
	hasBody bool

	meta Meta
	last error
}

func begin[T any](c *Client, o *operation[T], opts []CallOption) *call[T] {
	x := &call[T]{
		exchange: exchange{client: c, op: o.op, access: o.access, timeout: c.cfg.timeout, success: o.status},
		checker:  checker{of: o.op},
	}
	for _, opt := range opts {
		if opt == nil {
			x.require(false, "call option", "other than nil")
			continue
		}
		opt(&x.options)
	}
	x.prove = func(body []byte) (err error) {
		x.proved = body
		x.answer, err = o.answer.prove(body, reading{lenient: o.lenient, unknown: c.cfg.unknown})
		return err
	}
	if x.options.hasTime {
		x.timeout = x.options.timeout
		x.require(x.timeout > 0, "attempt timeout", "positive")
	}
	switch {
	case x.options.admin:
		x.require(o.access == tenantOrAdminKey, "AsAdmin", "left to listReservations, getReservation and releaseReservation")
		x.require(c.cfg.adminKey != nil, "AsAdmin", "used with a client that has an admin key")
	case o.access != noKey:
		x.require(c.cfg.apiKey != nil, "API key", "set with WithAPIKey")
	}
	return x
}

// onReservation checks the id, which becomes a segment of the path: a dot
// segment would climb out of it and an empty one name another route.
func (x *call[T]) onReservation(id string) {
	x.reservationID = id
	x.require(length(id, 1, idLimit) && id != "." && id != "..", "reservation_id", "1..128 characters and not . or ..")
}

// freeze fixes key and body for all attempts. req is a pointer to this call's
// own copy of the request, key points into it.
func (x *call[T]) freeze(key *string, req any, check func(*checker)) {
	x.hasBody = true
	if x.options.hasRaw {
		x.freezeRaw()
		return
	}
	if *key == "" {
		*key = newKey()
	}
	x.key = *key
	x.text("idempotency_key", *key, 1, keyLimit)
	check(&x.checker)
	if x.broken != nil {
		return
	}
	body, err := json.Marshal(req)
	x.require(err == nil, "metadata", "made of values that JSON can hold")
	x.body = body
}

func (x *call[T]) freezeRaw() {
	x.body = bytes.Clone(x.options.raw)
	s := strictjson.New(x.body)
	err := s.Members(func(name []byte) (err error) {
		if string(name) == "idempotency_key" && s.Kind() == strictjson.String {
			x.key, err = s.Str()
			return err
		}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	x.require(err == nil, "raw body", "one JSON object")
	x.require(length(x.key, 1, keyLimit), "idempotency_key", "1..256 characters")
}

// send runs the call: once, or under the retry policy.
func (x *call[T]) send(ctx context.Context, again bool, build func(body io.Reader) (*http.Request, error)) (*T, error) {
	x.meta.IdempotencyKey = x.key
	if x.options.meta != nil {
		defer func() { *x.options.meta = x.meta }()
	}
	if x.options.hasRaw {
		x.require(x.hasBody, "WithRawBody", "left to operations that have a body")
	}
	if x.broken != nil {
		return nil, x.broken
	}
	if ctx.Err() != nil {
		return nil, x.canceled(ctx)
	}
	var err error
	if again && !x.options.once && x.client.cfg.retry.MaxAttempts > 1 {
		err = x.retrying(ctx, build)
	} else {
		err = x.once(ctx, build)
	}
	if err != nil {
		return nil, err
	}
	return x.answer, nil
}

// once builds the request and sends it one time.
func (x *exchange) once(ctx context.Context, build func(body io.Reader) (*http.Request, error)) error {
	req, err := x.request(build)
	if err != nil {
		return err
	}
	x.last = x.attempt(ctx, req)
	return x.last
}

func (x *exchange) request(build func(body io.Reader) (*http.Request, error)) (*http.Request, error) {
	var body io.Reader
	if x.hasBody {
		body = bytes.NewReader(x.body)
	}
	req, err := build(body)
	if err != nil {
		return nil, &RequestError{Op: x.op, Field: "parameters", Limit: "such that a URL can hold them"}
	}
	return req, nil
}
