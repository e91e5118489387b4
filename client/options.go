package client

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cycles-protocol/cycles-go/gen"
)

// DefaultRequestTimeout bounds one attempt unless WithRequestTimeout says
// otherwise.
const DefaultRequestTimeout = 5 * time.Second

// Option sets one property of a Client.
type Option func(*config) error

type config struct {
	apiKey, adminKey secret // nil without a key
	subject          gen.Subject
	http             *http.Client
	timeout          time.Duration
	retry            RetryPolicy
	clock            clock.Clock
	logger           *slog.Logger
	userAgent        string
	unknown          UnknownFields
	traceparent      func(context.Context) string
	journal          *JournalSettings // only from the environment
}

// secret gives a key to whoever calls it. Package fmt does not: it calls no
// method of an unexported field and follows pointers, but of a function every
// verb prints an address at most.
type secret func() string

func newSecret(setting, key string) (secret, error) {
	if key == "" {
		return nil, &ConfigError{setting, "must not be empty"}
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c >= 0x7f {
			return nil, &ConfigError{setting, "must be visible ASCII without spaces or line breaks"}
		}
	}
	return func() string { return key }, nil
}

// WithAPIKey sets the tenant's key, sent as X-Cycles-API-Key with every
// operation except the two public ones.
func WithAPIKey(key string) Option {
	return func(c *config) (err error) {
		c.apiKey, err = newSecret("WithAPIKey", key)
		return err
	}
}

// WithAdminKey sets the operator's key. It is sent only by calls that say
// AsAdmin, and then instead of the tenant's key.
func WithAdminKey(key string) Option {
	return func(c *config) (err error) {
		c.adminKey, err = newSecret("WithAdminKey", key)
		return err
	}
}

// WithSubject gives defaults for the subject of createReservation, decide and
// createEvent: a level or dimension that a request leaves out is filled from
// here; a blank level counts as absent. getBalances uses the levels when its own parameters name none, because
// the protocol asks for at least one.
func WithSubject(s gen.Subject) Option {
	return func(c *config) error {
		c.subject = cloneSubject(s)
		dropBlank(&c.subject)
		return checkDefaults(c.subject)
	}
}

// WithHTTPClient takes proxies, TLS, cookies and the like from hc. hc is
// copied and never changed; its CheckRedirect is not used, since redirects stay
// refused. A hc without a Transport gets this package's; a Transport of its own
// should let idle connections be kept for the calls in flight
// (MaxIdleConnsPerHost) and find dead HTTP/2 connections (HTTP2.SendPingTimeout).
func WithHTTPClient(hc *http.Client) Option {
	return func(c *config) error {
		if hc == nil {
			return &ConfigError{"WithHTTPClient", "must not be nil"}
		}
		c.http = hc
		return nil
	}
}

// WithRequestTimeout bounds each attempt from connect to proof; the default is
// DefaultRequestTimeout. The context bounds the whole call.
func WithRequestTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return &ConfigError{"WithRequestTimeout", "must be positive"}
		}
		c.timeout = d
		return nil
	}
}

// WithRetry replaces the retry policy. Fields that are zero keep their default.
func WithRetry(p RetryPolicy) Option {
	return func(c *config) error {
		filled, err := p.filled()
		if err != nil {
			return err
		}
		c.retry = filled
		return nil
	}
}

// WithClock injects the clock that times attempts and their bounds: a
// clock.Clock of the package github.com/benbjohnson/clock, whose clock.NewMock
// is one for tests. The default is clock.New, the real one.
func WithClock(k clock.Clock) Option {
	return func(c *config) error {
		if k == nil {
			return &ConfigError{"WithClock", "must not be nil"}
		}
		c.clock = k
		return nil
	}
}

// WithLogger makes the client report retries and recoveries. Keys and bodies
// are never logged. The default logs nothing.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return &ConfigError{"WithLogger", "must not be nil"}
		}
		c.logger = l
		return nil
	}
}

// WithUserAgent replaces the User-Agent header.
func WithUserAgent(agent string) Option {
	return func(c *config) error {
		if strings.TrimSpace(agent) == "" || strings.ContainsFunc(agent, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return &ConfigError{"WithUserAgent", "must be one line of text"}
		}
		c.userAgent = agent
		return nil
	}
}

// UnknownFields says what to do with members of an answer that its schema
// neither names nor allows.
type UnknownFields int

const (
	// Refuse takes an unknown member as a sign that the answer is not what it
	// seems. The additions published for 0.1.26 are known. This is the default;
	// reads (get, list, balances, evidence, key set) ignore unknown members
	// always.
	Refuse UnknownFields = iota
	// Ignore skips unknown members everywhere.
	Ignore
)

// WithUnknownFields sets the treatment of unknown members in answers that move
// money or time.
func WithUnknownFields(u UnknownFields) Option {
	return func(c *config) error {
		if u != Refuse && u != Ignore {
			return &ConfigError{"WithUnknownFields", "must be Refuse or Ignore"}
		}
		c.unknown = u
		return nil
	}
}

// WithTraceContext calls f before each attempt and sends what it returns as
// the W3C traceparent header. An empty or malformed value is not sent.
func WithTraceContext(f func(context.Context) (traceparent string)) Option {
	return func(c *config) error {
		if f == nil {
			return &ConfigError{"WithTraceContext", "must not be nil"}
		}
		c.traceparent = f
		return nil
	}
}
