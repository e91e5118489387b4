package checks

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// evidence is about the signed record of decisions: the references in answers,
// the envelopes behind them, and the keys that prove them.
func evidence() []suite.Check {
	return slices.Concat(evidenceReferences(), evidenceEnvelopes(), evidenceRoutes(), evidenceKeys())
}

// reference is a cycles_evidence member.
type reference struct{ id, url string }

// wantReference reads the reference that an answer must carry.
func wantReference(t *suite.T, a *suite.Answer) reference {
	r := reference{t.WantString(a, "cycles_evidence.evidence_id"), t.WantString(a, "cycles_evidence.cycles_evidence_url")}
	raw, err := hex.DecodeString(r.id)
	t.True(a, err == nil && len(raw) == sha256.Size && r.id == strings.ToLower(r.id), "evidence_id is 64 lower-case hex digits", "%q", r.id)
	return r
}

// recorded are the operations that leave evidence, each with what its
// envelope is called.
func recorded() []call {
	var all []call
	for _, c := range calls() {
		if c.name != "event" && c.name != "extend" && c.name != "dry-run" {
			all = append(all, c)
		}
	}
	return append(all, call{
		name: "denial", ops: []suite.Op{suite.Create}, line: 818,
		ready: func(_ context.Context, t *suite.T, b *target.Budget) *suite.Request { return t.Create(b, 1<<62) },
		succeeded: func(t *suite.T, a *suite.Answer) {
			t.WantError(a, http.StatusConflict, "BUDGET_EXCEEDED")
		},
	})
}

func artifact(name string) string {
	switch name {
	case "create":
		return "reserve"
	case "denial":
		return "error"
	default:
		return name
	}
}

func evidenceNeeds() []target.Kind { return []target.Kind{target.Funded, target.Evidence} }

func evidenceReferences() []suite.Check {
	lines := map[string]int{"decide": 1130, "create": 1405, "commit": 1486, "release": 1518, "denial": 818}
	var all []suite.Check
	for _, c := range recorded() {
		all = append(all, suite.Check{
			ID: "evidence.reference-" + c.name, Level: suite.Must, Section: "CyclesEvidenceRef", Lines: []int{lines[c.name], 691, 725, 726}, Edition: suite.Current,
			Requirement: "The answer refers to its evidence, with an absolute URL that ends in /evidence/ and the id and holds /v1 once.",
			Needs:       evidenceNeeds(), Ops: c.ops,
			Run: func(ctx context.Context, t *suite.T) {
				a := c.first(ctx, t, t.Budget(target.Funded))
				r := wantReference(t, a)
				u, err := url.Parse(r.url)
				t.True(a, err == nil && u.IsAbs() && u.Host != "", "an absolute URL", "%q", r.url)
				t.True(a, strings.HasSuffix(u.Path, "/evidence/"+r.id), "a URL that ends in /evidence/ and the id", "%q", r.url)
				t.True(a, !strings.Contains(u.Path, "/v1/v1/"), "a URL with /v1 once", "%q", r.url)
			},
		})
	}
	return append(all, suite.Check{
		ID: "evidence.reservation-map", Level: suite.Must, Section: "ReservationDetail", Lines: []int{734, 1594, 1778}, Edition: suite.Current,
		Requirement: "A reservation keeps the references of its create and of its commit or release; get shows them, and a listing when it is asked to.",
		Needs:       evidenceNeeds(), Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.Get, suite.List},
		Run: func(ctx context.Context, t *suite.T) {
			s := newShelf(t, t.Budget(target.Funded))
			settle := map[string]func(*suite.Reservation) *suite.Request{
				"commit": func(res *suite.Reservation) *suite.Request { return t.Commit(res, 1) }, "release": t.Release,
			}
			for name, request := range settle {
				res := s.reserve(ctx, 1)
				made := wantReference(t, res.Created)
				settled := t.Do(ctx, request(res))
				t.Given(settled, http.StatusOK)
				a, d := detail(ctx, t, res)
				t.WantStatus(a, http.StatusOK)
				wantMember(t, a, d, "evidence.reserve.evidence_id", made.id)
				wantMember(t, a, d, "evidence."+name+".evidence_id", wantReference(t, settled).id)
				l := walkReservations(ctx, t, s.list().WithQuery("include", "evidence"))
				r := l.wantRow(t, res.ID)
				if r["evidence"] == nil {
					t.WarnAt(l.last(), "include=evidence shows the references", "it does not")
				} else {
					wantMember(t, l.last(), r, "evidence.reserve.evidence_id", made.id)
				}
				l = walkReservations(ctx, t, s.list())
				wantNoMember(t, l.last(), l.wantRow(t, res.ID), "evidence")
			}
		},
	})
}

