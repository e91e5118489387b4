package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func get() []Defect {
	read := on(suite.Get)
	return []Defect{
		{
			ID:    "get.amount-off",
			About: "get tells one more than was reserved",
			Fails: []string{"get.detail", "get.committed", "get.released"},
			Wrap:  after(read, add("reserved.amount", 1)),
		},
		{
			ID:    "get.tags-lost",
			About: "get tells the action without its tags",
			Fails: []string{"get.detail"},
			Wrap:  after(read, drop("action.tags")),
		},
		{
			ID:    "get.dimensions-lost",
			About: "the dimensions of a subject are taken and forgotten",
			Fails: []string{"get.dimensions"},
			Wrap:  after(read, drop("subject.dimensions")),
		},
		{
			ID:    "get.metadata-lost",
			About: "the metadata of a create is taken and forgotten",
			Fails: []string{"get.metadata", "get.committed"},
			Wrap:  after(read, drop("metadata")),
		},
		{
			ID:    "get.committed-metadata-lost",
			About: "the metadata of a commit is taken and forgotten",
			Fails: []string{"get.committed"},
			Wrap:  after(read, drop("committed_metadata")),
		},
		{
			ID:    "get.committed-is-reserved",
			About: "a committed reservation tells as committed what was reserved",
			Fails: []string{"get.committed"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if reserved, ok := a.Get("reserved"); read(r) && ok && a.Has("committed") {
					return set("committed", reserved)(r, a)
				}
				return a
			}),
		},
		{
			ID:    "get.final-at-once",
			About: "a reservation was finalized before it was made",
			Fails: []string{"get.committed", "get.released"},
			Wrap: after(read, change("finalized_at_ms", func(_ *suite.Request, v any) any {
				if v == nil {
					return gone
				}
				return 1
			})),
		},
		{
			ID:    "get.always-active",
			About: "every reservation reads ACTIVE",
			Fails: []string{"get.committed", "get.released"},
			Wrap:  after(read, whenOK(set("status", "ACTIVE"))),
		},
		{
			ID:    "get.moves-the-creation",
			About: "a reservation was created a millisecond earlier each time that it is read",
			Fails: []string{"get.changes-nothing"},
			Wrap: remembering(func() rule {
				var reads memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if read(r) && a.Status == http.StatusOK {
						return add("created_at_ms", -int64(count(&reads, r.Reservation)))(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "get.expired-is-shown",
			About: "a reservation that expired reads with status EXPIRED in place of a 410",
			Fails: []string{"get.expired", "get.expired-is-listed"},
			Wrap: remembering(func() rule {
				var created memory[*suite.Answer]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if id := a.Str("reservation_id"); live(r) && id != "" {
						created.first(id, a)
					}
					if made, was := created.get(r.Reservation); was && read(r) && a.Code() == "RESERVATION_EXPIRED" {
						expires, _ := made.Int("expires_at_ms")
						path, _ := made.Get("scope_path")
						scopes, _ := made.Get("affected_scopes")
						return ok(map[string]any{
							"reservation_id": r.Reservation, "status": "EXPIRED", "subject": made.Request.Body["subject"], "action": made.Request.Body["action"],
							"reserved": made.Request.Body["estimate"], "created_at_ms": expires - 1000, "expires_at_ms": expires, "scope_path": path, "affected_scopes": scopes,
						})
					}
					return a
				}
			}),
		},
		{
			ID:    "get.expired-is-missing",
			About: "a reservation that expired is answered 404 NOT_FOUND",
			Fails: []string{"get.expired", "get.expired-is-listed"},
			Wrap:  after(read, whenRefused(410, "RESERVATION_EXPIRED", refusal(404, "NOT_FOUND"))),
		},
		{
			ID:    "get.unknown-is-gone",
			About: "a reservation that never existed is answered 410 RESERVATION_EXPIRED",
			Fails: []string{"get.unknown", "get.key-is-no-id"},
			Wrap:  after(read, whenRefused(404, "NOT_FOUND", refusal(410, "RESERVATION_EXPIRED"))),
		},
		{
			ID:    "get.by-key",
			About: "a reservation can be read by its idempotency key as well",
			Fails: []string{"get.key-is-no-id"},
			Wrap: remembering(func() rule {
				var ids memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					if id, was := ids.get(r.Reservation); was && read(r) {
						r = r.WithPath("/v1/reservations/" + id)
					}
					a := next(r)
					if id := a.Str("reservation_id"); live(r) && id != "" {
						ids.first(r.Key(), id)
					}
					return a
				}
			}),
		},
	}
}
