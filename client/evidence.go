package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var (
	getEvidence = operation[gen.CyclesEvidenceEnvelope]{
		op: OpGetEvidence, status: http.StatusOK, answer: evidenceEnvelope, lenient: true, access: noKey}
	getEvidenceJWKS = operation[gen.CyclesEvidenceJWKS]{
		op: OpGetEvidenceJWKS, status: http.StatusOK, answer: evidenceJWKS, lenient: true, access: noKey}
)

// Evidence is a signed envelope, decoded and as it came.
type Evidence struct {
	gen.CyclesEvidenceEnvelope
	// Raw is the answer's body. Hash and signature are to be checked over it,
	// since decoding and encoding again need not give the same document.
	Raw json.RawMessage
}

// GetEvidence fetches a signed envelope by its content hash (64 lower-case hex
// digits). The route is public: no key is sent. Signing is asynchronous, so a
// 404 shortly after the operation may only mean that it is not there yet.
func (c *Client) GetEvidence(ctx context.Context, id string, opts ...CallOption) (*Evidence, error) {
	x := begin(c, &getEvidence, opts)
	x.require(lowerHex(id, evidenceIDLen), "evidence_id", "64 lower-case hex digits")
	envelope, err := x.send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewGetEvidenceRequest(c.server, id)
	})
	if err != nil {
		return nil, err
	}
	return &Evidence{CyclesEvidenceEnvelope: *envelope, Raw: x.proved}, nil
}

// GetEvidenceJWKS fetches the server's signing keys. The route is public: no
// key is sent. A key of a kind this version does not know is still listed; the
// caller picks by validity window.
func (c *Client) GetEvidenceJWKS(ctx context.Context, opts ...CallOption) (*gen.CyclesEvidenceJWKS, error) {
	return begin(c, &getEvidenceJWKS, opts).send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewGetEvidenceJWKSRequest(c.server)
	})
}
