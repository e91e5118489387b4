package ledger

import (
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// AddTenant adds a tenant record.
func (l *Ledger) AddTenant(now int64, t Tenant) *Denial {
	now = l.step(now)
	if !ValidValue(t.ID) {
		return invalid("tenant id %q has to be 1 to %d of A-Z a-z 0-9 _ . -", t.ID, maxValue)
	}
	if l.accounts[t.ID] != nil {
		return conflict("tenant %s exists", t.ID)
	}
	if t.Name == "" {
		t.Name = t.ID
	}
	if t.Status == "" {
		t.Status = TenantActive
	}
	t.CreatedAt, t.UpdatedAt = now, now
	l.accounts[t.ID] = newAccount(t)
	return nil
}

// existing is the account of a tenant that a caller names.
func (l *Ledger) existing(tenant string) (*account, *Denial) {
	a := l.accounts[tenant]
	if a == nil {
		return nil, deny(gen.ErrorCodeNotFound, "there is no tenant %q", tenant)
	}
	return a, nil
}

// Tenant returns a tenant record.
func (l *Ledger) Tenant(now int64, id string) (Tenant, *Denial) {
	l.step(now)
	a, d := l.existing(id)
	if d != nil {
		return Tenant{}, d
	}
	return a.Tenant, nil
}

// ChangeTenant edits a tenant record. CLOSED is final, and closes the tenant's
// budgets.
func (l *Ledger) ChangeTenant(now int64, id string, edit func(*Tenant)) (Tenant, *Denial) {
	now = l.step(now)
	a, d := l.existing(id)
	if d != nil {
		return Tenant{}, d
	}
	t := a.Tenant
	edit(&t)
	if a.Status == TenantClosed && t.Status != TenantClosed {
		return Tenant{}, conflict("tenant %s is closed, which is final", id)
	}
	t.ID, t.UpdatedAt = id, now
	if t.Status == TenantClosed && a.Status != TenantClosed {
		for _, b := range a.budgets {
			b.Status, b.UpdatedAt = BudgetClosed, now
		}
	}
	a.Tenant = t
	return t, nil
}

// AddKey adds an API key to a tenant.
func (l *Ledger) AddKey(now int64, k Key) (Key, *Denial) {
	now = l.step(now)
	if _, d := l.existing(k.Tenant); d != nil {
		return Key{}, d
	}
	if strings.TrimSpace(k.Secret) == "" {
		return Key{}, invalid("an API key of tenant %s is blank", k.Tenant)
	}
	if l.keys[k.Secret] != nil {
		return Key{}, conflict("an API key of tenant %s is in use already", k.Tenant)
	}
	k.ID, k.CreatedAt = l.nextID(now), now
	if k.Status == "" {
		k.Status = KeyActive
	}
	l.keys[k.Secret] = &k
	return k, nil
}

// AddBudget adds a budget. Its scope may be spelt in any case.
func (l *Ledger) AddBudget(now int64, b Budget) (Budget, *Denial) {
	now = l.step(now)
	scope, err := ParseScope(b.Scope)
	if err != nil {
		return Budget{}, invalid("%v", err)
	}
	b.Scope = scope
	a, d := l.owner(&b.Tenant, scope)
	if d != nil {
		return Budget{}, d
	}
	switch {
	case !slices.Contains(Units[:], b.Unit):
		return Budget{}, invalid("budget %s: unknown unit %q", scope, b.Unit)
	case b.OverdraftLimit < 0 || !b.fits():
		return Budget{}, invalid("budget %s: every amount has to be at least 0, and the balance within 64 bits", scope)
	case a.Status == TenantClosed:
		return Budget{}, a.guard()
	}
	key := budgetKey{scope, b.Unit}
	if a.byKey[key] != nil {
		return Budget{}, conflict("budget %s in %s exists", scope, b.Unit)
	}
	if b.Status == "" {
		b.Status = BudgetActive
	}
	b.ID, b.CreatedAt, b.UpdatedAt = l.nextID(now), now, now
	i, _ := a.place(key)
	a.byKey[key] = &b
	a.budgets = slices.Insert(a.budgets, i, &b)
	return b, nil
}

// owner finds the tenant of something at a scope. An empty tenant takes that of
// the scope, or the only one there is.
func (l *Ledger) owner(tenant *string, scope string) (*account, *Denial) {
	root := scopeTenant(scope)
	if *tenant == "" {
		*tenant = l.rootedAt(root)
	}
	if *tenant == "" {
		return nil, invalid("scope %s: name the tenant it belongs to", scope)
	}
	if root != "" && root != "*" && !strings.EqualFold(root, *tenant) {
		return nil, deny(gen.ErrorCodeForbidden, "scope %s is not of tenant %s", scope, *tenant)
	}
	return l.existing(*tenant)
}

// rootedAt is the tenant that a scope's lower-case tenant segment means.
func (l *Ledger) rootedAt(root string) string {
	if root == "" {
		if len(l.accounts) == 1 {
			for id := range l.accounts {
				return id
			}
		}
		return ""
	}
	if l.accounts[root] != nil {
		return root
	}
	for id := range l.accounts {
		if strings.EqualFold(id, root) {
			return id
		}
	}
	return root
}

// place is where a budget is or belongs in the account's order.
func (a *account) place(key budgetKey) (int, bool) {
	return slices.BinarySearchFunc(a.budgets, key, func(b *Budget, k budgetKey) int {
		if c := strings.Compare(b.Scope, k.scope); c != 0 {
			return c
		}
		return strings.Compare(string(b.Unit), string(k.unit))
	})
}

// ChangeBudget edits a budget. Where it is and what it has spent so far is not
// for edit to change.
func (l *Ledger) ChangeBudget(now int64, scope string, unit gen.UnitEnum, edit func(*Budget) *Denial) (Budget, *Denial) {
	now = l.step(now)
	b, d := l.budgetOf("", scope, unit)
	if d != nil {
		return Budget{}, d
	}
	changed := *b
	if d := edit(&changed); d != nil {
		return Budget{}, d
	}
	changed.UpdatedAt = now
	*b = changed
	return changed, nil
}

// Budget returns a budget of one tenant, or of any when tenant is empty.
func (l *Ledger) Budget(now int64, tenant, scope string, unit gen.UnitEnum) (Budget, *Denial) {
	l.step(now)
	b, d := l.budgetOf(tenant, scope, unit)
	if d != nil {
		return Budget{}, d
	}
	return *b, nil
}

// budgetOf finds a budget of one tenant, or of any when tenant is empty. That of
// another tenant is not found: whether it exists is not for others to know. A
// scope without a tenant in it may be budgeted by several, and needs the name.
func (l *Ledger) budgetOf(tenant, scope string, unit gen.UnitEnum) (*Budget, *Denial) {
	scope, err := ParseScope(scope)
	if err != nil {
		return nil, invalid("%v", err)
	}
	var found *Budget
	for id, a := range l.accounts {
		b := a.byKey[budgetKey{scope, unit}]
		if b == nil || tenant != "" && tenant != id {
			continue
		}
		if found != nil {
			return nil, conflict("more than one tenant has a budget %s in %s", scope, unit)
		}
		found = b
	}
	if found == nil {
		return nil, deny(gen.ErrorCodeNotFound, "there is no budget %s in %s", scope, unit)
	}
	return found, nil
}
