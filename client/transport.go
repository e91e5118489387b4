package client

import (
	"net"
	"net/http"
	"time"
)

const (
	// idleConnsPerHost fits the calls a lease manager has in flight; with the
	// two of net/http nearly every beat would open a connection.
	idleConnsPerHost = 1024
	// A connection on which nothing came in for pingAfter is asked, and dropped
	// when no answer comes within pingTimeout. Together they stay below the
	// default attempt bound, so that a half-dead HTTP/2 connection fails one
	// attempt and not every one until the kernel gives up.
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
	// net/http goes on dialing for later requests when the one that asked has
	// ended; this ends that.
	dialTimeout = 30 * time.Second
)

// newTransport makes the client's own transport. It shares nothing with
// http.DefaultTransport, so nobody else's settings or clean-up reach it.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: idleConnsPerHost,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: dialTimeout,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// newHTTPClient copies the user's client, if there is one.
func newHTTPClient(user *http.Client) *http.Client {
	hc := &http.Client{}
	if user != nil {
		*hc = *user
	}
	if hc.Transport == nil {
		hc.Transport = newTransport()
	}
	hc.CheckRedirect = refuseRedirect
	return hc
}

// refuseRedirect hands the 3xx back: following it would carry the key to
// another host.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
