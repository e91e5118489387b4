package defects

import (
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func evidence() []Defect {
	fetch, keys := on(suite.Evidence), on(suite.JWKS)
	upper := func(_ *suite.Request, v any) any {
		s, ok := v.(string)
		if !ok {
			return gone
		}
		return strings.ToUpper(s)
	}
	return []Defect{
		{
			ID:    "evidence.not-told",
			About: "answers do not refer to their evidence",
			Fails: []string{"evidence.reference-*", "evidence.reservation-map", "evidence.envelope-*", "evidence.transport-*", "evidence.signature", "evidence.immutable"},
			Wrap:  after(every, drop("cycles_evidence")),
		},
		{
			ID:    "evidence.id-in-upper-case",
			About: "evidence ids are in upper case",
			Fails: []string{"evidence.reference-*"},
			Wrap:  after(every, changeIfThere("cycles_evidence.evidence_id", upper)),
		},
		{
			ID:    "evidence.url-with-v1-twice",
			About: "the URL of an envelope holds /v1 twice",
			Fails: []string{"evidence.reference-*"},
			Wrap: after(every, changeIfThere("cycles_evidence.cycles_evidence_url", func(_ *suite.Request, v any) any {
				s, _ := v.(string)
				return strings.Replace(s, "/v1/", "/v1/v1/", 1)
			})),
		},
		{
			ID:    "evidence.relative-url",
			About: "the URL of an envelope is a path only",
			Fails: []string{"evidence.reference-*"},
			Wrap: after(every, changeIfThere("cycles_evidence.cycles_evidence_url", func(_ *suite.Request, v any) any {
				s, _ := v.(string)
				return s[strings.Index(s, "/v1/"):]
			})),
		},
		{
			ID:    "evidence.forgotten-by-reservations",
			About: "a reservation does not keep its evidence",
			Fails: []string{"evidence.reservation-map"},
			Wrap:  after(on(suite.Get), drop("evidence")),
		},
		{
			ID:    "evidence.not-served",
			About: "no envelope is ever served",
			Fails: []string{"evidence.envelope-*", "evidence.transport-*", "evidence.signature", "evidence.immutable"},
			Wrap:  instead(fetch, refuse(404, "NOT_FOUND")),
		},
		{
			ID:    "evidence.wrong-artifact",
			About: "every envelope calls itself that of a decision",
			Fails: []string{"evidence.envelope-create", "evidence.envelope-commit", "evidence.envelope-release", "evidence.envelope-denial"},
			Wrap:  after(fetch, whenOK(set("artifact_type", "decide"))),
		},
		{
			ID:    "evidence.not-by-content",
			About: "envelopes are changed after they were addressed",
			Fails: []string{"evidence.envelope-*", "evidence.signature"},
			Wrap:  after(fetch, whenOK(add("issued_at_ms", 1))),
		},
		{
			ID:    "evidence.attests-transport",
			About: "envelopes hold the reference to themselves and the time left",
			Fails: []string{"evidence.transport-*", "evidence.envelope-*", "evidence.signature"},
			Wrap: after(fetch, whenOK(change("payload", func(_ *suite.Request, v any) any {
				payload, _ := v.(map[string]any)
				for _, artifact := range payload {
					if m, ok := artifact.(map[string]any); ok {
						m["remaining_ttl_ms"], m["cycles_evidence"] = 1, map[string]any{}
					}
				}
				return payload
			}))),
		},
		{
			ID:    "evidence.signed-by-another",
			About: "envelopes name another key than the one that signed them",
			Fails: []string{"evidence.signature"},
			Wrap:  after(fetch, whenOK(set("signer_did", strings.Repeat("ab", 32)))),
		},
		{
			ID:    "evidence.needs-key",
			About: "evidence and key set are served to who has a key only",
			Fails: []string{"evidence.unknown", "evidence.bad-id", "evidence.keys", "evidence.no-private-key", "evidence.envelope-*"},
			Wrap: instead(func(r *suite.Request) bool {
				return on(suite.Evidence, suite.JWKS)(r) && r.Header.Get(suite.HeaderKey) == ""
			}, refuse(401, "UNAUTHORIZED")),
		},
		{
			ID:    "evidence.wrong-key-refused",
			About: "evidence is refused to who comes with a wrong key",
			Fails: []string{"evidence.any-key"},
			Wrap: instead(func(r *suite.Request) bool {
				return on(suite.Evidence, suite.JWKS)(r) && r.Header.Get(suite.HeaderKey) != ""
			}, refuse(401, "UNAUTHORIZED")),
		},
		{
			ID:    "evidence.unknown-is-empty",
			About: "an unknown id is answered 200 with an empty object",
			Fails: []string{"evidence.unknown"},
			Wrap:  after(fetch, whenRefused(404, "NOT_FOUND", success(func(*suite.Request) map[string]any { return map[string]any{} }))),
		},
		{
			ID:    "evidence.id-not-checked",
			About: "an id that cannot be one is answered 404",
			Fails: []string{"evidence.bad-id"},
			Wrap:  after(fetch, whenRefused(400, "INVALID_REQUEST", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "evidence.dated-anew",
			About: "an envelope tells how often it was fetched",
			Fails: []string{"evidence.immutable", "evidence.envelope-*", "evidence.signature"},
			Wrap: remembering(func() rule {
				var fetched memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if fetch(r) && a.Status == http.StatusOK {
						return add("issued_at_ms", int64(count(&fetched, r.Path)))(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "evidence.not-cached",
			About: "envelopes and key set are served with Cache-Control: no-store",
			Fails: []string{"evidence.cached", "evidence.keys-cached"},
			Wrap:  after(on(suite.Evidence, suite.JWKS), setHeader("Cache-Control", "no-store")),
		},
		{
			ID:    "evidence.padded-key",
			About: "the key set writes keys in base64url with padding",
			Fails: []string{"evidence.keys", "evidence.no-private-key"},
			Wrap: after(keys, change("keys.*.x", func(_ *suite.Request, v any) any {
				s, _ := v.(string)
				return s + "="
			})),
		},
		{
			ID:    "evidence.other-algorithm",
			About: "the key set says alg ES256",
			Fails: []string{"evidence.keys"},
			Wrap:  after(keys, set("keys.0.alg", "ES256")),
		},
		{
			ID:    "evidence.private-key-served",
			About: "the key set holds the private key too",
			Fails: []string{"evidence.no-private-key"},
			Wrap:  after(keys, set("keys.0.d", "c2VjcmV0")),
		},
	}
}

// changeIfThere is change for a member that is there.
func changeIfThere(path string, f func(r *suite.Request, v any) any) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		if !a.Has(path) {
			return a
		}
		return change(path, f)(r, a)
	}
}
