package defects

import (
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func sorting() []Defect {
	by := func(key string) which {
		return on(suite.List).whenAsked("sort_by", func(v string) bool { return v == key })
	}
	// Each key is sorted by wrongly while all the others are right, so that the
	// server plainly knows sort_by.
	var defects []Defect
	for key, other := range map[string]string{
		"created_at_ms": "reserved", "expires_at_ms": "scope_path", "reserved": "created_at_ms", "scope_path": "created_at_ms", "status": "reserved",
	} {
		name := strings.ReplaceAll(key, "_", "-")
		defects = append(defects, Defect{
			ID:    "sorting.wrong-" + name,
			About: "sort_by=" + key + " sorts by " + other,
			Fails: []string{"sorting." + name},
			Wrap:  before(by(key), askFor("sort_by", func(string) string { return other })),
		})
	}
	slices.SortFunc(defects, func(a, b Defect) int { return strings.Compare(a.ID, b.ID) })
	return append(defects,
		Defect{
			ID:    "sorting.id-one-way",
			About: "sort_by=reservation_id is always ascending",
			Fails: []string{"sorting.reservation-id"},
			Wrap:  before(by("reservation_id"), func(r *suite.Request) *suite.Request { return r.WithQuery("sort_dir", "asc") }),
		},
		Defect{
			ID:    "sorting.status-one-way",
			About: "sort_by=status is always ascending",
			Fails: []string{"sorting.status"},
			Wrap:  before(by("status"), func(r *suite.Request) *suite.Request { return r.WithQuery("sort_dir", "asc") }),
		},
		Defect{
			ID:    "sorting.tenant-refused",
			About: "sort_by=tenant is refused",
			Fails: []string{"sorting.tenant"},
			Wrap:  instead(by("tenant"), refuse(400, "INVALID_REQUEST")),
		},
		Defect{
			ID:    "sorting.default-ascending",
			About: "sort_by without sort_dir sorts ascending",
			Fails: []string{"sorting.default-direction"},
			Wrap: before(on(suite.List).whenAsked("sort_by", given), func(r *suite.Request) *suite.Request {
				if r.Query.Get("sort_dir") == "" {
					return r.WithQuery("sort_dir", "asc")
				}
				return r
			}),
		},
		Defect{
			ID:    "sorting.key-not-checked",
			About: "a sort key or direction that does not exist is ignored",
			Fails: []string{"sorting.unknown-key"},
			Wrap:  lenient(on(suite.List), 400, unasked("sort_by", "sort_dir")),
		},
	)
}
