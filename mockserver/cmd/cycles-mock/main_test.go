package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// process is a run of the command in this process.
type process struct {
	t      *testing.T
	stdout *bufio.Reader
	stderr *bytes.Buffer // to be read after the end
	stop   context.CancelFunc
	exit   chan int
}

func begin(t *testing.T, env map[string]string, args ...string) *process {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	p := &process{t: t, stdout: bufio.NewReader(r), stderr: new(bytes.Buffer), stop: stop, exit: make(chan int, 1)}
	go func() {
		code := run(ctx, args, func(name string) string { return env[name] }, w, p.stderr)
		_ = w.Close()
		p.exit <- code
	}()
	t.Cleanup(stop)
	return p
}

// url reads standard output up to the ready line.
func (p *process) url() (url, before string) {
	p.t.Helper()
	var read strings.Builder
	for {
		line, err := p.stdout.ReadString('\n')
		if url, ok := strings.CutPrefix(line, "cycles-mock ready at "); ok {
			return strings.TrimSpace(url), read.String()
		}
		read.WriteString(line)
		if err != nil {
			require.FailNow(p.t, "not ready", "exit %d: %s", <-p.exit, p.stderr)
		}
	}
}

// end stops the process as a signal does.
func (p *process) end() int {
	p.t.Helper()
	p.stop()
	return <-p.exit
}

func httpClient(t *testing.T, c *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func fetch(t *testing.T, c *http.Client, method, url, body string, header ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var doc map[string]any
	_ = json.NewDecoder(resp.Body).Decode(&doc)
	return resp.StatusCode, doc
}

func TestServeUntilTheSignal(t *testing.T) {
	p := begin(t, nil, "serve", "-addr", "127.0.0.1:0")
	url, _ := p.url()
	c := httpClient(t, nil)
	status, doc := fetch(t, c, "GET", url+"/actuator/health/readiness", "")
	assert.Equal(t, 200, status)
	assert.Equal(t, "UP", doc["status"])
	status, _ = fetch(t, c, "GET", url+"/v1/balances?tenant=demo", "", "X-Cycles-API-Key", mockserver.DefaultAPIKey)
	assert.Equal(t, 200, status)
	assert.Equal(t, exitOK, p.end())
	assert.Contains(t, p.stderr.String(), "operation=getBalances")
	start, requests, _ := strings.Cut(p.stderr.String(), "\n")
	assert.Contains(t, start, "tenant=demo key="+mockserver.DefaultAPIKey, "somebody new finds out what to send")
	assert.NotContains(t, requests, mockserver.DefaultAPIKey)
	_, err := c.Get(url)
	assert.Error(t, err, "nobody listens any more")
}

// The reference stack's quickstart, which provisions an empty server.
func TestServeTakesTheQuickstart(t *testing.T) {
	p := begin(t, map[string]string{"CYCLES_MOCK_ADDR": "127.0.0.1:0", "CYCLES_MOCK_LOG_FORMAT": "json", "CYCLES_MOCK_ADMIN_KEY": "root"}, "serve")
	url, _ := p.url()
	c := httpClient(t, nil)
	admin := []string{"X-Admin-API-Key", "root"}
	status, _ := fetch(t, c, "POST", url+"/v1/admin/tenants", `{"tenant_id":"acme-corp","name":"Acme"}`, admin...)
	assert.Equal(t, 201, status)
	status, key := fetch(t, c, "POST", url+"/v1/admin/api-keys", `{"tenant_id":"acme-corp","name":"k"}`, admin...)
	assert.Equal(t, 201, status)
	tenant := []string{"X-Cycles-API-Key", key["key_secret"].(string)}
	status, _ = fetch(t, c, "POST", url+"/v1/admin/budgets", `{"scope":"tenant:acme-corp","unit":"USD_MICROCENTS","allocated":{"unit":"USD_MICROCENTS","amount":100000000}}`, tenant...)
	assert.Equal(t, 201, status)
	status, created := fetch(t, c, "POST", url+"/v1/reservations", `{"idempotency_key":"a","subject":{"tenant":"acme-corp"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":500000},"ttl_ms":30000}`, tenant...)
	assert.Equal(t, 200, status)
	status, committed := fetch(t, c, "POST", url+"/v1/reservations/"+created["reservation_id"].(string)+"/commit", `{"idempotency_key":"b","actual":{"unit":"USD_MICROCENTS","amount":350000}}`, tenant...)
	assert.Equal(t, 200, status)
	assert.Equal(t, "COMMITTED", committed["status"])
	assert.Equal(t, exitOK, p.end())
	assert.Contains(t, p.stderr.String(), `"operation":"commitReservation"`)
}

func TestServeWithAConfigurationAndVirtualTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mock.yaml")
	require.NoError(t, os.WriteFile(file, []byte("tenants: [{id: globex, keys: [globex-secret]}, {id: acme, keys: [acme-secret]}]\n"), 0o600))
	p := begin(t, map[string]string{"CYCLES_MOCK_VIRTUAL_TIME": "1999-01-01T00:00:00Z"}, "serve", "-addr", "127.0.0.1:0", "-config", file, "-virtual-time", "2030-01-01T00:00:00Z", "-journal-size", "5")
	url, _ := p.url()
	c := httpClient(t, nil)
	_, doc := fetch(t, c, "POST", url+"/_mock/clock", `{"advance":"1h"}`)
	assert.Equal(t, "2030-01-01T01:00:00Z", doc["now"], "the flag wins over the environment")
	status, _ := fetch(t, c, "GET", url+"/v1/reservations", "", "X-Cycles-API-Key", "acme-secret")
	assert.Equal(t, 200, status)
	status, _ = fetch(t, c, "GET", url+"/v1/reservations", "", "X-Cycles-API-Key", mockserver.DefaultAPIKey)
	assert.Equal(t, 401, status)
	assert.Equal(t, exitOK, p.end())
	start, _, _ := strings.Cut(p.stderr.String(), "\n")
	assert.Contains(t, start, `tenants="acme globex"`)
	assert.NotContains(t, p.stderr.String(), "secret", "configured keys are nobody's business")
}

func TestServeOverTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cert.pem")
	p := begin(t, nil, "serve", "-addr", "127.0.0.1:0", "-tls-cert", file)
	url, _ := p.url()
	require.True(t, strings.HasPrefix(url, "https://"), url)
	pem, err := os.ReadFile(file)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	status, _ := fetch(t, httpClient(t, &tls.Config{RootCAs: roots}), "GET", url+"/healthz", "")
	assert.Equal(t, 200, status)
	assert.Equal(t, exitOK, p.end())
}

func TestReasonsNotToStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("tenants:\n  - ident: acme\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"no command":                  {nil, nil, "usage"},
		"unknown command":             {[]string{"start"}, nil, `there is no command "start"`},
		"unknown flag":                {[]string{"serve", "-port", "1"}, nil, "-port"},
		"an argument":                 {[]string{"serve", "now"}, nil, `"now"`},
		"port in use":                 {[]string{"serve", "-addr", l.Addr().String()}, nil, l.Addr().String() + " is in use"},
		"port in use, demo":           {[]string{"demo", "-addr", l.Addr().String()}, nil, "is in use"},
		"no address":                  {[]string{"serve", "-addr", "nowhere"}, nil, "nowhere"},
		"no such file":                {[]string{"serve", "-config", "no-such.yaml"}, nil, "no-such.yaml"},
		"unknown setting":             {[]string{"serve", "-config", bad}, nil, `line 2: there is no setting "ident"`},
		"journal size":                {[]string{"serve", "-journal-size", "-1"}, nil, "journal"},
		"log format":                  {[]string{"serve", "-log-format", "xml"}, nil, "xml"},
		"log level":                   {[]string{"serve"}, map[string]string{"CYCLES_MOCK_LOG_LEVEL": "LOUD"}, "CYCLES_MOCK_LOG_LEVEL"},
		"virtual time":                {[]string{"serve", "-virtual-time", "soon"}, nil, "virtual-time"},
		"certificate in no directory": {[]string{"serve", "-addr", "127.0.0.1:0", "-tls-cert", "no/such/dir.pem"}, nil, "no/such/dir.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run(t.Context(), c.args, func(n string) string { return c.env[n] }, io.Discard, &stderr)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, stderr.String(), c.want)
		})
	}
}

func TestInitPrintsTheTemplate(t *testing.T) {
	var stdout bytes.Buffer
	assert.Equal(t, exitOK, run(t.Context(), []string{"init"}, os.Getenv, &stdout, io.Discard))
	assert.Equal(t, mockserver.ConfigTemplate, stdout.String())
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitOK, run(t.Context(), []string{"help"}, os.Getenv, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "serve")
	assert.Equal(t, exitOK, run(t.Context(), []string{"serve", "-h"}, os.Getenv, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-journal-size")
	assert.Contains(t, stderr.String(), "CYCLES_MOCK_LOG_LEVEL")
}

func TestDemoHasAConversationAndGoesOnServing(t *testing.T) {
	p := begin(t, nil, "demo", "-addr", "127.0.0.1:0")
	url, talk := p.url()
	for _, want := range []string{"curl -s '" + url + "/v1/reservations'", "/extend'", "/commit'", `"status":"COMMITTED"`, `"remaining":{"amount":99650000`} {
		assert.Contains(t, talk, want)
	}
	status, _ := fetch(t, httpClient(t, nil), "GET", url+"/v1/balances?tenant=acme-corp", "", "X-Cycles-API-Key", demoKey)
	assert.Equal(t, 200, status)
	assert.Equal(t, exitOK, p.end())
}

func BenchmarkStartToFirstAnswer(b *testing.B) {
	for b.Loop() {
		ctx, stop := context.WithCancel(context.Background())
		r, w := io.Pipe()
		exit := make(chan int, 1)
		go func() {
			exit <- run(ctx, []string{"serve", "-addr", "127.0.0.1:0", "-log-level", "ERROR"}, func(string) string { return "" }, w, io.Discard)
		}()
		line, err := bufio.NewReader(r).ReadString('\n')
		require.NoError(b, err)
		transport := &http.Transport{}
		resp, err := (&http.Client{Transport: transport, Timeout: time.Second}).Get(strings.TrimSpace(strings.TrimPrefix(line, "cycles-mock ready at ")) + "/healthz")
		require.NoError(b, err)
		require.NoError(b, resp.Body.Close())
		b.StopTimer()
		transport.CloseIdleConnections()
		stop()
		<-exit
		b.StartTimer()
	}
}
