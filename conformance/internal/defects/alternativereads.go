package defects

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// readAlternatives are about listings, balances and single reservations, much of
// which is optional.
func readAlternatives() []Alternative {
	rows := on(suite.List)
	optional := []string{"idempotency_key", "committed", "finalized_at_ms"}
	bare := func(at string) spoil {
		var drops []spoil
		for _, member := range optional {
			drops = append(drops, drop(at+member))
		}
		return both(drops...)
	}
	return []Alternative{
		{
			ID:    "list.bare",
			About: "rows do not tell the key, what was committed and when they were finalized",
			Wrap:  after(rows, bare("reservations.*.")),
		},
		{
			ID:    "get.bare",
			About: "a reservation does not tell its key, what was committed and when it was finalized",
			Wrap:  after(on(suite.Get), bare("")),
		},
		{
			ID:    "list.subjects-not-filtered",
			About: "a listing does not filter by subject, which is only guidance",
			Wrap:  before(rows, unasked(target.Levels()[1:]...)),
		},
		{
			ID:    "list.keys-not-filtered",
			About: "a listing does not filter by idempotency key and status, which is only recommended",
			Wrap: before(rows, func(r *suite.Request) *suite.Request {
				switch r.Query.Get("status") {
				case "", "ACTIVE", "COMMITTED", "RELEASED", "EXPIRED":
					return unasked("idempotency_key", "status")(r)
				}
				return r
			}),
		},
		{
			ID:    "windows.unknown",
			About: "a listing does not know the time windows and ignores them",
			Wrap:  before(rows, unasked("from", "to", "expires_from", "expires_to", "finalized_from", "finalized_to")),
		},
		{
			ID:    "sorting.unknown",
			About: "a listing does not know sort_by and sort_dir and ignores them",
			Wrap:  before(rows, unasked("sort_by", "sort_dir")),
		},
		{
			ID:    "projection.unknown",
			About: "a listing does not know include and never shows metadata",
			Wrap:  before(rows, unasked("include")),
		},
		{
			ID:    "cursors.empty-last-page",
			About: "the last page that has rows is followed by an empty one",
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				const end = "the-end"
				list := map[suite.Op]string{suite.List: "reservations", suite.Balances: "balances"}[r.Op]
				if list == "" {
					return next(r)
				}
				if r.Query.Get("cursor") == end {
					a := next(unasked("cursor")(r))
					if a.Status != http.StatusOK {
						return a
					}
					return withBody(a, empty(list)(r))
				}
				a := next(r)
				if a.Status == http.StatusOK && a.Str("next_cursor") == "" && len(a.Items(list)) > 0 {
					return both(set("next_cursor", end), set("has_more", true))(r, a)
				}
				return a
			}),
		},
		{
			ID:    "cursors.no-has-more",
			About: "pages do not tell has_more, since next_cursor says as much",
			Wrap:  after(on(suite.List, suite.Balances), drop("has_more")),
		},
		{
			ID:    "cursors.sort-must-be-repeated",
			About: "the cursor of a sorted listing is refused when sort_by does not come with it",
			Wrap: remembering(func() rule {
				var sorted memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					if is, _ := sorted.get(r.Query.Get("cursor")); rows(r) && is && r.Query.Get("sort_by") == "" {
						return refused(400, "INVALID_REQUEST")
					}
					a := next(r)
					if cursor := a.Str("next_cursor"); rows(r) && cursor != "" && r.Query.Get("sort_by") != "" {
						sorted.swap(cursor, true)
					}
					return a
				}
			}),
		},
		{
			ID:    "cursors.garbage-starts-anew",
			About: "a cursor that was never given out starts the listing anew",
			Wrap: remembering(func() rule {
				var given memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					cursor := r.Query.Get("cursor")
					if was, _ := given.get(cursor); cursor != "" && !was {
						r = unasked("cursor")(r)
					}
					a := next(r)
					if cursor := a.Str("next_cursor"); cursor != "" {
						given.swap(cursor, true)
					}
					return a
				}
			}),
		},
		{
			ID:    "balances.exact",
			About: "the balances of a scope are shown without those of the scopes below it",
			Wrap: after(on(suite.Balances), keep("balances", func(r *suite.Request, b map[string]any) bool {
				path, _ := b["scope_path"].(string)
				asked := 0
				for _, level := range target.Levels() {
					name := r.Query.Get(level)
					if level == "tenant" && name == "" {
						asked++
					} else if name != "" && slices.Contains(strings.Split(path, "/"), level+":"+name) {
						asked++
					}
				}
				return asked == len(strings.Split(path, "/"))
			})),
		},
		{
			ID:    "balances.turned-around",
			About: "balances come in another order, inner scopes first",
			Wrap: after(every, change("balances", func(_ *suite.Request, v any) any {
				balances, ok := v.([]any)
				if !ok {
					return gone
				}
				slices.Reverse(balances)
				return balances
			})),
		},
		{
			ID:    "expiry.noticed-late",
			About: "that a reservation expired is noticed at the third time that it is read",
			Wrap:  noticedLate(),
		},
	}
}

