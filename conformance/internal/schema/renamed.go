package schema

import (
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

const remaining = "remaining_ttl_ms"

// renamed tells whether the answer for a live lease has a member that the
// contract does not know in the place of remaining_ttl_ms. Leaving that out
// breaks no MUST and is no finding by itself, but beside an unknown member it is
// the half of a wrong name that the schema cannot see.
func renamed(a *suite.Answer, s *openapi3.Schema) bool {
	if s.Properties[remaining] == nil || a.Has(remaining) {
		return false
	}
	if a.Request.Op == suite.Create && a.Str("reservation_id") == "" {
		return false
	}
	members, _ := a.Value.(map[string]any)
	for name := range members {
		if s.Properties[name] == nil {
			return true
		}
	}
	return false
}
