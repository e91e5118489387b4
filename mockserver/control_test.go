package mockserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// control calls a /_mock route and checks the answer against ControlAPI.
func (w *world) control(method, path, body string) *reply {
	w.t.Helper()
	r := w.as("").call(method, "/_mock/"+path, body)
	document, err := openapi3.NewLoader().LoadFromData([]byte(mockserver.ControlAPI))
	require.NoError(w.t, err)
	route, _, _ := strings.Cut("/_mock/"+path, "?")
	if parts := strings.Split(route, "/"); len(parts) > 3 {
		parts[3] = "{id}"
		route = strings.Join(parts, "/")
	}
	item := document.Paths.Value(route)
	require.NotNil(w.t, item, route)
	declared := item.GetOperation(method).Responses.Status(r.status)
	require.NotNil(w.t, declared, "%s %s answered %d: %s", method, route, r.status, r.raw)
	if media := declared.Value.Content.Get("application/json"); media != nil {
		var doc any
		require.NoError(w.t, json.Unmarshal([]byte(r.raw), &doc))
		require.NoError(w.t, media.Schema.Value.VisitJSON(doc))
	} else if declared.Value.Content == nil {
		assert.Empty(w.t, r.raw)
	}
	return r
}

func TestControlOfTheClock(t *testing.T) {
	w := acme(t, plenty)
	w.held("k", 10)
	r := w.control("GET", "clock", "").is(200)
	assert.Equal(t, true, r.at("virtual"))
	assert.Equal(t, at(0), r.int("now_ms"))
	assert.Equal(t, at(30_000), w.control("POST", "clock", `{"advance":"30s"}`).is(200).int("now_ms"))
	assert.Equal(t, at(30_250), w.control("POST", "clock", `{"advance":250}`).is(200).int("now_ms"))
	assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	w.control("POST", "clock", `{"to":"2027-01-15T09:00:00Z"}`).is(200)
	assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
	for _, body := range []string{`{}`, `{"advance":"1s","to":"2027-01-15T09:00:00Z"}`, `{"advance":"soon"}`, `{"add":1}`, `x`, ``, `{"advance":1,"advance":2}`} {
		w.control("POST", "clock", body).is(400)
	}
	w.control("POST", "clock", `{"advance":"-1s"}`).is(409)
	w.control("POST", "clock", `{"to":"2027-01-15T08:00:00Z"}`).is(409)
	w.control("POST", "clock", `{"to":"9999-12-31T23:59:59Z"}`).is(200)
	w.control("POST", "clock", `{"advance":1}`).is(409)
	realtime := &world{mockserver.New(), t, ""}
	assert.Equal(t, false, realtime.control("GET", "clock", "").at("virtual"))
	realtime.control("POST", "clock", `{"advance":"1s"}`).is(409)
}

func TestControlOfFaults(t *testing.T) {
	w := acme(t, plenty)
	id := w.control("POST", "faults", `{"operation":"createReservation","count":2,"status":429,"retry_after":"x","delay":0}`).is(201).str("id")
	assert.Equal(t, "x", w.reserve("k", 1).header.Get("Retry-After"))
	l := w.control("GET", "faults", "").is(200)
	assert.Equal(t, id, l.str("faults.0.id"))
	assert.EqualValues(t, 1, l.int("faults.0.seen"))
	assert.Equal(t, "status", l.str("faults.0.kind"))
	w.control("DELETE", "faults/"+id, "").is(204)
	w.control("DELETE", "faults/"+id, "").is(404)
	w.reserve("k", 1).ok()
	w.control("POST", "faults", `{"kind":"truncate","bytes":3,"count":-1}`).is(201)
	w.control("DELETE", "faults", "").is(204)
	assert.Empty(t, w.control("GET", "faults", "").at("faults"))
	for _, body := range []string{`{}`, `{"kind":"explode"}`, `{"status":500,"unknown":1}`, `{"operation":"extend","status":500}`, `[]`} {
		w.control("POST", "faults", body).is(400)
	}
}

