package mockserver

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// The /_mock routes put into HTTP what the methods of Server do. They take no
// key. ControlAPI describes them.

// ControlAPI is the OpenAPI document of the /_mock routes; GET
// /_mock/openapi.yaml serves it.
//
//go:embed control.openapi.yaml
var ControlAPI string

func controlRoutes() map[string]methods {
	control := func(handle func(*exchange) (int, any, error)) endpoint {
		return endpoint{access: public, body: anyBody, quiet: true, handle: handle}
	}
	return map[string]methods{
		"/_mock/":             {"GET": control(noControl), "POST": control(noControl), "DELETE": control(noControl)},
		"/_mock/openapi.yaml": {"GET": control(controlDocument)},
		"/_mock/clock":        {"GET": control(readClock), "POST": control(moveClock)},
		"/_mock/faults":       {"GET": control(listFaults), "POST": control(injectFault), "DELETE": control(clearFaults)},
		"/_mock/faults/{id}":  {"DELETE": control(withdrawFault)},
		"/_mock/requests":     {"GET": control(readRequests), "DELETE": control(clearRequests)},
		"/_mock/counters":     {"GET": control(readCounters)},
		"/_mock/reset":        {"POST": control(resetAll)},
		"/_mock/seed":         {"POST": control(seedMore)},
		"/_mock/snapshots":    {"POST": control(takeSnapshot)},
		"/_mock/snapshots/{id}": {
			"DELETE": control(dropSnapshot),
		},
		"/_mock/snapshots/{id}/restore": {"POST": control(restoreSnapshot)},
	}
}

// rawBody is a body that is sent as it is.
type rawBody struct {
	contentType, text string
}

func controlDocument(*exchange) (int, any, error) {
	return http.StatusOK, rawBody{"application/yaml", ControlAPI}, nil
}

func noControl(*exchange) (int, any, error) {
	return 0, nil, notFound("there is no such control; GET /_mock/openapi.yaml lists them")
}

// read decodes the body of a control request into v.
func (x *exchange) read(v any) error {
	if err := strictjson.Check(x.entry.Body); err != nil {
		return invalidRequest("Malformed request body: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(x.entry.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return invalidRequest("Malformed request body: %v", err)
	}
	return nil
}

type clockDoc struct {
	Virtual bool      `json:"virtual"`
	Now     time.Time `json:"now"`
	NowMs   int64     `json:"now_ms"`
	Waiting int       `json:"waiting"`
}

func readClock(x *exchange) (int, any, error) {
	now := x.s.Now()
	return http.StatusOK, clockDoc{x.s.clock.real == nil, now.UTC(), now.UnixMilli(), x.s.Waiting()}, nil
}

func moveClock(x *exchange) (int, any, error) {
	var doc struct {
		Advance *duration  `json:"advance"`
		To      *time.Time `json:"to"`
	}
	if err := x.read(&doc); err != nil {
		return 0, nil, err
	}
	var err error
	switch {
	case doc.Advance != nil && doc.To == nil:
		err = x.s.advance(time.Duration(*doc.Advance))
	case doc.To != nil && doc.Advance == nil:
		err = x.s.advanceTo(*doc.To)
	default:
		return 0, nil, invalidRequest("either advance or to is required")
	}
	if err != nil {
		return 0, nil, refused(err)
	}
	return readClock(x)
}

// refused answers a command that the server's state does not allow.
func refused(err error) *problem {
	return &problem{status: http.StatusConflict, code: gen.ErrorCodeInvalidRequest, message: err.Error()}
}

func listFaults(x *exchange) (int, any, error) {
	docs := []faultDoc{}
	for _, a := range x.s.faults.snapshot() {
		docs = append(docs, newFaultDoc(&a))
	}
	return http.StatusOK, map[string]any{"faults": docs}, nil
}

func injectFault(x *exchange) (int, any, error) {
	var doc faultDoc
	if err := x.read(&doc); err != nil {
		return 0, nil, err
	}
	id, err := x.s.faults.inject(doc.fault())
	if err != nil {
		return 0, nil, invalidRequest("%v", err)
	}
	return http.StatusCreated, map[string]string{"id": id}, nil
}

func clearFaults(x *exchange) (int, any, error) {
	x.s.faults.restore(nil)
	return http.StatusNoContent, nil, nil
}

func withdrawFault(x *exchange) (int, any, error) {
	if !x.s.Withdraw(x.r.PathValue("id")) {
		return 0, nil, notFound("no armed fault has this id")
	}
	return http.StatusNoContent, nil, nil
}

// requestDoc is a Request in JSON.
type requestDoc struct {
	Seq            uint64      `json:"seq"`
	Received       time.Time   `json:"received"`
	Answered       time.Time   `json:"answered"`
	Operation      Operation   `json:"operation,omitempty"`
	Route          string      `json:"route,omitempty"`
	Method         string      `json:"method"`
	Path           string      `json:"path"`
	Query          string      `json:"query,omitempty"`
	Header         http.Header `json:"headers"`
	Body           string      `json:"body"`
	ReservationID  string      `json:"reservation_id,omitempty"`
	IdempotencyKey string      `json:"idempotency_key,omitempty"`
	Tenant         string      `json:"tenant,omitempty"`
	Idempotency    Verdict     `json:"idempotency,omitempty"`
	Status         int         `json:"status"`
	Applied        bool        `json:"applied"`
	Answer         string      `json:"answer"`
	RequestID      string      `json:"request_id"`
	TraceID        string      `json:"trace_id"`
	Fault          string      `json:"fault,omitempty"`
}

func newRequestDoc(r *Request) requestDoc {
	return requestDoc{
		Seq: r.Seq, Received: r.Received.UTC(), Answered: r.Answered.UTC(), Operation: r.Operation, Route: r.Route,
		Method: r.Method, Path: r.Path, Query: r.Query, Header: r.Header, Body: string(r.Body),
		ReservationID: r.ReservationID, IdempotencyKey: r.IdempotencyKey, Tenant: r.Tenant, Idempotency: r.Idempotency,
		Status: r.Status, Applied: r.Applied, Answer: string(r.Answer), RequestID: r.RequestID, TraceID: r.TraceID, Fault: r.Fault,
	}
}

const (
	defaultWait = 10 * time.Second
	longestWait = 5 * time.Minute
)

// readRequests lists the journal. With count it waits, in real time, until so
// many match.
func readRequests(x *exchange) (int, any, error) {
	values, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	get := func(name string) string { v, _ := values.first(name); return v }
	m := Match{
		Operation: Operation(get("operation")), ReservationID: get("reservation_id"),
		IdempotencyKey: get("idempotency_key"), Tenant: get("tenant"),
	}
	if m.Unmatched, err = values.boolean("unmatched"); err != nil {
		return 0, nil, err
	}
	count, wait := 0, duration(defaultWait)
	if v := get("count"); v != "" {
		if count, err = strconv.Atoi(v); err != nil || count < 0 {
			return 0, nil, invalidRequest("count has to be an integer of at least 0")
		}
	}
	if v := get("timeout"); v != "" {
		if err := wait.set(v); err != nil || wait < 0 || wait > duration(longestWait) {
			return 0, nil, invalidRequest("timeout: %v, up to %v", errDuration, longestWait)
		}
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), time.Duration(wait))
	defer cancel()
	found, err := x.s.WaitForRequests(ctx, count, m)
	if err != nil {
		return 0, nil, &problem{status: http.StatusRequestTimeout, code: gen.ErrorCodeInvalidRequest, message: err.Error()}
	}
	docs := make([]requestDoc, len(found))
	for i := range found {
		docs[i] = newRequestDoc(&found[i])
	}
	return http.StatusOK, map[string]any{"requests": docs}, nil
}

