package ledger

// KeyStatus is the state of an API key.
type KeyStatus string

// The states of an API key.
const (
	KeyActive  KeyStatus = "ACTIVE"
	KeyRevoked KeyStatus = "REVOKED"
)

// Key is an API key.
type Key struct {
	ID          string
	Secret      string
	Tenant      string
	Name        string
	Status      KeyStatus
	Permissions []string
	ScopeFilter []string
	CreatedAt   int64
	ExpiresAt   int64 // 0: never
}

// Authenticate returns the tenant that a key acts for. A closed tenant's key
// stays valid, so that TENANT_CLOSED can be seen; that of a suspended tenant
// does not. The reason of a refusal is for the message only.
func (l *Ledger) Authenticate(now int64, secret string) (tenant, refusal string) {
	now = l.step(now)
	k := l.keys[secret]
	switch {
	case k == nil:
		return "", "unknown API key"
	case k.Status == KeyRevoked:
		return "", "the API key was revoked"
	case k.ExpiresAt != 0 && k.ExpiresAt < now:
		return "", "the API key has expired"
	}
	if a := l.accounts[k.Tenant]; a.Status == TenantSuspended {
		return "", "the tenant is suspended"
	}
	return k.Tenant, ""
}
