package defects

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// validation has a defect for each thing that a server may forget to check: it
// takes what is wrong for something that is right. Others refuse in the wrong
// way, or too much.
func validation() []Defect {
	var defects []Defect
	for _, p := range posts() {
		for _, m := range p.mends {
			defects = append(defects, Defect{
				ID:    "validation." + p.name + "-" + m.what,
				About: "what is wrong with the " + m.what + " of a " + p.name + " is not looked at",
				Fails: m.fails(p.name),
				Wrap:  lenient(on(p.op), http.StatusBadRequest, m.edit),
			})
		}
	}
	return append(defects, refusals()...)
}

// post is an operation with a body, and what a server may forget to check of it.
type post struct {
	name  string
	op    suite.Op
	mends []mend
}

// mend makes right what is wrong with one part of a request.
type mend struct {
	// what is the part of the check's id behind the operation.
	what string
	// types says that there is a second check, for values of another type.
	types bool
	edit  edit
}

func (m mend) fails(op string) []string {
	ids := []string{"validation." + op + "-" + m.what}
	if m.types {
		ids = append(ids, ids[0]+"-type")
	}
	return ids
}

func posts() []post {
	common := []mend{
		{"idempotency-key", true, newKey},
		{"unknown-member", false, all(leaveOut("conformance_unknown"), leaveOut("Idempotency_Key"))},
		{"trailing-bytes", false, firstDocument},
		{"repeated-member", false, lastMember},
	}
	metadata := mend{"metadata", false, leaveOut("metadata")}
	overage := mend{"overage-policy", false, leaveOut("overage_policy")}
	metrics := []mend{
		{"metrics", true, leaveOut("metrics")},
		{"metrics-unknown-member", false, leaveOut("metrics.conformance_unknown")},
	}
	amount := func(member string, n int64) []mend {
		return []mend{
			{member, true, put(member, suite.Amount("USD_MICROCENTS", n))},
			{member + "-unknown-member", false, leaveOut(member + ".currency")},
		}
	}
	spend := func(member string, n int64) []mend {
		return append(amount(member, n),
			mend{"subject-type", false, all(leaveOut("subject.toolset"), leaveOut("subject.dimensions"))},
			mend{"subject-unknown-member", false, leaveOut("subject.region")},
			mend{"subject-length", false, leaveOut("subject.toolset")},
			mend{"dimensions", false, leaveOut("subject.dimensions")},
			mend{"action", true, put("action", map[string]any{"kind": "k", "name": "n"})},
			mend{"action-unknown-member", false, leaveOut("action.version")},
			mend{"action-tags", false, leaveOut("action.tags")},
			metadata)
	}
	return []post{
		{"create", suite.Create, slices.Concat(common, spend("estimate", 2), []mend{
			overage,
			{"ttl-ms", true, leaveOut("ttl_ms")},
			{"grace-period-ms", true, leaveOut("grace_period_ms")},
			{"dry-run-type", false, leaveOut("dry_run")},
		})},
		{"decide", suite.Decide, slices.Concat(common, spend("estimate", 2))},
		{"event", suite.Event, slices.Concat(common, spend("actual", 1), metrics, []mend{
			overage,
			{"client-time-ms", false, leaveOut("client_time_ms")},
		})},
		{"commit", suite.Commit, slices.Concat(common, amount("actual", 1), metrics, []mend{metadata})},
		{"release", suite.Release, append(common[:len(common):len(common)], mend{"reason", false, leaveOut("reason")})},
		{"extend", suite.Extend, append(common[:len(common):len(common)], metadata, mend{"by-ms", true, put("extend_by_ms", 1000)})},
	}
}

// newKey replaces the idempotency key by one that follows from the rest.
func newKey(r *suite.Request) *suite.Request {
	body, _ := r.Without("idempotency_key").Payload()
	return r.With("idempotency_key", fmt.Sprintf("%x", sha256.Sum256(append(body, r.Path...))))
}

// firstDocument takes the first JSON document of a body that has more.
func firstDocument(r *suite.Request) *suite.Request {
	var first map[string]any
	d := json.NewDecoder(bytes.NewReader(r.RawBody))
	d.UseNumber()
	if d.Decode(&first) != nil {
		return r
	}
	c := r.Raw("")
	c.RawBody, c.Body = nil, first
	return c
}

// lastMember takes the last of two members of one name, and no trailing bytes.
func lastMember(r *suite.Request) *suite.Request {
	if !json.Valid(r.RawBody) {
		return r
	}
	return firstDocument(r)
}

