package ledger

import (
	"fmt"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// ScopePolicy gives caps and lease overrides to the scopes that its pattern
// matches.
type ScopePolicy struct {
	ID       string
	Tenant   string
	Name     string
	Pattern  string
	Priority int64
	Caps     *gen.Caps
	Overage  gen.CommitOveragePolicy
	// The overrides count when they are not nil.
	DefaultTTL, MaxTTL, MaxExtensions *int64
	CreatedAt                         int64
}

// everythingBelow at the end of a pattern matches any number of further levels.
const everythingBelow = "/*"

// ParsePattern checks a pattern and returns its canonical form: a scope path
// in which values may be "*" and that may end in "/*".
func ParsePattern(pattern string) (string, error) {
	pattern = strings.ToLower(pattern)
	path := strings.TrimSuffix(pattern, everythingBelow)
	if pattern == "*" {
		return pattern, nil
	}
	if err := checkSegments(path, func(v string) bool { return v == "*" || ValidValue(v) }); err != nil {
		return "", fmt.Errorf("pattern: %w", err)
	}
	return pattern, nil
}

// matches reports whether the pattern covers path, and how literally: the
// number of its segments without a "*".
func (p *ScopePolicy) matches(path string) (literal int, ok bool) {
	if p.Pattern == "*" {
		return 0, true
	}
	pattern, below := strings.CutSuffix(p.Pattern, everythingBelow)
	for pattern != "" {
		if path == "" {
			return 0, false
		}
		var want, have string
		want, pattern, _ = strings.Cut(pattern, "/")
		have, path, _ = strings.Cut(path, "/")
		level, wildcard := strings.CutSuffix(want, "*")
		switch {
		case want == have:
			literal++
		case wildcard && strings.HasPrefix(have, level):
		default:
			return 0, false
		}
	}
	return literal, path == "" || below
}

// best is the policy that decides for a path, among those that pick accepts.
func (a *account) best(path string, pick func(*ScopePolicy) bool) *ScopePolicy {
	var best *ScopePolicy
	bestLiteral := 0
	for _, p := range a.policies {
		literal, ok := p.matches(path)
		if !ok || !pick(p) {
			continue
		}
		if best == nil || p.Priority > best.Priority || p.Priority == best.Priority && literal > bestLiteral {
			best, bestLiteral = p, literal
		}
	}
	return best
}

// caps are those of the best policy, or else of the budget at the deepest scope
// itself.
func (a *account) caps(path string, budgets []*Budget) *gen.Caps {
	if p := a.best(path, func(p *ScopePolicy) bool { return p.Caps != nil }); p != nil {
		return p.Caps
	}
	if deepest := budgets[len(budgets)-1]; deepest.Scope == path {
		return deepest.Caps
	}
	return nil
}

// leasePolicy is the tenant's policy with the overrides of the best policy.
func (a *account) leasePolicy(path string) Policy {
	out := a.Policy
	for _, o := range [...]struct {
		to  *int64
		get func(*ScopePolicy) *int64
	}{
		{&out.DefaultTTL, func(p *ScopePolicy) *int64 { return p.DefaultTTL }},
		{&out.MaxTTL, func(p *ScopePolicy) *int64 { return p.MaxTTL }},
		{&out.MaxExtensions, func(p *ScopePolicy) *int64 { return p.MaxExtensions }},
	} {
		if p := a.best(path, func(p *ScopePolicy) bool { return o.get(p) != nil }); p != nil {
			*o.to = *o.get(p)
		}
	}
	return out
}