// late is how long an envelope may take to be served after its answer.
const late = 20 * time.Second

// envelope fetches the evidence, which may come a little later than the
// answer that refers to it.
func envelope(ctx context.Context, t *suite.T, id string) *suite.Answer {
	var a *suite.Answer
	t.Eventually(ctx, late, 500*time.Millisecond, func() bool {
		a = t.Do(ctx, t.Evidence(id))
		return a.Status != http.StatusNotFound
	})
	t.WantStatus(a, http.StatusOK)
	_, ok := a.Value.(map[string]any)
	t.True(a, ok, "an envelope", "%s", suite.Describe(a))
	return a
}

// canonical is the envelope in its canonical form with some members emptied.
func canonical(t *suite.T, a *suite.Answer, emptied ...string) []byte {
	e := maps.Clone(a.Value.(map[string]any))
	for _, member := range emptied {
		e[member] = ""
	}
	raw, err := json.Marshal(e)
	t.NoError(err)
	form, err := strictjson.Canonical(raw)
	t.NoError(err)
	return form
}

func evidenceEnvelopes() []suite.Check {
	var all []suite.Check
	for _, c := range recorded() {
		ops := slices.Concat(c.ops, []suite.Op{suite.Evidence})
		all = append(all,
			suite.Check{
				ID: "evidence.envelope-" + c.name, Level: suite.Must, Section: "CyclesEvidenceEnvelope", Lines: []int{578, 616, 2767}, Edition: suite.Current,
				Requirement: "The envelope is served under its id without a key, names the right artifact, and its id is the SHA-256 of its canonical form.",
				Needs:       evidenceNeeds(), Ops: ops, Waits: true,
				Run: func(ctx context.Context, t *suite.T) {
					answer := c.first(ctx, t, t.Budget(target.Funded))
					id := wantReference(t, answer).id
					a := envelope(ctx, t, id)
					t.Want(a, "evidence_id", id)
					t.Want(a, "artifact_type", artifact(c.name))
					t.True(a, a.Has("payload."+artifact(c.name)), "payload has the member "+artifact(c.name), "it has not")
					sum := sha256.Sum256(canonical(t, a, "evidence_id", "signature"))
					t.True(a, hex.EncodeToString(sum[:]) == id, "evidence_id is the SHA-256 of the canonical envelope without id and signature",
						"that is %x", sum)
				},
			},
			suite.Check{
				ID: "evidence.transport-" + c.name, Level: suite.Must, Section: "CyclesEvidenceRef", Lines: []int{704, 712}, Edition: suite.Current,
				Requirement: "What the envelope attests holds neither cycles_evidence nor remaining_ttl_ms.",
				Needs:       evidenceNeeds(), Ops: ops, Waits: true,
				Run: func(ctx context.Context, t *suite.T) {
					a := envelope(ctx, t, wantReference(t, c.first(ctx, t, t.Budget(target.Funded))).id)
					payload, ok := a.Get("payload." + artifact(c.name))
					t.True(a, ok, "payload has the member "+artifact(c.name), "it has not")
					for _, member := range []string{"cycles_evidence", "remaining_ttl_ms"} {
						t.True(a, !holds(payload, member), "no "+member+" in the payload", "it is there")
					}
				},
			})
	}
	return append(all, suite.Check{
		ID: "evidence.signature", Level: suite.Must, Section: "CyclesEvidenceEnvelope", Lines: []int{584, 608, 2837}, Edition: suite.Current,
		Requirement: "The envelope is signed with the key that it names: the hex one itself, or the one of the key set under its id whose time covers the envelope.",
		Needs:       evidenceNeeds(), Ops: []suite.Op{suite.Create, suite.Evidence, suite.JWKS}, Waits: true,
		Run: func(ctx context.Context, t *suite.T) {
			res := t.Reserve(ctx, t.Budget(target.Funded), 1)
			a := envelope(ctx, t, wantReference(t, res.Created).id)
			signature, err := hex.DecodeString(t.WantString(a, "signature"))
			t.True(a, err == nil && len(signature) == ed25519.SignatureSize, "signature is 128 hex digits", "%q", a.Str("signature"))
			key := signer(ctx, t, a)
			t.True(a, ed25519.Verify(key, canonical(t, a, "signature"), signature),
				"a signature by "+a.Str("signer_did")+" over the canonical envelope without it", "it does not verify")
		},
	})
}

