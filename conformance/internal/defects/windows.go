package defects

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// pair is one of the three windows of a listing.
type pair struct{ name, from, to string }

func pairs() []pair {
	return []pair{{"created", "from", "to"}, {"expires", "expires_from", "expires_to"}, {"finalized", "finalized_from", "finalized_to"}}
}

func windows() []Defect {
	rows := on(suite.List)
	var defects []Defect
	for _, p := range pairs() {
		defects = append(defects,
			Defect{
				ID:    "windows." + p.name + "-lower-exclusive",
				About: "what lies exactly at " + p.from + " is left out",
				Fails: []string{"windows." + p.name + "-lower", "windows." + p.name + "-reversed"},
				Wrap:  before(rows, askFor(p.from, moved(time.Millisecond))),
			},
			Defect{
				ID:    "windows." + p.name + "-upper-exclusive",
				About: "what lies exactly at " + p.to + " is left out",
				Fails: []string{"windows." + p.name + "-upper", "windows." + p.name + "-reversed"},
				Wrap:  before(rows, askFor(p.to, moved(-time.Millisecond))),
			},
			Defect{
				ID:    "windows." + p.name + "-lower-ignored",
				About: p.from + " is ignored and " + p.to + " is not",
				Fails: []string{"windows." + p.name + "-lower"},
				Wrap:  before(rows, unasked(p.from)),
			},
			Defect{
				ID:    "windows." + p.name + "-upper-by-the-second",
				About: p.to + " counts to the end of its second",
				Fails: []string{"windows." + p.name + "-upper"},
				Wrap:  before(rows, askFor(p.to, moved(999*time.Millisecond))),
			},
			Defect{
				ID:    "windows." + p.name + "-reversed-is-empty",
				About: p.from + " after " + p.to + " lists nothing in place of a refusal",
				Fails: []string{"windows." + p.name + "-reversed"},
				Wrap: after(on(suite.List).whenAsked(p.from, given).whenAsked(p.to, given),
					whenRefused(400, "INVALID_REQUEST", success(empty("reservations")))),
			},
		)
	}
	return append(defects, windowForms()...)
}

// moved moves an instant. What is no instant stays as it is.
func moved(by time.Duration) func(string) string {
	return func(v string) string {
		at, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			return v
		}
		return at.Add(by).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
}

func windowForms() []Defect {
	rows := on(suite.List)
	return []Defect{
		{
			ID:    "windows.blank-refused",
			About: "a blank bound is refused as no date-time",
			Fails: []string{"windows.blank"},
			Wrap: instead(func(r *suite.Request) bool {
				return rows(r) && slices.ContainsFunc(pairs(), func(p pair) bool { return blank(r, p.from) || blank(r, p.to) })
			}, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "windows.offset-refused",
			About: "a bound with an offset from UTC is refused",
			Fails: []string{"windows.offset"},
			Wrap:  instead(on(suite.List).whenAsked("from", func(v string) bool { return given(v) && !strings.HasSuffix(v, "Z") }), refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "windows.offset-ignored",
			About: "the offset of a bound is cut off, as if it were UTC",
			Fails: []string{"windows.offset"},
			Wrap: before(rows, askFor("from", func(v string) string {
				if at, err := time.Parse(time.RFC3339, v); err == nil {
					return at.Format("2006-01-02T15:04:05.000") + "Z"
				}
				return v
			})),
		},
		{
			ID:    "windows.finalized-shows-all-else",
			About: "a finalized window shows what is not finalized as well",
			Fails: []string{"windows.finalized-hides-active", "windows.finalized-hides-expired"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if !rows(r) || a.Status != http.StatusOK || r.Query.Get("finalized_from")+r.Query.Get("finalized_to") == "" {
					return a
				}
				rest := keep("reservations", func(_ *suite.Request, row map[string]any) bool { return row["finalized_at_ms"] == nil })
				others := rest(r, next(unasked("finalized_from", "finalized_to")(r)))
				body, _ := a.Value.(map[string]any)
				body = maps.Clone(body)
				body["reservations"] = slices.Concat(a.Items("reservations"), others.Items("reservations"))
				return withBody(a, body)
			}),
		},
		{
			ID:    "windows.first-only",
			About: "when several windows are given only the first one counts",
			Fails: []string{"windows.combined"},
			Wrap: before(func(r *suite.Request) bool { return rows(r) && r.Query.Get("from")+r.Query.Get("to") != "" },
				unasked("expires_from", "expires_to", "finalized_from", "finalized_to")),
		},
		{
			ID:    "windows.follow-the-sort-key",
			About: "from and to are about the expiry when the listing is sorted by it",
			Fails: []string{"windows.not-the-sort-key"},
			Wrap: before(on(suite.List).whenAsked("sort_by", func(v string) bool { return v == "expires_at_ms" }),
				all(renamed("from", "expires_from"), renamed("to", "expires_to"))),
		},
	}
}

func blank(r *suite.Request, name string) bool {
	v, there := r.Query[name]
	return there && len(v) > 0 && v[0] == ""
}
