// Package attest makes a server that keeps no evidence into one that does, so
// that the checks of evidence can be seen to pass, and to fail when a defect is
// put in front.
//
// Every decision, commit, release and refusal for the budget gets an envelope
// as the reference server writes them: signed, addressed by its content, and
// referred to in the answer. Nothing else of the answers changes.
package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// Base is the deployment base of the envelopes, which ends in /v1.
const Base = "https://cycles.example.com/v1"

// keyID names the one key of the key set.
const keyID = "k1"

// Notary answers like the server behind and keeps the evidence.
type Notary struct {
	next http.Handler
	now  func() time.Time
	did  string
	key  ed25519.PrivateKey

	mu        sync.Mutex
	envelopes map[string][]byte         // by evidence id
	seals     map[string]map[string]any // references by what was attested, so that a replay refers to the first
	records   map[string]map[string]any // references by reservation and artifact
}

// New puts a notary in front of next. Envelopes are dated by now. They name
// their key by itself, or by its place in the key set if named is true.
func New(next http.Handler, now func() time.Time, named bool) *Notary {
	seed := sha256.Sum256([]byte("cycles-conformance"))
	n := &Notary{
		next: next, now: now, key: ed25519.NewKeyFromSeed(seed[:]),
		envelopes: make(map[string][]byte), seals: make(map[string]map[string]any), records: make(map[string]map[string]any),
	}
	n.did = hex.EncodeToString(n.public())
	if named {
		n.did = "did:cycles:example#" + keyID
	}
	return n
}

func (n *Notary) public() ed25519.PublicKey { return n.key.Public().(ed25519.PublicKey) }

func (n *Notary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(request))
	rec := httptest.NewRecorder()
	n.next.ServeHTTP(rec, r)

	status, body := rec.Code, rec.Body.Bytes()
	artifact, reservation := subject(r, rec)
	switch part := strings.Split(r.URL.Path, "/"); {
	case len(part) == 4 && part[2] == "evidence":
		if envelope := n.envelope(part[3]); envelope != nil && r.Method == http.MethodGet {
			status, body = http.StatusOK, envelope
			rec.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
	case r.URL.Path == "/v1/.well-known/cycles-jwks.json" && r.Method == http.MethodGet:
		status, body = http.StatusOK, n.keySet()
		rec.Header().Set("Cache-Control", "public, max-age=300")
	case artifact != "":
		body = n.stamp(artifact, reservation, r, request, body)
	case r.Method == http.MethodGet && status == http.StatusOK && strings.HasPrefix(r.URL.Path, "/v1/reservations"):
		body = n.annotate(r, body)
	}
	maps.Copy(w.Header(), rec.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// subject tells what kind of envelope the answer gets, if any, and which
// reservation it is about.
func subject(r *http.Request, rec *httptest.ResponseRecorder) (artifact, reservation string) {
	if r.Method != http.MethodPost {
		return "", ""
	}
	part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	verb := part[len(part)-1]
	switch {
	case r.URL.Path == "/v1/decide":
		artifact = "decide"
	case r.URL.Path == "/v1/reservations":
		artifact = "reserve"
	case len(part) == 3 && (verb == "commit" || verb == "release"):
		artifact, reservation = verb, part[1]
	default:
		return "", ""
	}
	switch rec.Code {
	case http.StatusOK:
		return artifact, reservation
	case http.StatusConflict, http.StatusGone:
		return "error", ""
	default:
		return "", ""
	}
}

func (n *Notary) envelope(id string) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.envelopes[id]
}

// stamp seals the answer and refers to the envelope in it.
func (n *Notary) stamp(artifact, reservation string, r *http.Request, request, answer []byte) []byte {
	asked, told := decode(request), decode(answer)
	if told == nil {
		return answer
	}
	attested := maps.Clone(told)
	delete(attested, "remaining_ttl_ms")
	delete(attested, "cycles_evidence") // of a notary behind this one
	name := string(canonical([]any{r.URL.Path, r.Header.Get("X-Cycles-API-Key"), asked, attested}))

	n.mu.Lock()
	defer n.mu.Unlock()
	reference, ok := n.seals[name]
	if !ok {
		reference = n.seal(artifact, map[string]any{"request": asked, "response": attested})
		n.seals[name] = reference
	}
	if id, ok := told["reservation_id"].(string); ok {
		reservation = id
	}
	if reservation != "" {
		if n.records[reservation] == nil {
			n.records[reservation] = make(map[string]any)
		}
		n.records[reservation][artifact] = reference
	}
	told["cycles_evidence"] = reference
	return encode(told)
}

// seal writes an envelope and returns the reference to it.
func (n *Notary) seal(artifact string, content map[string]any) map[string]any {
	envelope := map[string]any{
		"schema_version": "cycles-evidence/v0.1",
		"artifact_type":  artifact,
		"server_id":      Base,
		"signer_did":     n.did,
		"issued_at_ms":   n.now().UnixMilli(),
		"payload":        map[string]any{artifact: content},
		"evidence_id":    "",
		"signature":      "",
	}
	sum := sha256.Sum256(canonical(envelope))
	id := hex.EncodeToString(sum[:])
	envelope["evidence_id"] = id
	envelope["signature"] = hex.EncodeToString(ed25519.Sign(n.key, canonical(envelope)))
	n.envelopes[id] = encode(envelope)
	return map[string]any{"evidence_id": id, "cycles_evidence_url": Base + "/evidence/" + id}
}

// annotate shows what was recorded of a reservation, in a listing only when it
// is asked for.
func (n *Notary) annotate(r *http.Request, answer []byte) []byte {
	body := decode(answer)
	rows, isList := body["reservations"].([]any)
	if !isList {
		rows = []any{body}
	} else if !slices.ContainsFunc(strings.Split(r.URL.Query().Get("include"), ","), func(token string) bool {
		return strings.TrimSpace(token) == "evidence"
	}) {
		return answer
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, item := range rows {
		row, _ := item.(map[string]any)
		id, _ := row["reservation_id"].(string)
		if record := n.records[id]; record != nil {
			row["evidence"] = maps.Clone(record)
		}
	}
	return encode(body)
}

func (n *Notary) keySet() []byte {
	return encode(map[string]any{"keys": []any{map[string]any{
		"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": keyID, "status": "active", "cycles_nbf_ms": 0,
		"x": base64.RawURLEncoding.EncodeToString(n.public()),
	}}})
}

// decode is nil for what is no object.
func decode(body []byte) map[string]any {
	s := strictjson.New(body)
	v, err := s.Any()
	if err != nil || s.End() != nil {
		return nil
	}
	m, _ := v.(map[string]any)
	return m
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return b
}

func canonical(v any) []byte {
	b, err := strictjson.Canonical(encode(v))
	if err != nil {
		panic(err) // it was just encoded
	}
	return b
}
