package mockserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen/contract"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

var loadContract = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(contract.YAML())
})

// proving checks every answer that passes against the contract: a declared
// status against its schema, any other body against ErrorResponse. Answers
// that an injected fault made are let through.
type proving struct {
	t    testing.TB
	s    *mockserver.Server
	next http.RoundTripper
}

func (p proving) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	require.NoError(p.t, resp.Body.Close())
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return resp, nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasPrefix(r.URL.Path, "/_mock") || p.faulted(resp) {
		return resp, nil
	}
	p.prove(r, resp, body)
	return resp, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// faulted reports whether a fault acted on the request of this answer.
func (p proving) faulted(resp *http.Response) bool {
	r := p.s.Requests(mockserver.Match{RequestID: resp.Header.Get("X-Request-Id")})
	return len(r) == 1 && r[0].Fault != ""
}

func (p proving) prove(r *http.Request, resp *http.Response, body []byte) {
	p.t.Helper()
	require.NotEmpty(p.t, resp.Header.Get("X-Request-Id"))
	require.Regexp(p.t, `^[0-9a-f]{32}$`, resp.Header.Get("X-Cycles-Trace-Id"))
	require.NoError(p.t, strictjson.Check(body), "%s %s", r.Method, r.URL)
	schema, name := schemaOf(p.t, r, resp.StatusCode)
	if schema == nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc any
	require.NoError(p.t, d.Decode(&doc))
	require.NoError(p.t, schema.VisitJSON(doc, openapi3.VisitAsResponse()), "%s %s answered %d, which breaks %s: %s", r.Method, r.URL, resp.StatusCode, name, body)
	if resp.StatusCode >= 400 {
		members := doc.(map[string]any)
		require.Equal(p.t, resp.Header.Get("X-Request-Id"), members["request_id"])
		require.Equal(p.t, resp.Header.Get("X-Cycles-Trace-Id"), members["trace_id"])
	}
}

// schemaOf finds the schema for an answer; nil for a success of a path that the
// contract does not know.
func schemaOf(t testing.TB, r *http.Request, status int) (*openapi3.Schema, string) {
	t.Helper()
	doc, err := loadContract()
	require.NoError(t, err)
	if item := doc.Paths.Find(template(r.URL.Path)); item != nil {
		if op := item.GetOperation(r.Method); op != nil {
			if declared := op.Responses.Status(status); declared != nil {
				return declared.Value.Content.Get("application/json").Schema.Value, op.OperationID
			}
		}
	}
	if status < 300 {
		return nil, ""
	}
	return doc.Components.Schemas["ErrorResponse"].Value, "ErrorResponse"
}

// template is the contract's name of a path.
func template(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 3 && parts[1] == "v1" {
		switch parts[2] {
		case "reservations":
			parts[3] = "{reservation_id}"
		case "evidence":
			parts[3] = "{evidence_id}"
		}
	}
	return strings.Join(parts, "/")
}
