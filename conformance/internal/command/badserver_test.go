package command

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

func serve(t *testing.T, h http.HandlerFunc, start func(http.Handler) *httptest.Server) string {
	t.Helper()
	srv := start(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(srv.Close)
	return srv.URL
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Cycles-Trace-Id", "0af7651916cd43dd8448eb211c80319c")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func problem(code string) string {
	return `{"error":"` + code + `","message":"no","request_id":"r","trace_id":"0af7651916cd43dd8448eb211c80319c"}`
}

var minimal = []string{"--key-a", "key-of-acme", "--key-b", "key-of-other", "--budget", "tenant:acme,TOKENS", "--budget-b", "tenant:other,TOKENS"}

// judge runs everything against url and returns what was said and the report,
// which is nil when there is none.
func judge(t *testing.T, url string, args ...string) (said, *report.Report) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "r.json")
	s := call(t, append(append([]string{"run", "--url", url, "--json", name}, minimal...), args...)...)
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return s, nil
	}
	require.NoError(t, err)
	var rep report.Report
	require.NoError(t, json.Unmarshal(data, &rep))
	return s, &rep
}

func TestServersThatCannotBeJudgedExitThreeWithAMessageAndNoReport(t *testing.T) {
	html := answer(200, "text/html; charset=utf-8", "<html>welcome</html>")
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only behind the body does a server notice that its client has gone
		<-r.Context().Done()
	}
	closes := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		url, says string
		args      []string
	}{
		"unreachable":        {"http://127.0.0.1:1", "connection refused", nil},
		"unknown host":       {"http://host.invalid", "host.invalid", nil},
		"TLS error":          {serve(t, html, httptest.NewTLSServer), "certificate", nil},
		"HTML everywhere":    {serve(t, html, httptest.NewServer), `this is no Cycles server, or another base URL is meant: POST /v1/reservations is answered 200 with content type "text/html; charset=utf-8"`, nil},
		"never answers":      {serve(t, hangs, httptest.NewServer), "no complete answer within 100ms", []string{"--request-timeout", "100ms"}},
		"closes connections": {serve(t, closes, httptest.NewServer), "EOF", nil},
		"wrong key":          {serve(t, answer(401, "application/json", problem("UNAUTHORIZED")), httptest.NewServer), "the server refuses the key: 401 UNAUTHORIZED", nil},
		"403 to everything":  {serve(t, answer(403, "application/json", problem("FORBIDDEN")), httptest.NewServer), "the server refuses the key: 403 FORBIDDEN", nil},
		"401 without a body": {serve(t, answer(401, "", ""), httptest.NewServer), "the server refuses the key: 401 Unauthorized with an empty body", nil},
		"500 as plain text":  {serve(t, answer(500, "text/plain", "oops"), httptest.NewServer), "answered 500", nil},
		"redirects": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/v1", http.StatusPermanentRedirect)
		}, httptest.NewServer), `redirects to "https://elsewhere.example/v1"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, rep := judge(t, c.url, c.args...)
			assert.Equal(t, ExitUndecided, s.code)
			assert.Contains(t, s.errors, c.says)
			assert.NotContains(t, s.errors, "key-of-")
			assert.Empty(t, s.out)
			assert.Nil(t, rep)
		})
	}
}

func TestWrongKeyOfTenantBIsNamed(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Cycles-API-Key") == "key-of-other" {
			answer(401, "application/json", problem("UNAUTHORIZED"))(w, r)
			return
		}
		answer(400, "application/json", problem("INVALID_REQUEST"))(w, r)
	}, httptest.NewServer)
	s, _ := judge(t, url)
	assert.Equal(t, ExitUndecided, s.code)
	assert.Contains(t, s.errors, "with the key of tenant other: the server refuses the key")
}

func TestServerThatSaysYesToEverythingPassesNothing(t *testing.T) {
	yes := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	}
	s, rep := judge(t, serve(t, yes, httptest.NewServer))
	require.NotNil(t, rep, s.errors)
	assert.Equal(t, ExitNotConformant, s.code)
	assert.Contains(t, s.out, "NOT CONFORMANT")
	assert.Positive(t, rep.Counts.Fail)
	for _, res := range rep.With(report.Passed) {
		t.Errorf("%s passed", res.ID)
	}
}

func TestServerThatFailsEverythingIsNotConformant(t *testing.T) {
	s, rep := judge(t, serve(t, answer(500, "application/json", problem("INTERNAL_ERROR")), httptest.NewServer))
	require.NotNil(t, rep, s.errors)
	assert.Equal(t, ExitNotConformant, s.code)
	assert.Contains(t, s.out, "NOT CONFORMANT")
	for _, res := range rep.With(report.Passed) {
		// What it says is well-formed; checks that look at nothing else may pass.
		assert.Contains(t, []string{"contract", "errors", "tracing", "headers"}, res.Area(), res.ID)
	}
}

func TestServerBehindItsOwnCertificateCanBeTrusted(t *testing.T) {
	srv := httptest.NewTLSServer(answer(500, "application/json", problem("INTERNAL_ERROR")))
	t.Cleanup(srv.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	for _, trust := range [][]string{{"--ca", ca}, {"--insecure"}} {
		s, rep := judge(t, srv.URL, append(trust, "--run", one)...)
		require.NotNil(t, rep, s.errors)
		assert.Zero(t, rep.Counts.Pass)
		assert.Equal(t, 1, rep.Counts.Total())
	}
}
