package client

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/benbjohnson/clock"
)

// Client speaks to one budget authority. It is safe for concurrent use and has
// no goroutine of its own. Make one per server and keep it.
type Client struct {
	baseURL string // as configured
	server  string // with exactly one trailing slash, for the request builders
	cfg     config
	http    *http.Client
	// fingerprint is that of the journal's identity.
	fingerprint func() string
}

// New makes a client for the server at baseURL: an absolute http or https URL,
// with or without a path prefix or a trailing slash, without credentials, query
// or fragment. It sends nothing.
func New(baseURL string, opts ...Option) (*Client, error) {
	server, err := checkBaseURL("base URL", baseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{baseURL: baseURL, server: server, cfg: config{
		timeout:   DefaultRequestTimeout,
		retry:     defaultRetry,
		clock:     clock.New(),
		logger:    slog.New(slog.DiscardHandler),
		userAgent: defaultUserAgent,
	}}
	for _, opt := range opts {
		if opt == nil {
			return nil, &ConfigError{"option", "must not be nil"}
		}
		if err := opt(&c.cfg); err != nil {
			return nil, err
		}
	}
	c.http = newHTTPClient(c.cfg.http)
	c.fingerprint = fingerprinting(&c.cfg, baseURL)
	return c, nil
}

const defaultUserAgent = "cycles-go"

// Clock is the injected clock; package lease runs on it.
func (c *Client) Clock() clock.Clock { return c.cfg.clock }

// RequestTimeout is the bound of one attempt.
func (c *Client) RequestTimeout() time.Duration { return c.cfg.timeout }

// BaseURL is the server's URL as it was configured.
func (c *Client) BaseURL() string { return c.baseURL }

// String names the server, never a key.
func (c Client) String() string { return "cycles client for " + c.baseURL }

// Format prints String under whatever verb, so that none looks inside, neither
// of a *Client nor of a Client.
func (c Client) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), c.String())
}

// CloseIdleConnections closes the kept connections that are not in use. The
// client stays usable.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

func checkBaseURL(setting, raw string) (server string, err error) {
	bad := func(reason string) (string, error) { return "", &ConfigError{setting, reason} }
	if raw == "" {
		return bad("must not be empty")
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse repeats the URL, which may hold a password.
		return bad("is not a valid URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("must be absolute and start with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return bad("must name a host")
	case u.User != nil:
		return bad("must not hold credentials")
	case u.RawQuery != "" || u.ForceQuery:
		return bad("must not hold a query")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return bad("must not hold a fragment")
	}
	return strings.TrimRight(u.String(), "/") + "/", nil
}
