package mockserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// access says whose keys open an endpoint.
type access byte

const (
	tenantOnly access = iota
	tenantOrAdmin
	adminOnly
	public
)

// bodyRule says what an endpoint makes of a body.
type bodyRule byte

const (
	noBody       bodyRule = iota
	jsonBody              // has to be application/json
	optionalBody          // as jsonBody, when there is a body
	anyBody               // of any type
)

// endpoint is one method of one path.
type endpoint struct {
	operation Operation // "" for what is not of the runtime API
	access    access
	body      bodyRule
	// quiet keeps the requests out of the journal.
	quiet bool
	// handle returns the status and what to encode as the body.
	handle func(*exchange) (int, any, error)
}

// methods are the endpoints of one path.
type methods map[string]endpoint

// access is whose key a method that is not there wants: that of the path's
// others, when they agree.
func (m methods) access() access {
	first, agreed := tenantOnly, true
	seen := false
	for _, e := range m {
		agreed = agreed && (!seen || e.access == first)
		first, seen = e.access, true
	}
	if !agreed {
		return tenantOrAdmin
	}
	return first
}

// ServeHTTP is called by the mux with the path's values set on the request.
func (m methods) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.(*exchange).methods = m
}

// notAllowed answers a method that the path does not have.
func (m methods) notAllowed() *problem {
	var allowed []string
	for method := range m {
		allowed = append(allowed, method)
	}
	slices.Sort(allowed)
	return &problem{
		status: http.StatusMethodNotAllowed, code: gen.ErrorCodeInvalidRequest,
		message: "the path does not take this method",
		header:  http.Header{"Allow": {strings.Join(allowed, ", ")}},
	}
}