// noticedLate shows what expired as ACTIVE the first two times.
func noticedLate() Wrap {
	return remembering(func() rule {
		var (
			seen    memory[int]
			created memory[*suite.Answer]
			details memory[*suite.Answer]
		)
		return func(r *suite.Request, next server) *suite.Answer {
			a := next(r)
			if id := a.Str("reservation_id"); live(r) && id != "" {
				created.first(id, a)
			}
			switch {
			case r.Op == suite.Get && a.Status == http.StatusOK:
				details.swap(r.Reservation, a)
			case r.Op == suite.Get && a.Code() == "RESERVATION_EXPIRED" && count(&seen, r.Reservation) <= 2:
				if detail, was := details.get(r.Reservation); was {
					return detail
				}
			case r.Op == suite.List:
				return change("reservations.*", func(_ *suite.Request, v any) any {
					row, _ := v.(map[string]any)
					if row["status"] == "EXPIRED" && count(&seen, fmt.Sprint("row ", row["reservation_id"])) <= 2 {
						row = maps.Clone(row)
						row["status"] = "ACTIVE"
					}
					return row
				})(r, a)
			}
			return a
		}
	})
}

// otherAlternatives are about keys, closed tenants, events, races and evidence.
func otherAlternatives() []Alternative {
	event := on(suite.Event)
	return []Alternative{
		{
			ID:    "idempotency.contradiction-is-mismatch",
			About: "a header that is not the key in the body is answered 409 IDEMPOTENCY_MISMATCH",
			Wrap: after(func(r *suite.Request) bool {
				header := r.Header.Get(suite.HeaderIdempotency)
				return header != "" && r.Key() != "" && header != r.Key()
			}, whenRefused(400, "INVALID_REQUEST", refusal(409, "IDEMPOTENCY_MISMATCH"))),
		},
		{
			ID:    "replay.tells-no-time",
			About: "a replay does not tell the time left",
			Wrap: replays(on(suite.Create, suite.Extend), func(r *suite.Request, next server, _ *suite.Answer) *suite.Answer {
				return drop("remaining_ttl_ms")(r, next(r))
			}),
		},
		{
			ID:    "headers.bare",
			About: "answers carry no optional header",
			Wrap:  after(every, both(setHeader(tenantHeader, ""), setHeader("X-RateLimit-Remaining", ""), setHeader("X-RateLimit-Reset", ""))),
		},
		{
			ID:    "closure.keys-revoked",
			About: "the keys of a tenant end with it",
			Wrap: withClosed(func(r *suite.Request, next server, closed func() bool) *suite.Answer {
				a := next(r)
				if r.Header.Get(suite.HeaderKey) == "" || a.Status == http.StatusUnauthorized {
					return a
				}
				if a.Code() == "TENANT_CLOSED" || a.Str("reason_code") == "TENANT_CLOSED" || closed() {
					return refused(401, "UNAUTHORIZED")
				}
				return a
			}),
		},
		{
			ID:    "events.charged-only-when-capped-by-default",
			About: "what an event was charged is told under ALLOW_IF_AVAILABLE only",
			Wrap:  after(event.and("overage_policy", equals("ALLOW_WITH_OVERDRAFT")), drop("charged")),
		},
		{
			ID:    "events.always-charged",
			About: "an event always tells what was charged",
			Wrap: after(event, whenOK(change("charged", func(r *suite.Request, v any) any {
				if v != nil {
					return v
				}
				return r.Body["actual"]
			}))),
		},
		{
			ID:    "events.no-limit-no-overdraft",
			About: "without an overdraft limit an event under ALLOW_WITH_OVERDRAFT that the budget cannot cover is refused",
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				if !event.and("overage_policy", equals("ALLOW_WITH_OVERDRAFT"))(r) {
					return next(r)
				}
				asCreate := r.With("estimate", r.Body["actual"])
				for _, b := range booksOf(asCreate, next) {
					limit, _ := suite.Lookup(b, "overdraft_limit.amount")
					left, _ := suite.Lookup(b, "remaining.amount")
					n, _ := suite.Integer(limit)
					remains, _ := suite.Integer(left)
					if n == 0 && remains < estimate(asCreate) {
						return refused(409, "OVERDRAFT_LIMIT_EXCEEDED")
					}
				}
				return next(r)
			}),
		},
		{
			ID:    "concurrency.losers-are-put-off",
			About: "of a crowd with one key some are told that the first is still under way",
			Wrap: remembering(func() rule {
				var seen memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Key() != "" {
						payload, _ := r.Payload()
						if n := count(&seen, identity(r)+string(payload)); n > 8 && n <= 16 {
							return refused(500, "INTERNAL_ERROR")
						}
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "evidence.comes-late",
			About: "an envelope is there at the third time that it is asked for",
			Wrap: remembering(func() rule {
				var asked memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					if a := next(r); r.Op != suite.Evidence || a.Status != http.StatusOK || count(&asked, r.Path) > 2 {
						return a
					}
					return refused(404, "NOT_FOUND")
				}
			}),
		},
		{
			ID:    "evidence.no-key-set",
			About: "the server publishes no key set",
			Wrap:  instead(on(suite.JWKS), refuse(404, "NOT_FOUND")),
		},
	}
}
