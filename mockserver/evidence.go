package mockserver

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

// This server signs nothing, so there is never an envelope to find.

func getEvidence(x *exchange) (int, any, error) {
	const idLength = 64
	if !isLowerHex(x.r.PathValue("evidence_id"), idLength) {
		return 0, nil, invalidRequest("evidence_id has to be %d lower-case hexadecimal digits", idLength)
	}
	return 0, nil, notFound("there is no evidence with this id")
}

func getEvidenceJWKS(*exchange) (int, any, error) {
	return 0, nil, notFound("this server publishes no key set")
}

func notFound(message string) *problem {
	return &problem{status: http.StatusNotFound, code: gen.ErrorCodeNotFound, message: message}
}
