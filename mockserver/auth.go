package mockserver

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

func unauthorized(message string) *problem {
	return &problem{status: http.StatusUnauthorized, code: gen.ErrorCodeUnauthorized, message: message}
}

// authenticate finds out who asks. On the endpoints that take both kinds of
// keys the admin key goes first, and a wrong one is not made up for by a
// tenant's key.
func (x *exchange) authenticate(a access) error {
	if a == public {
		return nil
	}
	admin := strings.TrimSpace(x.r.Header.Get("X-Admin-API-Key"))
	if a == adminOnly || a == tenantOrAdmin && admin != "" {
		if x.s.cfg.adminKey == "" || subtle.ConstantTimeCompare([]byte(admin), []byte(x.s.cfg.adminKey)) != 1 {
			return unauthorized("Invalid admin API key")
		}
		x.admin = true
		return nil
	}
	secret := x.r.Header.Get("X-Cycles-API-Key")
	if strings.TrimSpace(secret) == "" {
		return unauthorized("Missing API key")
	}
	x.s.mu.Lock()
	tenant, refusal := x.s.ledger.Authenticate(x.s.nowMs(), secret)
	x.s.mu.Unlock()
	if refusal != "" {
		return unauthorized(refusal)
	}
	x.entry.Tenant = tenant
	return nil
}
