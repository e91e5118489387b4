package client

import (
	"encoding/json"
	"time"
)

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	meta    *Meta
	once    bool
	timeout time.Duration
	hasTime bool
	raw     json.RawMessage
	hasRaw  bool
	admin   bool
}

// WithMeta fills m when the call returns, whether it succeeded or failed.
func WithMeta(m *Meta) CallOption { return func(o *callOptions) { o.meta = m } }

// WithoutRetry sends one attempt and no more. On createReservation it also
// switches off the recovery of an ambiguous create.
func WithoutRetry() CallOption { return func(o *callOptions) { o.once = true } }

// WithAttemptTimeout bounds each attempt of this call instead of the client's
// request timeout. It must be positive.
func WithAttemptTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.timeout, o.hasTime = d, true }
}

// WithRawBody sends body byte for byte instead of the request, for the replay
// of something recorded earlier. The key is read from it; nothing else is
// checked or filled in.
func WithRawBody(body json.RawMessage) CallOption {
	return func(o *callOptions) { o.raw, o.hasRaw = body, true }
}

// AsAdmin authenticates with the operator's key instead of the tenant's. The
// protocol allows it on listReservations (which then needs a tenant),
// getReservation and releaseReservation.
func AsAdmin() CallOption { return func(o *callOptions) { o.admin = true } }
