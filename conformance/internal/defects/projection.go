package defects

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func projection() []Defect {
	rows := on(suite.List)
	including := func(is func(tokens []string) bool) which {
		return func(r *suite.Request) bool {
			v, there := r.Query["include"]
			return rows(r) && there && is(strings.Split(v[0], ","))
		}
	}
	known := []string{"metadata", "committed_metadata", "evidence"}
	return []Defect{
		{
			ID:    "projection.always-rich",
			About: "a listing shows all metadata without being asked to",
			Fails: []string{"projection.lean", "projection.unknown-token", "projection.sloppy-tokens"},
			Wrap: before(rows, func(r *suite.Request) *suite.Request {
				return r.WithQuery("include", "metadata,committed_metadata")
			}),
		},
		{
			ID:    "projection.never-rich",
			About: "a listing never shows metadata, as if it did not know include",
			Fails: []string{"projection.metadata", "projection.committed-metadata"},
			Wrap:  before(rows, unasked("include")),
		},
		{
			ID:    "projection.swapped",
			About: "a listing shows the metadata of the create as that of the commit and the other way round",
			Fails: []string{"projection.right-metadata", "projection.metadata", "projection.committed-metadata"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if !rows(r) || a.Status != http.StatusOK {
					return a
				}
				return change("reservations.*", func(_ *suite.Request, v any) any {
					row, _ := v.(map[string]any)
					made, committed := row["metadata"], row["committed_metadata"]
					delete(row, "metadata")
					delete(row, "committed_metadata")
					if committed != nil {
						row["metadata"] = committed
					}
					if made != nil {
						row["committed_metadata"] = made
					}
					return row
				})(r, a)
			}),
		},
		{
			ID:    "projection.unknown-refused",
			About: "an include that holds an unknown token is refused",
			Fails: []string{"projection.unknown-token"},
			Wrap: instead(including(func(tokens []string) bool {
				return slices.ContainsFunc(tokens, func(token string) bool {
					token = strings.TrimSpace(token)
					return token != "" && !slices.Contains(known, token)
				})
			}), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "projection.unknown-hides-known",
			About: "an include that holds an unknown token is ignored altogether",
			Fails: []string{"projection.unknown-token"},
			Wrap: before(including(func(tokens []string) bool {
				return slices.ContainsFunc(tokens, func(token string) bool { return !slices.Contains(known, strings.TrimSpace(token)) })
			}), unasked("include")),
		},
		{
			ID:    "projection.blank-refused",
			About: "an include with an empty token is refused",
			Fails: []string{"projection.sloppy-tokens"},
			Wrap: instead(including(func(tokens []string) bool {
				return slices.ContainsFunc(tokens, func(token string) bool { return strings.TrimSpace(token) == "" })
			}), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "projection.space-counts",
			About: "a token with a space beside it is an unknown one",
			Fails: []string{"projection.sloppy-tokens"},
			Wrap: before(rows, askFor("include", func(v string) string {
				return strings.Join(slices.DeleteFunc(strings.Split(v, ","), func(token string) bool { return strings.Contains(token, " ") }), ",")
			})),
		},
		{
			ID:    "projection.filters",
			About: "include hides the rows that lack what it asks for",
			Fails: []string{"projection.same-rows"},
			Wrap: after(including(func(tokens []string) bool { return slices.Contains(tokens, "evidence") }),
				keep("reservations", func(_ *suite.Request, row map[string]any) bool { return row["metadata"] != nil })),
		},
	}
}
