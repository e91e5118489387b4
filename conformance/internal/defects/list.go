package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func empty(list string) func(*suite.Request) map[string]any {
	return func(*suite.Request) map[string]any { return map[string]any{list: []any{}, "has_more": false} }
}

func list() []Defect {
	rows := on(suite.List)
	return []Defect{
		{
			ID:    "list.amount-off",
			About: "a row tells one more than was reserved",
			Fails: []string{"list.row"},
			Wrap:  after(rows, add("reservations.*.reserved.amount", 1)),
		},
		{
			ID:    "list.subject-cut",
			About: "a row tells the tenant of the subject only",
			Fails: []string{"list.row"},
			Wrap: after(rows, change("reservations.*.subject", func(_ *suite.Request, v any) any {
				subject, _ := v.(map[string]any)
				return map[string]any{"tenant": subject["tenant"]}
			})),
		},
		{
			ID:    "list.committed-early",
			About: "every row tells as committed what was reserved",
			Fails: []string{"list.committed-amount", "list.committed"},
			Wrap: after(rows, change("reservations.*", func(_ *suite.Request, v any) any {
				row, _ := v.(map[string]any)
				row["committed"] = row["reserved"]
				return row
			})),
		},
		{
			ID:    "list.always-final",
			About: "every row tells when it was finalized, the expired and the active ones too",
			Fails: []string{"list.committed-amount", "list.expired"},
			Wrap: after(rows, change("reservations.*", func(_ *suite.Request, v any) any {
				row, _ := v.(map[string]any)
				row["finalized_at_ms"] = row["expires_at_ms"]
				return row
			})),
		},
		{
			ID:    "list.hides-expired",
			About: "what expired is not listed any more",
			Fails: []string{"list.expired", "get.expired-is-listed", "windows.finalized-hides-expired"},
			Wrap: after(rows, keep("reservations", func(_ *suite.Request, row map[string]any) bool {
				return row["status"] != "EXPIRED"
			})),
		},
		{
			ID:    "list.never-expires",
			About: "what expired is listed as ACTIVE",
			Fails: []string{"list.expired"},
			Wrap: after(rows, change("reservations.*.status", func(_ *suite.Request, v any) any {
				if v == "EXPIRED" {
					return "ACTIVE"
				}
				return v
			})),
		},
		{
			ID:    "list.key-forgotten",
			About: "no reservation is found by the key that it was made with",
			Fails: []string{"list.recover", "list.by-key"},
			Wrap:  before(rows, askFor("idempotency_key", func(v string) string { return v + "-forgotten" })),
		},
		{
			ID:    "list.status-not-checked",
			About: "a status that does not exist lists nothing in place of a refusal",
			Fails: []string{"list.unknown-status"},
			Wrap:  after(on(suite.List).whenAsked("status", given), whenRefused(400, "INVALID_REQUEST", success(empty("reservations")))),
		},
		{
			ID:    "list.filters-ignored",
			About: "status, key and the levels of the subject are not filtered by",
			Fails: []string{"list.by-key", "list.by-status", "list.by-subject"},
			Wrap:  before(rows, unasked("status", "idempotency_key", "workspace", "app", "workflow", "agent", "toolset")),
		},
		{
			ID:    "list.limit-ignored",
			About: "a page has as many rows as there are, whatever the limit",
			Fails: []string{"list.limit"},
			Wrap: before(rows, func(r *suite.Request) *suite.Request {
				if limit := r.Query.Get("limit"); limit == "1" || limit == "2" || limit == "5" {
					return r.WithQuery("limit", "200")
				}
				return r
			}),
		},
		{
			ID:    "list.limit-not-checked",
			About: "a limit that makes no sense is taken for the default one",
			Fails: []string{"list.limit-bounds", "balances.limit-bounds"},
			Wrap:  lenient(on(suite.List, suite.Balances), http.StatusBadRequest, unasked("limit")),
		},
		{
			ID:    "list.limit-breaks-server",
			About: "a limit that makes no sense is answered 500",
			Fails: []string{"list.limit-bounds", "balances.limit-bounds"},
			Wrap:  after(on(suite.List, suite.Balances).whenAsked("limit", given), whenRefused(400, "INVALID_REQUEST", refusal(500, "INTERNAL_ERROR"))),
		},
		{
			ID:    "list.limit-below-the-largest",
			About: "a page has a hundred rows at most, and more may not be asked for",
			Fails: []string{"list.limit-largest"},
			Wrap:  instead(on(suite.List).whenAsked("limit", func(v string) bool { return v == "200" }), refuse(400, "INVALID_REQUEST")),
		},
	}
}
