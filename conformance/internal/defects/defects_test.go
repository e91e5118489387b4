package defects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func TestEveryDefectSaysWhatItIs(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+$`)
	seen := map[string]bool{}
	for _, d := range All() {
		assert.Regexp(t, form, d.ID)
		assert.NotEmpty(t, d.About, d.ID)
		assert.NotEmpty(t, d.Fails, d.ID)
		assert.NotNil(t, d.Wrap, d.ID)
		assert.False(t, seen[d.ID], "%s is there twice", d.ID)
		seen[d.ID] = true
	}
}

// echo answers 200 with the body it got, and tells the method and URL in headers.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Asked", r.Method+" "+r.URL.String())
	w.Header().Set("Key", r.Header.Get(suite.HeaderKey))
	_, _ = io.Copy(w, r.Body)
})

func send(t *testing.T, h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set(suite.HeaderKey, "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestWhatIsNotSpoiledPassesUnchanged(t *testing.T) {
	h := after(on(suite.Commit), drop("a"))(echo)
	for _, body := range []string{``, `{"a":1.50,"b":9007199254740993}`, `{"a":1,"a":2}`, `{"a":`, `[1]`, `{} x`, "\xff"} {
		w := send(t, h, "POST", "/v1/events?x=1&y=%20", body)
		assert.Equal(t, "k", w.Header().Get("Key"))
		assert.Equal(t, "POST /v1/events?x=1&y=+", w.Header().Get("Asked"))
		if decode([]byte(body)) == nil {
			assert.Equal(t, body, w.Body.String())
		} else if strings.HasPrefix(body, "{") {
			assert.JSONEq(t, body, w.Body.String())
		}
	}
}

func TestOperationsAreTold(t *testing.T) {
	for _, c := range []struct {
		method, path string
		op           suite.Op
		id           string
	}{
		{"POST", "/v1/decide", suite.Decide, ""},
		{"POST", "/v1/reservations", suite.Create, ""},
		{"GET", "/v1/reservations", suite.List, ""},
		{"GET", "/v1/reservations/r1", suite.Get, "r1"},
		{"POST", "/v1/reservations/r1/commit", suite.Commit, "r1"},
		{"POST", "/v1/reservations/r1/release", suite.Release, "r1"},
		{"POST", "/v1/reservations/r1/extend", suite.Extend, "r1"},
		{"GET", "/v1/balances", suite.Balances, ""},
		{"POST", "/v1/events", suite.Event, ""},
		{"GET", "/v1/evidence/e1", suite.Evidence, ""},
		{"GET", "/v1/.well-known/cycles-jwks.json", suite.JWKS, ""},
		{"PUT", "/v1/decide", "", ""},
		{"POST", "/v1/reservations/r1/forget", "", "r1"},
	} {
		op, id := operation(c.method, c.path)
		assert.Equal(t, c.op, op, c.path)
		assert.Equal(t, c.id, id, c.path)
	}
}

func TestRequestsAndAnswersAreSpoiled(t *testing.T) {
	const event = "/v1/events"
	w := send(t, before(on(suite.Event), put("a.b", 7))(echo), "POST", event, `{"c":1}`)
	assert.JSONEq(t, `{"a":{"b":7},"c":1}`, w.Body.String())

	w = send(t, after(on(suite.Event), both(drop("l.*.x"), add("n", 2), set("new", true), setHeader("Asked", "")))(echo),
		"POST", event, `{"l":[{"x":1,"y":2},{"x":3}],"n":40}`)
	assert.JSONEq(t, `{"l":[{"y":2},{}],"n":42,"new":true}`, w.Body.String())
	assert.Empty(t, w.Header().Get("Asked"))

	w = send(t, after(on(suite.Event), whenOK(refusal(409, "BUDGET_EXCEEDED")))(echo), "POST", event, `{}`)
	assert.Equal(t, 409, w.Code)
	assert.Contains(t, w.Body.String(), `"error":"BUDGET_EXCEEDED"`)
	assert.NotEmpty(t, w.Header().Get("Asked"))

	w = send(t, instead(on(suite.Event), func(*suite.Request) *suite.Answer { return refused(500, "INTERNAL_ERROR") })(echo), "POST", event, `{}`)
	assert.Equal(t, 500, w.Code)
	assert.Empty(t, w.Header().Get("Asked"))
}

func TestALenientServerAsksAgain(t *testing.T) {
	strict := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		if strings.Contains(string(b), "bad") {
			w.WriteHeader(400)
		}
		_, _ = w.Write(b)
	})
	h := lenient(on(suite.Event), 400, leaveOut("bad"))(strict)
	w := send(t, h, "POST", "/v1/events", `{"bad":1,"x":2}`)
	assert.Equal(t, 200, w.Code)
	assert.JSONEq(t, `{"x":2}`, w.Body.String())
	assert.Equal(t, 400, send(t, h, "POST", "/v1/decide", `{"bad":1}`).Code)
}

func TestMemoryBelongsToOneBrokenServer(t *testing.T) {
	wrap := remembering(func() rule {
		var seen memory[*suite.Answer]
		return func(r *suite.Request, next server) *suite.Answer {
			a, _ := seen.first(r.Path, next(r))
			return a
		}
	})
	one, other := wrap(echo), wrap(echo)
	assert.Equal(t, "1", send(t, one, "POST", "/v1/events", "1").Body.String())
	assert.Equal(t, "1", send(t, one, "POST", "/v1/events", "2").Body.String())
	assert.Equal(t, "3", send(t, other, "POST", "/v1/events", "3").Body.String())
}