// holds tells whether a member of that name is anywhere in v.
func holds(v any, member string) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if k == member || holds(e, member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, member) })
	}
	return false
}

// signer finds the public key that an envelope names.
func signer(ctx context.Context, t *suite.T, envelope *suite.Answer) ed25519.PublicKey {
	did := t.WantString(envelope, "signer_did")
	if raw, err := hex.DecodeString(did); err == nil && len(raw) == ed25519.PublicKeySize {
		return raw
	}
	_, kid, ok := strings.Cut(did, "#")
	t.True(envelope, ok, "signer_did is a key in hex or names one of the key set", "%q", did)
	issued := t.WantInt(envelope, "issued_at_ms")
	a := t.Do(ctx, t.JWKS())
	t.WantStatus(a, http.StatusOK)
	for _, k := range a.Items("keys") {
		id, _ := suite.Lookup(k, "kid")
		if from, until := window64(k); id == kid && from <= issued && issued < until {
			return publicKey(t, a, k)
		}
	}
	t.FailAt(a, "a key "+kid+" whose time covers the envelope", "there is none")
	return nil
}

// window64 is the time in which a key of the key set is good.
func window64(key any) (from, until int64) {
	nbf, _ := suite.Lookup(key, "cycles_nbf_ms")
	exp, _ := suite.Lookup(key, "cycles_exp_ms")
	from, _ = suite.Integer(nbf)
	until, ok := suite.Integer(exp)
	if !ok {
		until = 1<<63 - 1
	}
	return from, until
}

func publicKey(t *suite.T, a *suite.Answer, key any) ed25519.PublicKey {
	x, _ := suite.Lookup(key, "x")
	s, _ := x.(string)
	raw, err := base64.RawURLEncoding.DecodeString(s)
	t.True(a, err == nil && len(raw) == ed25519.PublicKeySize, "x is 32 bytes in base64url without padding", "%q", s)
	return raw
}

func evidenceRoutes() []suite.Check {
	unknown := strings.Repeat("0f", sha256.Size)
	return []suite.Check{
		{
			ID: "evidence.unknown", Level: suite.Must, Section: "getEvidence", Lines: []int{2773, 2794}, Edition: suite.Current,
			Requirement: "An id that no envelope has is answered 404 NOT_FOUND, to anybody.",
			Ops:         []suite.Op{suite.Evidence},
			Run: func(ctx context.Context, t *suite.T) {
				t.WantError(t.Do(ctx, t.Evidence(unknown)), http.StatusNotFound, "NOT_FOUND")
				// Not every id is unknown: this one is none.
				t.WantError(t.Do(ctx, t.Evidence("none")), http.StatusBadRequest, "INVALID_REQUEST")
			},
		},
		{
			ID: "evidence.bad-id", Level: suite.Must, Section: "EvidenceId", Lines: []int{533, 2793}, Edition: suite.Current,
			Requirement: "An id that is not 64 lower-case hex digits is refused with 400 INVALID_REQUEST.",
			Ops:         []suite.Op{suite.Evidence},
			Run: func(ctx context.Context, t *suite.T) {
				for _, id := range []string{strings.ToUpper(unknown), unknown[1:], unknown + "0", "g" + unknown[1:]} {
					t.WantError(t.Do(ctx, t.Evidence(id)), http.StatusBadRequest, "INVALID_REQUEST")
				}
				t.WantError(t.Do(ctx, t.Evidence(unknown)), http.StatusNotFound, "NOT_FOUND")
			},
		},
		{
			ID: "evidence.any-key", Level: suite.Should, Section: "getEvidence", Lines: []int{36, 2773}, Edition: suite.Current,
			Requirement: "The public routes take no notice of a key, not even of a wrong one.",
			Ops:         []suite.Op{suite.Evidence, suite.JWKS},
			Run: func(ctx context.Context, t *suite.T) {
				t.WantError(t.Do(ctx, t.Evidence(unknown).WithKey(t.Name())), http.StatusNotFound, "NOT_FOUND")
				t.WantError(t.Do(ctx, t.Evidence("none").WithKey(t.Name())), http.StatusBadRequest, "INVALID_REQUEST")
				a := t.Do(ctx, t.JWKS().WithKey(t.Name()))
				t.True(a, a.Status == http.StatusOK || a.Status == http.StatusNotFound, "200, or 404 where there is no key set", "%s", suite.Describe(a))
			},
		},
		{
			ID: "evidence.cached", Level: suite.Should, Section: "getEvidence", Lines: []int{473, 2777}, Edition: suite.Current,
			Requirement: "Envelopes never change, so they are served with Cache-Control: public, immutable.",
			Needs:       evidenceNeeds(), Ops: []suite.Op{suite.Create, suite.Evidence}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				a := envelope(ctx, t, wantReference(t, t.Reserve(ctx, t.Budget(target.Funded), 1).Created).id)
				control := a.Header.Get("Cache-Control")
				t.True(a, strings.Contains(control, "public") && strings.Contains(control, "immutable"),
					"Cache-Control with public and immutable", "%q", control)
			},
		},
		{
			ID: "evidence.immutable", Level: suite.Must, Section: "getEvidence", Lines: []int{2776, 2769}, Edition: suite.Current,
			Requirement: "An envelope is served as the same bytes each time, also when its reservation has gone on.",
			Needs:       evidenceNeeds(), Ops: []suite.Op{suite.Create, suite.Commit, suite.Evidence}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				id := wantReference(t, res.Created).id
				first := envelope(ctx, t, id)
				t.Given(t.Do(ctx, t.Commit(res, 1)), http.StatusOK)
				again := envelope(ctx, t, id)
				t.WantSame(first, again)
				t.Want(again, "evidence_id", id)
			},
		},
	}
}