func clearRequests(x *exchange) (int, any, error) {
	x.s.journal.clear()
	return http.StatusNoContent, nil, nil
}

type countersDoc struct {
	Requests     map[Operation]map[int]int     `json:"requests"`
	Unmatched    int                           `json:"unmatched"`
	Replays      int                           `json:"replays"`
	Mismatches   int                           `json:"mismatches"`
	Faults       int                           `json:"faults"`
	Tenants      int                           `json:"tenants"`
	Budgets      int                           `json:"budgets"`
	Events       int                           `json:"events"`
	Reservations map[gen.ReservationStatus]int `json:"reservations"`
}

func readCounters(x *exchange) (int, any, error) {
	return http.StatusOK, countersDoc(x.s.Counters()), nil
}

func resetAll(x *exchange) (int, any, error) {
	x.s.Reset()
	x.s.snapshots.clear()
	return http.StatusNoContent, nil, nil
}

func seedMore(x *exchange) (int, any, error) {
	doc, err := parseSeed(x.entry.Body)
	if err != nil {
		return 0, nil, invalidRequest("%v", err)
	}
	if err := x.s.seed(doc); err != nil {
		return 0, nil, invalidRequest("%v", err)
	}
	return http.StatusNoContent, nil, nil
}

func takeSnapshot(x *exchange) (int, any, error) {
	return http.StatusCreated, map[string]string{"id": x.s.snapshots.add(x.s.Snapshot())}, nil
}

func restoreSnapshot(x *exchange) (int, any, error) {
	snap := x.s.snapshots.get(x.r.PathValue("id"))
	if snap == nil {
		return 0, nil, notFound("no snapshot has this id")
	}
	x.s.Restore(snap)
	return http.StatusNoContent, nil, nil
}

func dropSnapshot(x *exchange) (int, any, error) {
	if !x.s.snapshots.drop(x.r.PathValue("id")) {
		return 0, nil, notFound("no snapshot has this id")
	}
	return http.StatusNoContent, nil, nil
}
