package defects

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func cursors() []Defect {
	rows := on(suite.List)
	later := on(suite.List).whenAsked("cursor", given)
	return []Defect{
		{
			ID:    "cursors.row-lost",
			About: "each page after the first leaves out its first row",
			Fails: []string{"cursors.every-row", "cursors.sorted"},
			Wrap: after(later, whenOK(change("reservations", func(_ *suite.Request, v any) any {
				page, _ := v.([]any)
				return page[min(1, len(page)):]
			}))),
		},
		{
			ID:    "cursors.endless",
			About: "the cursor of a page leads to the same page",
			Fails: []string{"cursors.every-row", "cursors.sorted", "cursors.has-more"},
			Wrap: after(later, whenOK(change("next_cursor", func(r *suite.Request, v any) any {
				return r.Query.Get("cursor")
			}))),
		},
		{
			ID:    "cursors.order-lost",
			About: "each page after the first is turned around",
			Fails: []string{"cursors.sorted"},
			Wrap: after(later, whenOK(change("reservations", func(_ *suite.Request, v any) any {
				page, _ := v.([]any)
				slices.Reverse(page)
				return page
			}))),
		},
		{
			ID:    "cursors.always-more",
			About: "has_more is true on the last page too",
			Fails: []string{"cursors.has-more", "balances.pages"},
			Wrap:  after(on(suite.List, suite.Balances), whenOK(set("has_more", true))),
		},
		{
			ID:    "cursors.never-more",
			About: "has_more is false on every page",
			Fails: []string{"cursors.has-more", "balances.pages"},
			Wrap:  after(on(suite.List, suite.Balances), whenOK(set("has_more", false))),
		},
		{
			ID:    "cursors.filters-of-the-cursor",
			About: "a cursor goes on with the windows that it was made with, whatever is asked for now",
			Fails: []string{"cursors.window-bound"},
			Wrap: remembering(func() rule {
				var made memory[url.Values]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if cursor := r.Query.Get("cursor"); rows(r) && cursor != "" && a.Status == http.StatusBadRequest {
						if query, known := made.get(cursor); known {
							c := *r
							c.Query = query
							return next(c.WithQuery("cursor", cursor))
						}
					}
					if cursor := a.Str("next_cursor"); rows(r) && cursor != "" {
						made.first(cursor, r.Query)
					}
					return a
				}
			}),
		},
		{
			ID:    "cursors.bound-to-include",
			About: "a cursor is good for the include that it was made with only",
			Fails: []string{"cursors.include-free"},
			Wrap: remembering(func() rule {
				var made memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					if include, known := made.get(r.Query.Get("cursor")); rows(r) && known && include != r.Query.Get("include") {
						return refused(400, "INVALID_REQUEST")
					}
					a := next(r)
					if cursor := a.Str("next_cursor"); rows(r) && cursor != "" {
						made.first(cursor, r.Query.Get("include"))
					}
					return a
				}
			}),
		},
		{
			ID:    "cursors.lost-without-sort",
			About: "a cursor that is sent without sort_by starts anew",
			Fails: []string{"cursors.without-sort"},
			Wrap: before(func(r *suite.Request) bool {
				return later(r) && r.Query.Get("sort_by") == "" && r.Query.Get("from") != ""
			},
				unasked("cursor")),
		},
		{
			ID:    "cursors.garbage-breaks-server",
			About: "a cursor that was never given out is answered 500",
			Fails: []string{"cursors.garbage", "balances.garbage-cursor"},
			Wrap: after(on(suite.List, suite.Balances).whenAsked("cursor", given),
				whenRefused(400, "INVALID_REQUEST", refusal(500, "INTERNAL_ERROR"))),
		},
	}
}
