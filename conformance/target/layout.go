package target

import (
	"maps"
	"strings"
)

// Levels returns the levels of a subject, outermost first.
func Levels() []string {
	return []string{"tenant", "workspace", "app", "workflow", "agent", "toolset"}
}

// Scopes returns the scope paths that a server derives from a subject,
// outermost first.
func Scopes(subject map[string]string) []string {
	var (
		path   string
		scopes []string
	)
	for _, level := range Levels() {
		name, ok := subject[level]
		if !ok {
			continue
		}
		if path != "" {
			path += "/"
		}
		path += level + ":" + strings.ToLower(name)
		scopes = append(scopes, path)
	}
	return scopes
}

// ScopePath is the path of the scope that the budget sits on, empty when its
// subject is.
func (b *Budget) ScopePath() string {
	scopes := Scopes(b.Subject)
	if len(scopes) == 0 {
		return ""
	}
	return scopes[len(scopes)-1]
}

// Layout lays the budgets of a wanted fixture out below a tenant: each fixture
// in a workspace of its own named after its id, no budget on the tenant, so
// that no two fixtures touch. A workspace without a tenant has the tenant's name
// in its own, since others may have one too. Provisioners share it.
func Layout(tenant Tenant, spec Spec, id string) []*Budget {
	var (
		budgets []*Budget
		subject = map[string]string{"tenant": tenant.ID, "workspace": id}
		unit    = "USD_MICROCENTS"
	)
	if spec.Kind == Tenantless {
		subject = map[string]string{"workspace": tenant.ID + "-" + id}
	}
	for _, b := range spec.Budgets {
		subject = maps.Clone(subject)
		if b.Inner {
			subject["app"] = "inner"
		}
		if b.OtherUnit {
			unit = "TOKENS"
		}
		budgets = append(budgets, &Budget{
			Subject: subject, Unit: unit, Allocated: b.Allocated, OverdraftLimit: b.OverdraftLimit, Tenant: tenant,
		})
	}
	return budgets
}