func evidenceKeys() []suite.Check {
	// published reads the key set, which a server need not publish.
	published := func(ctx context.Context, t *suite.T) *suite.Answer {
		a := t.Do(ctx, t.JWKS())
		if a.Status == http.StatusNotFound && a.Code() == "NOT_FOUND" {
			t.Skip("the server publishes no key set, which is optional")
		}
		t.WantStatus(a, http.StatusOK)
		t.True(a, len(a.Items("keys")) > 0, "at least one key", "%s", suite.Describe(a))
		return a
	}
	return []suite.Check{
		{
			ID: "evidence.keys", Level: suite.Must, Section: "CyclesEvidenceJwks", Lines: []int{645, 662, 666, 2834, 2837}, Edition: suite.Current,
			Requirement: "The key set is served without a key: Ed25519 keys in the form of RFC 8037 with the time from which they are good.",
			Needs:       []target.Kind{target.Evidence}, Ops: []suite.Op{suite.JWKS},
			Run: func(ctx context.Context, t *suite.T) {
				a := published(ctx, t)
				for _, k := range a.Items("keys") {
					key, _ := k.(row)
					wantMember(t, a, key, "kty", "OKP")
					wantMember(t, a, key, "crv", "Ed25519")
					if alg, there := key["alg"]; there {
						t.True(a, alg == "EdDSA", "alg is EdDSA", "%v", alg)
					}
					publicKey(t, a, key)
					_, isText := key["kid"].(string)
					from, ok := suite.Integer(key["cycles_nbf_ms"])
					_, until := window64(k)
					t.True(a, isText && ok && from < until, "kid, and cycles_nbf_ms before cycles_exp_ms", "%s", spelled(k))
				}
			},
		},
		{
			ID: "evidence.no-private-key", Level: suite.Must, Section: "getEvidenceJwks", Lines: []int{2840}, Edition: suite.Current,
			Requirement: "The key set holds no private key.",
			Needs:       []target.Kind{target.Evidence}, Ops: []suite.Op{suite.JWKS},
			Run: func(ctx context.Context, t *suite.T) {
				a := published(ctx, t)
				for _, k := range a.Items("keys") {
					key, _ := k.(row)
					publicKey(t, a, key)
					_, private := key["d"]
					t.True(a, !private, "keys without the member d", "one has it")
				}
			},
		},
		{
			ID: "evidence.keys-cached", Level: suite.Should, Section: "getEvidenceJwks", Lines: []int{2840}, Edition: suite.Current,
			Requirement: "The key set changes when a key is replaced, so it is served with Cache-Control: public and a max-age, and not as immutable.",
			Needs:       []target.Kind{target.Evidence}, Ops: []suite.Op{suite.JWKS},
			Run: func(ctx context.Context, t *suite.T) {
				a := published(ctx, t)
				control := a.Header.Get("Cache-Control")
				t.True(a, strings.Contains(control, "public") && strings.Contains(control, "max-age=") && !strings.Contains(control, "immutable"),
					"Cache-Control with public and max-age, without immutable", "%q", control)
			},
		},
	}
}
