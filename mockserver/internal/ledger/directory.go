package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Tenants returns all tenant records by id.
func (l *Ledger) Tenants(now int64) []Tenant {
	l.step(now)
	var out []Tenant
	for _, id := range slices.Sorted(maps.Keys(l.accounts)) {
		out = append(out, l.accounts[id].Tenant)
	}
	return out
}

// Keys returns the keys of a tenant, or of all when tenant is empty, by id.
func (l *Ledger) Keys(now int64, tenant string) []Key {
	l.step(now)
	var out []Key
	for _, k := range l.keys {
		if tenant == "" || k.Tenant == tenant {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// KeyOf returns the key with this secret.
func (l *Ledger) KeyOf(secret string) (Key, bool) {
	k := l.keys[secret]
	if k == nil {
		return Key{}, false
	}
	return *k, true
}

// RevokeKey ends a key, found by its id or its secret. It may be revoked
// already.
func (l *Ledger) RevokeKey(now int64, idOrSecret string) (Key, *Denial) {
	l.step(now)
	for _, k := range l.keys {
		if k.ID == idOrSecret || k.Secret == idOrSecret {
			k.Status = KeyRevoked
			return *k, nil
		}
	}
	return Key{}, deny(gen.ErrorCodeNotFound, "there is no such API key")
}

// Budgets returns the budgets of a tenant, or of all when tenant is empty, by
// tenant, scope and unit.
func (l *Ledger) Budgets(now int64, tenant string) []Budget {
	l.step(now)
	var out []Budget
	for _, id := range slices.Sorted(maps.Keys(l.accounts)) {
		if tenant != "" && tenant != id {
			continue
		}
		for _, b := range l.accounts[id].budgets {
			out = append(out, *b)
		}
	}
	return out
}

// AddPolicy adds a scope policy.
func (l *Ledger) AddPolicy(now int64, p ScopePolicy) (ScopePolicy, *Denial) {
	now = l.step(now)
	pattern, err := ParsePattern(p.Pattern)
	if err != nil {
		return ScopePolicy{}, invalid("%v", err)
	}
	p.Pattern = pattern
	a, d := l.owner(&p.Tenant, strings.TrimSuffix(pattern, everythingBelow))
	if d != nil {
		return ScopePolicy{}, d
	}
	p.ID, p.CreatedAt = l.nextID(now), now
	a.policies = append(a.policies, &p)
	return p, nil
}

// Policies returns the scope policies of a tenant, or of all when tenant is
// empty, by id.
func (l *Ledger) Policies(now int64, tenant string) []ScopePolicy {
	l.step(now)
	var out []ScopePolicy
	for id, a := range l.accounts {
		if tenant != "" && tenant != id {
			continue
		}
		for _, p := range a.policies {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b ScopePolicy) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Counts are the numbers of what a ledger holds.
type Counts struct {
	Tenants, Budgets int
	Reservations     map[gen.ReservationStatus]int
	Events           int
}

// Counts counts.
func (l *Ledger) Counts(now int64) Counts {
	l.step(now)
	c := Counts{Tenants: len(l.accounts), Reservations: make(map[gen.ReservationStatus]int)}
	for _, r := range l.reservations {
		c.Reservations[r.Status]++
	}
	for _, a := range l.accounts {
		c.Budgets += len(a.budgets)
		for k := range a.answers {
			if k.endpoint == endpointEvent {
				c.Events++
			}
		}
	}
	return c
}
