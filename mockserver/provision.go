package mockserver

import (
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Tenant is a tenant with the keys that act for it.
type Tenant struct {
	// ID is the effective tenant of its keys: 1 to 128 characters of
	// A-Z a-z 0-9 _ . -
	ID string
	// Name is for people; it defaults to ID.
	Name string
	// Keys are the values of X-Cycles-API-Key that act for this tenant.
	Keys []string
	// Status defaults to TenantActive.
	Status TenantStatus
	// Policy rules the leases of this tenant's reservations.
	Policy Policy
}

// TenantStatus is the state of a tenant record.
type TenantStatus string

const (
	// TenantActive: everything works.
	TenantActive TenantStatus = "ACTIVE"
	// TenantSuspended: every key of the tenant is answered with 401.
	TenantSuspended TenantStatus = "SUSPENDED"
	// TenantClosed: mutations are answered with 409 TENANT_CLOSED, evaluations
	// with DENY; reads and replays go on. It is final.
	TenantClosed TenantStatus = "CLOSED"
	// TenantMalformed: the record cannot be understood. Mutations and
	// evaluations fail closed with 500 INTERNAL_ERROR.
	TenantMalformed TenantStatus = "MALFORMED"
)

// Policy rules how long reservations live. The zero value is the reference
// server's default. Durations are whole milliseconds; zero means the default.
type Policy struct {
	// DefaultTTL is the lease of a create without ttl_ms. Default 60 s.
	DefaultTTL time.Duration
	// MaxTTL caps the lease a create gets, whatever it asks for. Default 1 h.
	MaxTTL time.Duration
	// MaxGrant caps how far one extend moves the expiry. Default: no cap.
	MaxGrant time.Duration
	// MaxLead keeps the expiry at most this far ahead of the server's time, on
	// create and extend. An extend never moves the expiry back: when the lead
	// is used up already it grants nothing. Default: no limit.
	MaxLead time.Duration
	// MaxExtensions is how many extends one reservation gets before 409
	// MAX_EXTENSIONS_EXCEEDED; replays do not count. Zero means 10, the
	// reference's default. See UnlimitedExtensions and NoExtensions.
	MaxExtensions int
	// Overage is the policy of requests that name none. Default
	// ALLOW_IF_AVAILABLE.
	Overage gen.CommitOveragePolicy
	// Legacy answers like a 0.1.25 server: create and extend carry no
	// remaining_ttl_ms.
	Legacy bool
}

const (
	// UnlimitedExtensions as Policy.MaxExtensions lifts the limit.
	UnlimitedExtensions = 1<<31 - 1
	// NoExtensions as Policy.MaxExtensions refuses even the first extend.
	NoExtensions = -1
)

// Budget is one ledger row: what may be spent at a scope, in one unit. It
// keeps remaining = allocated - spent - reserved - debt.
type Budget struct {
	// Scope is the canonical path, for example "tenant:acme/workspace:prod".
	// Values are lower-cased, as in the scopes derived from a subject.
	Scope string
	// Tenant owns the budget. It defaults to the scope's tenant, and for a
	// scope without one to the only tenant there is.
	Tenant string
	// Unit defaults to USD_MICROCENTS.
	Unit gen.UnitEnum
	// Allocated is the budget's size, at least 0.
	Allocated int64
	// OverdraftLimit is how much debt ALLOW_WITH_OVERDRAFT may leave. Zero
	// permits none.
	OverdraftLimit int64
	// Spent and Debt are what the budget starts with.
	Spent, Debt int64
	// OverLimit starts the scope over its limit: no new reservation.
	OverLimit bool
	// Status defaults to BudgetActive.
	Status BudgetStatus
	// Caps, when set, turn ALLOW into ALLOW_WITH_CAPS for subjects whose
	// deepest scope is this one.
	Caps *gen.Caps
}

// BudgetStatus is the state of a budget.
type BudgetStatus string

const (
	// BudgetActive: everything works.
	BudgetActive BudgetStatus = "ACTIVE"
	// BudgetFrozen refuses new reservations and events; what is reserved can
	// be committed, released and extended.
	BudgetFrozen BudgetStatus = "FROZEN"
	// BudgetClosed is BudgetFrozen for ever.
	BudgetClosed BudgetStatus = "CLOSED"
)

// ScopePolicy gives caps and lease overrides to the scopes it matches. Among
// those that match a subject's deepest scope, the highest Priority decides,
// then the most literal pattern, then the one added first.
type ScopePolicy struct {
	// Tenant owns the policy; it defaults as in Budget.
	Tenant string
	Name   string
	// Pattern is a scope path in which a value may be "*", and which may end in
	// "/*", for that scope and everything below: "tenant:acme/agent:*",
	// "tenant:acme/*".
	Pattern  string
	Priority int
	// Caps come back as ALLOW_WITH_CAPS.
	Caps *gen.Caps
	// DefaultTTL, MaxTTL and MaxExtensions replace those of the tenant's
	// Policy when they are not zero.
	DefaultTTL, MaxTTL time.Duration
	MaxExtensions      int
}
