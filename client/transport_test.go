package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

func extendHandler(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, extendOK)
}

func TestTLSAndItsTrustComeThroughTheHTTPClient(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(extendHandler))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	c := liveClient(t, server.URL+"/prefix/", client.WithHTTPClient(&http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}))
	_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest)
	require.NoError(t, err)

	_, err = liveClient(t, server.URL).CommitReservation(t.Context(), "r-1", commitRequest)
	var broken *client.TransportError
	require.ErrorAs(t, err, &broken)
	assert.Equal(t, 1, broken.Attempts, "trust will not come by retrying")
}

func TestAProxyComesThroughTheHTTPClient(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		extendHandler(w, r)
	}))
	defer proxy.Close()
	via, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	c := liveClient(t, "http://cycles.invalid/budget", client.WithHTTPClient(&http.Client{
		Transport: &http.Transport{Proxy: http.ProxyURL(via)}}))
	_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest)
	require.NoError(t, err)
	assert.Equal(t, []string{"http://cycles.invalid/budget/v1/reservations/r-1/extend"}, asked)
}

// A sticky load balancer's cookie must not pile up over the retries.
func TestCookiesGoOutOncePerAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		server := inTurn(replying(503, "", "Set-Cookie", "node=1"), replying(503, ""), replying(200, commitOK))
		c, err := client.New(baseURL, client.WithAPIKey(apiKey), client.WithHTTPClient(&http.Client{Transport: server, Jar: jar}))
		require.NoError(t, err)
		_, err = c.CommitReservation(t.Context(), "r-1", commitRequest)
		require.NoError(t, err)
		attempts := server.attempts()
		require.Len(t, attempts, 3)
		assert.Empty(t, attempts[0].header["Cookie"])
		assert.Equal(t, []string{"node=1"}, attempts[1].header["Cookie"])
		assert.Equal(t, []string{"node=1"}, attempts[2].header["Cookie"])
	})
}

func TestACompressedBodyIsBoundedAfterDecompression(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(gzipOfSpaces(17 << 20))
	}))
	defer server.Close()
	c := liveClient(t, server.URL)
	_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest)
	var unproved *client.ResponseError
	require.ErrorAs(t, err, &unproved)
	assert.Contains(t, unproved.Reason, "longer than 16777216")
}

func TestOneClientServesManyGoroutines(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(extendHandler))
	defer server.Close()
	c := liveClient(t, server.URL)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 5 {
				var meta client.Meta
				_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest, client.WithMeta(&meta))
				assert.NoError(t, err)
				assert.Equal(t, 200, meta.Status)
			}
		})
	}
	group.Wait()
}
