package client

import "github.com/cycles-protocol/cycles-go/gen"

// The schemas of the evidence routes. They are open: members that the document
// does not name are kept.

var evidenceEnvelope = open(object(
	required("schema_version", func(v *gen.CyclesEvidenceEnvelope) *gen.CyclesEvidenceEnvelopeSchemaVersion { return &v.SchemaVersion },
		oneOf(gen.CyclesEvidenceEnvelopeSchemaVersionCyclesEvidenceV01)),
	required("artifact_type", func(v *gen.CyclesEvidenceEnvelope) *gen.CyclesEvidenceEnvelopeArtifactType { return &v.ArtifactType },
		oneOf(gen.CyclesEvidenceEnvelopeArtifactTypeDecide, gen.CyclesEvidenceEnvelopeArtifactTypeReserve,
			gen.CyclesEvidenceEnvelopeArtifactTypeCommit, gen.CyclesEvidenceEnvelopeArtifactTypeRelease,
			gen.CyclesEvidenceEnvelopeArtifactTypeError)),
	required("server_id", func(v *gen.CyclesEvidenceEnvelope) *string { return &v.ServerID }, anyText),
	required("signer_did", func(v *gen.CyclesEvidenceEnvelope) *string { return &v.SignerDID }, anyText),
	required("issued_at_ms", func(v *gen.CyclesEvidenceEnvelope) *int64 { return &v.IssuedAtMs }, signed),
	optional("trace_id", func(v *gen.CyclesEvidenceEnvelope) **string { return &v.TraceID }, anyText),
	required("payload", func(v *gen.CyclesEvidenceEnvelope) *map[string]any { return &v.Payload }, freeForm),
	required("evidence_id", func(v *gen.CyclesEvidenceEnvelope) *string { return &v.EvidenceID }, hexDigits(evidenceIDLen)),
	required("signature", func(v *gen.CyclesEvidenceEnvelope) *string { return &v.Signature }, hexDigits(signatureLen)),
), func(v *gen.CyclesEvidenceEnvelope) *map[string]any { return &v.AdditionalProperties })

var evidenceJWK = open(object(
	required("kty", func(v *gen.CyclesEvidenceJWK) *gen.CyclesEvidenceJWKKty { return &v.Kty }, oneOf(gen.CyclesEvidenceJWKKtyOKP)),
	required("crv", func(v *gen.CyclesEvidenceJWK) *gen.CyclesEvidenceJWKCrv { return &v.Crv }, oneOf(gen.CyclesEvidenceJWKCrvEd25519)),
	optional("alg", func(v *gen.CyclesEvidenceJWK) **gen.CyclesEvidenceJWKAlg { return &v.Alg }, oneOf(gen.CyclesEvidenceJWKAlgEdDSA)),
	required("x", func(v *gen.CyclesEvidenceJWK) *string { return &v.X }, anyText),
	required("kid", func(v *gen.CyclesEvidenceJWK) *string { return &v.Kid }, anyText),
	required("cycles_nbf_ms", func(v *gen.CyclesEvidenceJWK) *int64 { return &v.CyclesNbfMs }, signed),
	nullable(optional("cycles_exp_ms", func(v *gen.CyclesEvidenceJWK) **int64 { return &v.CyclesExpMs }, signed)),
	optional("status", func(v *gen.CyclesEvidenceJWK) **gen.CyclesEvidenceJWKStatus { return &v.Status },
		oneOf(gen.CyclesEvidenceJWKStatusActive, gen.CyclesEvidenceJWKStatusRetired)),
), func(v *gen.CyclesEvidenceJWK) *map[string]any { return &v.AdditionalProperties }).read

var evidenceJWKS = open(object(
	required("keys", func(v *gen.CyclesEvidenceJWKS) *[]gen.CyclesEvidenceJWK { return &v.Keys }, list(0, evidenceJWK)),
), func(v *gen.CyclesEvidenceJWKS) *map[string]any { return &v.AdditionalProperties })

func open[T any](s *schema[T], additional func(*T) *map[string]any) *schema[T] {
	s.additional = additional
	return s
}