func TestControlOfRequests(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	w.commit(id, "c", 1).ok()
	w.call("GET", "/nowhere", "")
	r := w.control("GET", "requests?operation=commitReservation", "").is(200)
	assert.Equal(t, id, r.str("requests.0.reservation_id"))
	assert.Equal(t, commitBody("c", 1), r.str("requests.0.body"))
	assert.Nil(t, r.at("requests.1"))
	assert.NotContains(t, r.raw, "acme-key")
	assert.Equal(t, "/nowhere", w.control("GET", "requests?unmatched=true", "").str("requests.0.path"))
	assert.Len(t, w.control("GET", "requests?reservation_id="+id, "").at("requests"), 2)
	assert.Len(t, w.control("GET", "requests?idempotency_key=k&tenant=acme&count=1", "").at("requests"), 1)
	assert.Len(t, w.control("GET", "requests?idempotency_key=k&tenant=globex", "").at("requests"), 0)
	w.control("GET", "requests?count=9&timeout=1ms", "").is(408)
	for _, q := range []string{"count=x", "count=-1", "timeout=soon", "timeout=6m", "unmatched=perhaps", "operation=%zz"} {
		w.control("GET", "requests?"+q, "").is(400)
	}
	c := w.control("GET", "counters", "").is(200)
	assert.EqualValues(t, 1, c.int("requests.commitReservation.200"))
	assert.EqualValues(t, 1, c.int("reservations.COMMITTED"))
	w.control("DELETE", "requests", "").is(204)
	assert.Empty(t, w.control("GET", "requests", "").at("requests"))
}

func TestControlOfTheState(t *testing.T) {
	w := acme(t, plenty)
	w.held("k", 10)
	id := w.control("POST", "snapshots", "").is(201).str("id")
	w.held("k2", 20)
	w.control("POST", "snapshots/"+id+"/restore", "").is(204)
	assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	w.control("DELETE", "snapshots/"+id, "").is(204)
	w.control("DELETE", "snapshots/"+id, "").is(404)
	w.control("POST", "snapshots/"+id+"/restore", "").is(404)
	w.control("POST", "seed", `{"tenants":[{"id":"globex","keys":["globex-key"]}]}`).is(204)
	w.as("globex-key").list("").ok()
	r := w.control("POST", "seed", "tenants:\n  - id: x\n    what: 1\n").is(400)
	assert.Contains(t, r.str("message"), `line 3: there is no setting "what"`)
	id = w.control("POST", "snapshots", "").is(201).str("id")
	w.control("POST", "reset", "").is(204)
	assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
	w.control("POST", "snapshots/"+id+"/restore", "").is(404)
	assert.Equal(t, 401, w.as("globex-key").list("").status)
}

func TestTheControlDocument(t *testing.T) {
	w := newWorld(t)
	r := w.as("").call("GET", "/_mock/openapi.yaml", "").ok()
	assert.Equal(t, mockserver.ControlAPI, r.raw)
	assert.Equal(t, "application/yaml", r.header.Get("Content-Type"))
	document, err := openapi3.NewLoader().LoadFromData([]byte(r.raw))
	require.NoError(t, err)
	require.NoError(t, document.Validate(context.Background()))
	for path, item := range document.Paths.Map() {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			got := w.as("").call(method, strings.ReplaceAll(path, "{id}", "nobody"), "").status
			documented := item.GetOperation(method) != nil
			assert.Equal(t, !documented, got == http.StatusMethodNotAllowed, "%s %s answered %d", method, path, got)
		}
	}
	assert.Equal(t, 404, w.call("GET", "/_mock/nothing", "").status)
}

func TestWaitingOverHTTPEndsWithTheCall(t *testing.T) {
	s := mockserver.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL()+"/_mock/requests?count=1&timeout=5m", nil)
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	_, err = transport.RoundTrip(req)
	require.Error(t, err)
	// Start's Close would hang if the handler went on.
}
