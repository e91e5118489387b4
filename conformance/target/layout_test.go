package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestScopePathFollowsTheOrderOfTheLevels(t *testing.T) {
	assert.Equal(t, "tenant:acme/workspace:w/toolset:z", (&Budget{Subject: map[string]string{"toolset": "Z", "workspace": "w", "tenant": "acme"}}).ScopePath())
	assert.Empty(t, (&Budget{}).ScopePath())
}

func TestFixturesAreLaidOutApart(t *testing.T) {
	tenant := Tenant{ID: "acme", APIKey: "k"}
	taken := map[string]string{}
	for _, spec := range Catalogue() {
		for _, id := range []string{string(spec.Kind) + "-1", string(spec.Kind) + "-2"} {
			budgets := Layout(tenant, spec, id)
			assert.Len(t, budgets, len(spec.Budgets))
			for i, b := range budgets {
				key := b.ScopePath() + " " + b.Unit
				assert.Empty(t, taken[key], "%s is taken", key)
				taken[key] = id
				assert.Equal(t, tenant, b.Tenant)
				assert.NotEqual(t, "tenant:acme", b.ScopePath(), "a budget there would touch every other")
				if look := spec.Budgets[i]; look.OtherUnit {
					assert.Equal(t, budgets[i-1].ScopePath(), b.ScopePath())
				} else if look.Inner {
					assert.Equal(t, budgets[i-1].ScopePath()+"/app:inner", b.ScopePath())
				}
			}
		}
	}
}
