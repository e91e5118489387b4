package mockserver

import (
	"math"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

var (
	policyCreateShape = shape{
		required: 2,
		names:    []string{"name", "scope_pattern", "priority", "caps", "commit_overage_policy", "reservation_ttl_override", "tenant_id"},
		open:     true,
	}
	capsShape        = shape{names: []string{"max_tokens", "max_steps_remaining", "tool_allowlist", "tool_denylist", "cooldown_ms"}}
	ttlOverrideShape = shape{names: []string{"default_ttl_ms", "max_ttl_ms", "max_extensions"}}
)

// policyBody is a scope policy as the admin routes show it.
type policyBody struct {
	PolicyID     string                  `json:"policy_id"`
	TenantID     string                  `json:"tenant_id"`
	Name         string                  `json:"name"`
	ScopePattern string                  `json:"scope_pattern"`
	Priority     int64                   `json:"priority"`
	Caps         *gen.Caps               `json:"caps,omitempty"`
	Overage      gen.CommitOveragePolicy `json:"commit_overage_policy,omitempty"`
	TTLOverride  *ttlOverrideBody        `json:"reservation_ttl_override,omitempty"`
	Status       string                  `json:"status"`
	CreatedAt    time.Time               `json:"created_at"`
}

type ttlOverrideBody struct {
	DefaultTTL    *int64 `json:"default_ttl_ms,omitempty"`
	MaxTTL        *int64 `json:"max_ttl_ms,omitempty"`
	MaxExtensions *int64 `json:"max_extensions,omitempty"`
}

func newPolicyBody(p *ledger.ScopePolicy) *policyBody {
	out := &policyBody{
		PolicyID: p.ID, TenantID: p.Tenant, Name: p.Name, ScopePattern: p.Pattern, Priority: p.Priority,
		Caps: p.Caps, Overage: p.Overage, Status: "ACTIVE", CreatedAt: timestamp(p.CreatedAt),
	}
	if o := (ttlOverrideBody{p.DefaultTTL, p.MaxTTL, p.MaxExtensions}); o != (ttlOverrideBody{}) {
		out.TTLOverride = &o
	}
	return out
}

func createPolicy(x *exchange) (int, any, error) {
	var p ledger.ScopePolicy
	err := decode(x.entry.Body, &policyCreateShape, func(r *bodyReader, member string) error {
		switch member {
		case "scope_pattern":
			return r.text(member, 1, math.MaxInt, &p.Pattern)
		case "priority":
			return r.integer(member, math.MinInt64, math.MaxInt64, &p.Priority)
		case "caps":
			p.Caps = new(gen.Caps)
			return r.caps(p.Caps)
		case "commit_overage_policy":
			return oneOf(r, member, overagePolicies, &p.Overage)
		case "reservation_ttl_override":
			return r.ttlOverride(&p)
		case "tenant_id":
			return r.text(member, 1, maxIDLength, &p.Tenant)
		}
		return r.text(member, 1, maxNameLength, &p.Name)
	})
	if err != nil {
		return 0, nil, err
	}
	if p.Tenant, err = x.actingFor(p.Tenant); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.ScopePolicy, *ledger.Denial) { return l.AddPolicy(now, p) })
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusCreated, newPolicyBody(&out), nil
}

func (r *bodyReader) caps(into *gen.Caps) error {
	return r.within("caps", &capsShape, func(member string) error {
		switch member {
		case "tool_allowlist":
			return r.texts(member, math.MaxInt, maxNameLength, &into.ToolAllowlist)
		case "tool_denylist":
			return r.texts(member, math.MaxInt, maxNameLength, &into.ToolDenylist)
		case "max_tokens":
			return r.optional(member, 0, math.MaxInt64, &into.MaxTokens)
		case "max_steps_remaining":
			return r.optional(member, 0, math.MaxInt64, &into.MaxStepsRemaining)
		}
		return r.optional(member, 0, math.MaxInt64, &into.CooldownMs)
	})
}

func (r *bodyReader) ttlOverride(p *ledger.ScopePolicy) error {
	return r.within("reservation_ttl_override", &ttlOverrideShape, func(member string) error {
		switch member {
		case "default_ttl_ms":
			return r.optional(member, minTTL, maxTTL, &p.DefaultTTL)
		case "max_ttl_ms":
			return r.optional(member, minTTL, maxTTL, &p.MaxTTL)
		}
		return r.optional(member, 0, math.MaxInt64, &p.MaxExtensions)
	})
}

func listPolicies(x *exchange) (int, any, error) {
	tenant := x.entry.Tenant
	if x.admin {
		tenant = x.r.URL.Query().Get("tenant_id")
	}
	all, _ := step(x, func(l *ledger.Ledger, now int64) ([]ledger.ScopePolicy, *ledger.Denial) {
		return l.Policies(now, tenant), nil
	})
	return adminPage(x, "policies", all, func(p *ledger.ScopePolicy) string { return p.ID }, func(p *ledger.ScopePolicy) any { return newPolicyBody(p) })
}