// refusals are the defects of refusing.
func refusals() []Defect {
	spends := on(suite.Create, suite.Decide, suite.Event)
	raw := func(r *suite.Request) bool { return r.RawBody != nil }
	return []Defect{
		{
			ID:    "validation.malformed-is-the-servers-fault",
			About: "a body that is no JSON object is answered 500 INTERNAL_ERROR",
			Fails: []string{"validation.*-body", "validation.*-trailing-bytes", "validation.*-repeated-member"},
			Wrap:  after(raw, whenRefused(400, "INVALID_REQUEST", refusal(500, "INTERNAL_ERROR"))),
		},
		{
			ID:    "validation.white-space-is-malformed",
			About: "a body that does not begin with its object is refused",
			Fails: []string{"validation.*-white-space"},
			Wrap:  whiteSpaceRefused,
		},
		{
			ID:    "validation.no-scope-no-budget",
			About: "a subject without any level is answered 404, since it has no budget",
			Fails: []string{"validation.create-subject", "validation.decide-subject", "validation.event-subject"},
			Wrap: after(spends.and("subject", func(v any) bool {
				m, _ := v.(map[string]any)
				return m["tenant"] == nil
			}), whenRefused(400, "INVALID_REQUEST", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "validation.acts-while-refusing",
			About: "a commit with an unknown member is answered 400, but done",
			Fails: []string{"validation.refused-does-nothing"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if r.Op == suite.Commit && a.Status == http.StatusBadRequest {
					next(r.Without("unknown"))
				}
				return a
			}),
		},
		{
			ID:    "validation.long-id-breaks",
			About: "a reservation id of more than 128 characters is answered 500",
			Fails: []string{"validation.reservation-id-length"},
			Wrap: instead(func(r *suite.Request) bool { return len(r.Reservation) > 128 }, func(*suite.Request) *suite.Answer {
				return refused(500, "INTERNAL_ERROR")
			}),
		},
		{
			ID:    "validation.edges-refused",
			About: "the last value within each bound is refused",
			Fails: []string{
				"validation.*-idempotency-key", "validation.*-subject-length", "validation.*-dimensions", "validation.*-action",
				"validation.*-action-tags", "validation.create-ttl-ms", "validation.create-grace-period-ms", "validation.*-metrics",
				"validation.*-reason", "validation.extend-by-ms", "validation.*-client-time-ms",
			},
			Wrap: instead(atAnEdge, func(*suite.Request) *suite.Answer { return refused(400, "INVALID_REQUEST") }),
		},
		{
			ID:    "validation.dry-run-needed",
			About: "a dry_run of false is refused",
			Fails: []string{"validation.create-dry-run-type"},
			Wrap: instead(on(suite.Create).and("dry_run", equals(false)), func(*suite.Request) *suite.Answer {
				return refused(400, "INVALID_REQUEST")
			}),
		},
		{
			ID:    "validation.policies-not-known",
			About: "only the default overage policy is taken",
			Fails: []string{"validation.*-overage-policy"},
			Wrap: instead(which(every).and("overage_policy", func(v any) bool { return v == "REJECT" || v == "ALLOW_WITH_OVERDRAFT" }),
				func(*suite.Request) *suite.Answer { return refused(400, "INVALID_REQUEST") }),
		},
		{
			ID:    "validation.metadata-flat",
			About: "metadata with objects in it is refused",
			Fails: []string{"validation.*-metadata"},
			Wrap: instead(which(every).and("metadata.b.c", not(equals(nil))), func(*suite.Request) *suite.Answer {
				return refused(400, "INVALID_REQUEST")
			}),
		},
		{
			ID:    "validation.integers-one-way",
			About: "an integer in another spelling, or beyond 32 bits among the metrics, is refused",
			Fails: []string{"validation.*-spelling", "validation.*-metrics-large"},
			Wrap:  instead(oddInteger, func(*suite.Request) *suite.Answer { return refused(400, "INVALID_REQUEST") }),
		},
	}
}

// whiteSpaceRefused looks at the bytes, which the words of this package do not
// keep when they are JSON.
func whiteSpaceRefused(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(bytes.TrimSpace(body)) < len(body) {
			write(w, refused(http.StatusBadRequest, "INVALID_REQUEST"))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// atAnEdge picks requests with a value that is just allowed.
func atAnEdge(r *suite.Request) bool {
	length := func(path string) int {
		v, _ := suite.Lookup(any(r.Body), path)
		switch v := v.(type) {
		case string:
			return len(v)
		case []any:
			return len(v)
		case map[string]any:
			return len(v)
		}
		return -1
	}
	number := func(path string) int64 {
		v, _ := suite.Lookup(any(r.Body), path)
		n, ok := suite.Integer(v)
		if !ok {
			return -1
		}
		return n
	}
	return len(r.Key()) == 256 || length("subject.toolset") == 128 || length("subject.dimensions") == 16 ||
		length("action.kind") == 64 || length("action.tags") == 10 || length("metrics.model_version") == 128 ||
		length("reason") == 256 || number("ttl_ms") == 1000 || number("grace_period_ms") == 60_000 ||
		number("extend_by_ms") == 1 || number("client_time_ms") == 0
}

func oddInteger(r *suite.Request) bool {
	for _, path := range []string{"estimate.amount", "actual.amount"} {
		v, _ := suite.Lookup(any(r.Body), path)
		if n, ok := suite.Integer(v); ok && fmt.Sprint(v) != fmt.Sprint(n) {
			return true
		}
	}
	v, _ := suite.Lookup(any(r.Body), "metrics.tokens_input")
	n, _ := suite.Integer(v)
	return n > 1<<31
}
