package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
)

// pipes is a network in memory, usable inside a bubble.
type pipes struct {
	accept chan net.Conn
	opened []*lossyConn
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.accept
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.accept) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	conn := &lossyConn{Conn: near}
	p.opened = append(p.opened, conn)
	p.accept <- far
	return conn, nil
}

// lossyConn is a connection whose peer has vanished once dead is set: what is
// written goes nowhere and nothing comes back.
type lossyConn struct {
	net.Conn
	dead atomic.Bool
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A connection that is dead without being closed may cost one attempt. The
// ones behind it must go through.
func TestAHalfDeadConnectionDoesNotFailEveryBeat(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   func(*http.Protocols)
		proto int
		idle  time.Duration
		fails int
	}{
		{"HTTP/1 in use", func(p *http.Protocols) { p.SetHTTP1(true) }, 1, 0, 1},
		{"HTTP/2 in use", func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, 2, 0, 1},
		{"HTTP/2 idle for longer than the ping takes", func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, 2, pingAfter + pingTimeout + time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &pipes{accept: make(chan net.Conn)}
				var protocols http.Protocols
				tc.set(&protocols)
				server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					assert.Equal(t, tc.proto, r.ProtoMajor)
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, extendSmall)
				})}
				go server.Serve(network)
				transport := newTransport()
				transport.Proxy, transport.DialContext, transport.Protocols = nil, network.dial, &protocols
				c, err := New("http://cycles.test", WithAPIKey("k"), WithHTTPClient(&http.Client{Transport: transport}))
				require.NoError(t, err)
				extend := func() error {
					_, err := c.ExtendReservation(t.Context(), "r-1", gen.ReservationExtendRequest{ExtendByMs: 1})
					return err
				}
				require.NoError(t, extend())
				require.NoError(t, extend())
				require.Len(t, network.opened, 1, "the connection is kept")

				network.opened[0].dead.Store(true)
				time.Sleep(tc.idle)
				for range tc.fails {
					begin := time.Now()
					assert.Equal(t, Transient, OutcomeOf(extend()))
					assert.LessOrEqual(t, time.Since(begin), DefaultRequestTimeout)
				}
				for range 3 {
					assert.NoError(t, extend())
				}
				assert.Len(t, network.opened, 2)

				c.CloseIdleConnections()
				server.Close()
			})
		})
	}
}

func TestTheTransportIsOurOwn(t *testing.T) {
	c, err := New("http://cycles.test")
	require.NoError(t, err)
	ours, ok := c.http.Transport.(*http.Transport)
	require.True(t, ok)
	assert.NotSame(t, http.DefaultTransport, ours)
	other, err := New("http://cycles.test")
	require.NoError(t, err)
	assert.NotSame(t, other.http.Transport, ours, "and not shared")
	assert.GreaterOrEqual(t, ours.MaxIdleConnsPerHost, 1024, "room for the calls in flight")
	assert.Zero(t, ours.MaxIdleConns, "no limit below that")
	assert.NotNil(t, ours.Proxy)
	assert.Less(t, pingAfter+pingTimeout, DefaultRequestTimeout)
}

func TestTheCallersHTTPClientIsCopied(t *testing.T) {
	user := &http.Client{Timeout: time.Minute}
	c, err := New("http://cycles.test", WithHTTPClient(user))
	require.NoError(t, err)
	assert.Nil(t, user.CheckRedirect)
	assert.Nil(t, user.Transport)
	assert.Equal(t, time.Minute, c.http.Timeout)
	assert.NotNil(t, c.http.Transport)
	user.Transport = http.NewFileTransport(nil)
	assert.IsType(t, &http.Transport{}, c.http.Transport, "later changes do not reach it")
}
