package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// scopes is about the scopes that a server makes of a subject.
func scopes() []suite.Check {
	const section = "SCOPE DERIVATION"
	return []suite.Check{
		{
			ID: "scopes.all-levels", Level: suite.Must, Section: section, Lines: []int{196, 197, 200, 970},
			Requirement: "The scopes of a subject run from tenant over workspace, app, workflow and agent to toolset, in whatever order it names them.",
			Needs:       []target.Kind{target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				subject := below(t, b)
				wantScopes(t, reserved(ctx, t, t.Create(b, 1).With("subject", subject)), b, subject)
			},
		},
		{
			ID: "scopes.gaps", Level: suite.Must, Section: section, Lines: []int{198, 199},
			Requirement: "Levels that a subject does not name are left out of its scopes and filled with nothing, and scopes without a budget do not stop it.",
			Needs:       []target.Kind{target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				free := freeLevels(b)
				if len(free) == 0 {
					t.Skip("the budget of fixture funded sits on the innermost level, so there is none to leave out")
				}
				subject := own(b)
				subject[free[len(free)-1]] = t.Name()
				wantScopes(t, reserved(ctx, t, t.Create(b, 1).With("subject", subject)), b, subject)
			},
		},
		{
			ID: "scopes.own", Level: suite.Must, Section: section, Lines: []int{196, 200},
			Requirement: "A subject that names a budget's scope and nothing below it has that scope as its last one.",
			Needs:       []target.Kind{target.Ledger}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				wantScopes(t, reserved(ctx, t, t.Create(b, 1).With("subject", own(b))), b, own(b))
			},
		},
		{
			ID: "scopes.level-counts", Level: suite.Must, Section: section, Lines: []int{196, 198},
			Requirement: "A name belongs to its level: on another level it is another scope, which has no budget.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				last := deepest(b)
				if last == "tenant" || last == "toolset" {
					t.Skip("the budget of fixture sole-unit sits on the level %s, whose name cannot move", last)
				}
				for _, level := range freeLevels(b) {
					elsewhere := own(b)
					delete(elsewhere, last)
					elsewhere[level] = b.Subject[last]
					t.WantError(t.Do(ctx, t.Create(b, 1).With("subject", elsewhere)), http.StatusNotFound, "NOT_FOUND")
				}
				reserved(ctx, t, t.Create(b, 1))
			},
		},
		{
			ID: "scopes.dimensions-do-not-count", Level: suite.Must, Section: "Subject", Lines: []int{985},
			Requirement: "Dimensions that a server does not budget by are taken and change neither scopes nor outcome, even when they are named like levels.",
			Needs:       []target.Kind{target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				subject := own(b)
				subject["dimensions"] = map[string]any{"cost_center": "cc-1", "tenant": "another", "agent": "x/y:z"}
				wantScopes(t, reserved(ctx, t, t.Create(b, 1).With("subject", subject)), b, subject)
			},
		},
		{
			ID: "scopes.order", Level: suite.Must, Section: section, Lines: []int{200, 1127, 1389, 1576},
			Requirement: "affected_scopes run from the outermost scope inwards, in every answer that has them.",
			Ops:         createOnly(),
			Watch: func(a *suite.Answer) (judged bool, wrong []suite.Wrong) {
				look := func(where string, v any) {
					list, _ := v.([]any)
					if len(list) == 0 {
						return
					}
					judged = true
					if what := misordered(list); what != "" {
						wrong = append(wrong, suite.Wrong{Where: string(a.Request.Op) + " " + where, What: what})
					}
				}
				v, _ := a.Get("affected_scopes")
				look("affected_scopes", v)
				for _, row := range a.Items("reservations") {
					v, _ := suite.Lookup(row, "affected_scopes")
					look("reservations.affected_scopes", v)
				}
				return judged, wrong
			},
		},
	}
}

// own is the subject of the budget, and nothing below it.
func own(b *target.Budget) map[string]any {
	subject := make(map[string]any, len(b.Subject)+1)
	for level, name := range b.Subject {
		subject[level] = name
	}
	return subject
}

// below is the subject of the budget with every level below it named.
func below(t *suite.T, b *target.Budget) map[string]any {
	subject := own(b)
	for _, level := range freeLevels(b) {
		subject[level] = t.Name()
	}
	return subject
}

// deepest is the level that the budget sits on.
func deepest(b *target.Budget) string {
	levels := target.Levels()
	slices.Reverse(levels)
	i := slices.IndexFunc(levels, func(level string) bool { return b.Subject[level] != "" })
	return levels[i]
}

// freeLevels are the levels below the budget, outermost first.
func freeLevels(b *target.Budget) []string {
	levels := target.Levels()
	return levels[slices.Index(levels, deepest(b))+1:]
}

// wantScopes wants the scopes of an answer to be those of the subject. Which of
// them are listed is left open, but for the one with the budget; so is whether
// one is written as its path or as its last element.
func wantScopes(t *suite.T, a *suite.Answer, b *target.Budget, subject map[string]any) {
	paths := suite.Scopes(subject)
	if a.Has("scope_path") {
		path := a.Str("scope_path")
		t.True(a, strings.EqualFold(path, paths[len(paths)-1]), "scope_path is "+paths[len(paths)-1], "it is %s", path)
	}
	listed := a.Items("affected_scopes")
	t.True(a, len(listed) > 0, "affected_scopes lists at least the scope with the budget", "it is empty")
	at, budgeted := -1, false
	for _, v := range listed {
		scope := fmt.Sprint(v)
		i := slices.IndexFunc(paths, func(path string) bool {
			return strings.EqualFold(scope, path) || strings.EqualFold(scope, leafOf(path))
		})
		t.True(a, i > at, fmt.Sprintf("affected_scopes are some of %v, in that order", paths), "they are %v", listed)
		at = i
		budgeted = budgeted || strings.EqualFold(paths[i], b.ScopePath())
	}
	t.True(a, budgeted, "affected_scopes lists "+b.ScopePath(), "they are %v", listed)
}

func leafOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// misordered says what is wrong with the order of scopes, or nothing. Each is
// judged by the level of its last element.
func misordered(scopes []any) string {
	at := -1
	for _, v := range scopes {
		level, _, _ := strings.Cut(leafOf(fmt.Sprint(v)), ":")
		i := slices.Index(target.Levels(), level)
		switch {
		case i < 0:
			return "has a scope that does not begin with the name of a level"
		case i <= at:
			return "is not in canonical order"
		}
		at = i
	}
	return ""
}
