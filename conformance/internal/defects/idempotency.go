package defects

import (
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func idempotency() []Defect {
	return []Defect{
		{
			ID:    "idempotency.header-ignored",
			About: "X-Idempotency-Key is not looked at",
			Fails: []string{"idempotency.header-mismatch-*"},
			Wrap: before(every, func(r *suite.Request) *suite.Request {
				return r.WithoutHeader(suite.HeaderIdempotency)
			}),
		},
		{
			ID:    "idempotency.acts-while-refusing",
			About: "a commit or release whose header contradicts its body is refused, but done",
			Fails: []string{"idempotency.header-mismatch-commit", "idempotency.header-mismatch-release"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if r.Header.Get(suite.HeaderIdempotency) != "" && a.Status == http.StatusBadRequest {
					next(r.WithoutHeader(suite.HeaderIdempotency))
				}
				return a
			}),
		},
		{
			ID:    "idempotency.header-refused",
			About: "a request with X-Idempotency-Key is refused, whatever it says",
			Fails: []string{"idempotency.header-match-*"},
			Wrap: instead(func(r *suite.Request) bool { return r.Header.Get(suite.HeaderIdempotency) != "" },
				refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "idempotency.header-stands-in",
			About: "a key in the header stands in for the one in the body",
			Fails: []string{"idempotency.header-alone"},
			Wrap: lenient(every, http.StatusBadRequest, func(r *suite.Request) *suite.Request {
				if r.Body == nil || r.Key() != "" {
					return r
				}
				return r.With("idempotency_key", r.Header.Get(suite.HeaderIdempotency))
			}),
		},
		{
			ID:    "idempotency.payload-not-compared",
			About: "a known key gets its first answer, whatever comes with it",
			Fails: []string{"idempotency.mismatch-*"},
			Wrap: replays(every, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				if a := next(r); a.Code() != "IDEMPOTENCY_MISMATCH" {
					return a
				}
				return first
			}),
		},
		{
			ID:    "idempotency.amounts-compared-only",
			About: "of the payload that belongs to a key only the amount and the time are compared",
			Fails: []string{"idempotency.mismatch-create", "idempotency.mismatch-dry-run", "idempotency.mismatch-decide", "idempotency.mismatch-event", "idempotency.mismatch-commit", "idempotency.mismatch-extend"},
			Wrap: replays(every, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				a := next(r)
				for _, path := range []string{"estimate.amount", "actual.amount", "extend_by_ms"} {
					mine, _ := suite.Lookup(any(r.Body), path)
					firsts, _ := suite.Lookup(any(first.Request.Body), path)
					if mine != firsts {
						return a
					}
				}
				if a.Code() == "IDEMPOTENCY_MISMATCH" {
					return first
				}
				return a
			}),
		},
		{
			ID:    "idempotency.mismatch-is-new",
			About: "a known key with another payload is taken for a new one",
			Fails: []string{"idempotency.mismatch-*"},
			Wrap: remembering(func() rule {
				var serial memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if a.Code() != "IDEMPOTENCY_MISMATCH" {
						return a
					}
					return next(anew(r, count(&serial, "")))
				}
			}),
		},
		{
			ID:    "idempotency.mismatch-takes-the-key",
			About: "a refused payload takes the key over from the first one",
			Fails: []string{"idempotency.mismatch-*"},
			Wrap: remembering(func() rule {
				var taken memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if was, _ := taken.get(identity(r)); was && a.Status < 300 {
						return refused(409, "IDEMPOTENCY_MISMATCH")
					}
					if a.Code() == "IDEMPOTENCY_MISMATCH" {
						taken.swap(identity(r), true)
					}
					return a
				}
			}),
		},
		{
			ID:    "idempotency.keys-shared-by-tenants",
			About: "a key that one tenant used is another tenant's too",
			Fails: []string{"idempotency.per-tenant"},
			Wrap: remembering(func() rule {
				var owners memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					key := r.Header.Get(suite.HeaderKey)
					if owner, was := owners.get(r.Path + r.Key()); was && owner != key && r.Key() != "" && key != "" {
						return refused(409, "IDEMPOTENCY_MISMATCH")
					}
					a := next(r)
					if r.Key() != "" && key != "" && a.Status < 300 {
						owners.first(r.Path+r.Key(), key)
					}
					return a
				}
			}),
		},
		{
			ID:    "idempotency.keys-shared-by-endpoints",
			About: "a key that was used on one endpoint is a mismatch on every other",
			Fails: []string{"idempotency.per-endpoint", "idempotency.per-endpoint-event"},
			Wrap: remembering(func() rule {
				var used memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					key := r.Header.Get(suite.HeaderKey) + r.Key()
					if path, was := used.get(key); was && path != r.Path && r.Key() != "" {
						return refused(409, "IDEMPOTENCY_MISMATCH")
					}
					a := next(r)
					if r.Key() != "" && a.Status < 300 {
						used.first(key, r.Path)
					}
					return a
				}
			}),
		},
		{
			ID:    "idempotency.key-cut-off",
			About: "a key counts by its first 255 characters",
			Fails: []string{"idempotency.whole-key"},
			Wrap: before(every, func(r *suite.Request) *suite.Request {
				if k := r.Key(); len(k) == 256 {
					return r.With("idempotency_key", k[:255])
				}
				return r
			}),
		},
		{
			ID:    "idempotency.key-case-ignored",
			About: "keys that differ in case are the same",
			Fails: []string{"idempotency.key-case"},
			Wrap: before(every, func(r *suite.Request) *suite.Request {
				if k := r.Key(); k != "" {
					return r.With("idempotency_key", strings.ToLower(k))
				}
				return r
			}),
		},
	}
}
