package ledger

import (
	"encoding/json"

	"github.com/cycles-protocol/cycles-go/gen"
)

// TenantStatus is the state of a tenant record. Any value but the three here
// is one that cannot be determined, and mutations and evaluations fail closed.
type TenantStatus string

// The states of a tenant.
const (
	TenantActive    TenantStatus = "ACTIVE"
	TenantSuspended TenantStatus = "SUSPENDED"
	TenantClosed    TenantStatus = "CLOSED"
)

// Policy rules the leases of a tenant. Every field is set: the zero value is
// not the default.
type Policy struct {
	DefaultTTL, MaxTTL int64 // ms
	MaxGrant, MaxLead  int64 // ms; 0: no limit
	MaxExtensions      int64
	Overage            gen.CommitOveragePolicy
	Legacy             bool
}

// DefaultPolicy is what the reference server does for a tenant without any
// settings.
func DefaultPolicy() Policy {
	return Policy{
		DefaultTTL:    60_000,
		MaxTTL:        3_600_000,
		MaxExtensions: 10,
		Overage:       gen.CommitOveragePolicyAllowIfAvailable,
	}
}

// Tenant is what a tenant record says. Metadata and ExpiryPolicy are kept and
// change nothing.
type Tenant struct {
	ID           string
	Name         string
	Status       TenantStatus
	Policy       Policy
	Metadata     json.RawMessage
	ExpiryPolicy string
	CreatedAt    int64
	UpdatedAt    int64
}

// account is a tenant with all that belongs to it.
type account struct {
	Tenant
	budgets      []*Budget // by scope, then unit
	byKey        map[budgetKey]*Budget
	policies     []*ScopePolicy
	reservations []*Reservation // by creation, which is also by id
	answers      map[answerKey]record
}

func newAccount(t Tenant) *account {
	return &account{
		Tenant:  t,
		byKey:   make(map[budgetKey]*Budget),
		answers: make(map[answerKey]record),
	}
}

// guard is the rule for closed tenants, for every step that persists. Steps
// that only evaluate turn TENANT_CLOSED into a decision.
func (a *account) guard() *Denial {
	switch a.Status {
	case TenantActive, TenantSuspended:
		return nil
	case TenantClosed:
		return deny(gen.ErrorCodeTenantClosed, "tenant %s is closed", a.ID)
	}
	return deny(gen.ErrorCodeInternalError, "the status of tenant %s cannot be determined", a.ID)
}
