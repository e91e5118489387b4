package defects

import (
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func scopes() []Defect {
	return []Defect{
		{
			ID:    "scopes.inside-out",
			About: "affected_scopes run from the innermost scope outwards",
			Fails: []string{"scopes.all-levels", "scopes.gaps", "scopes.own", "scopes.order", "decide.scopes", "dryrun.allowed"},
			Wrap: after(on(suite.Create, suite.Decide), whenOK(change("affected_scopes", func(_ *suite.Request, v any) any {
				scopes, _ := v.([]any)
				slices.Reverse(scopes)
				return scopes
			}))),
		},
		{
			ID:    "scopes.unlisted",
			About: "affected_scopes lists the first scope only",
			Fails: []string{"scopes.all-levels", "scopes.gaps", "scopes.own", "decide.scopes", "dryrun.allowed"},
			Wrap: after(on(suite.Create, suite.Decide), whenOK(change("affected_scopes", func(_ *suite.Request, v any) any {
				scopes, _ := v.([]any)
				return scopes[:min(1, len(scopes))]
			}))),
		},
		{
			ID:    "scopes.gaps-filled",
			About: "a level that the subject does not name is filled with a default",
			Fails: []string{"scopes.gaps", "scopes.own", "scopes.dimensions-do-not-count"},
			Wrap: after(on(suite.Create).and("subject.app", equals(nil)), whenOK(change("scope_path", func(_ *suite.Request, v any) any {
				path, _ := v.(string)
				if i := strings.Index(path, "/workflow:"); i >= 0 {
					return path[:i] + "/app:default" + path[i:]
				}
				return path + "/app:default"
			}))),
		},
		{
			ID:    "scopes.name-on-any-level",
			About: "the name of a level is looked for among the workspaces too",
			Fails: []string{"scopes.level-counts"},
			Wrap: lenient(on(suite.Create), 404, func(r *suite.Request) *suite.Request {
				for _, level := range []string{"app", "workflow", "agent", "toolset"} {
					if name, ok := suite.Lookup(any(r.Body), "subject."+level); ok {
						return r.Without("subject."+level).With("subject.workspace", name)
					}
				}
				return r
			}),
		},
		{
			ID:    "scopes.dimensions-are-levels",
			About: "a dimension that is called like a level overrides it",
			Fails: []string{"scopes.dimensions-do-not-count"},
			Wrap: before(on(suite.Create), func(r *suite.Request) *suite.Request {
				if tenant, ok := suite.Lookup(any(r.Body), "subject.dimensions.tenant"); ok {
					return r.With("subject.tenant", tenant)
				}
				return r
			}),
		},
	}
}
