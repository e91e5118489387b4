package mockserver

import (
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

var keyCreateShape = shape{
	required: 2,
	names:    []string{"tenant_id", "name", "permissions", "scope_filter", "expires_at", "metadata"},
	open:     true,
}

// keyBody is an API key as the admin routes show it; the secret is shown by the
// create alone.
type keyBody struct {
	KeyID       string           `json:"key_id"`
	KeySecret   string           `json:"key_secret,omitempty"`
	KeyPrefix   string           `json:"key_prefix"`
	TenantID    string           `json:"tenant_id"`
	Name        string           `json:"name"`
	Status      ledger.KeyStatus `json:"status"`
	Permissions []string         `json:"permissions"`
	ScopeFilter []string         `json:"scope_filter,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	ExpiresAt   *time.Time       `json:"expires_at,omitempty"`
}

func newKeyBody(k *ledger.Key) *keyBody {
	const prefix = 14
	out := &keyBody{
		KeyID: k.ID, KeyPrefix: k.Secret[:min(prefix, len(k.Secret))], TenantID: k.Tenant, Name: k.Name,
		Status: k.Status, Permissions: k.Permissions, ScopeFilter: k.ScopeFilter, CreatedAt: timestamp(k.CreatedAt),
	}
	if out.Permissions == nil {
		out.Permissions = []string{}
	}
	if k.ExpiresAt != 0 {
		at := timestamp(k.ExpiresAt)
		out.ExpiresAt = &at
	}
	return out
}

func createKey(x *exchange) (int, any, error) {
	k := ledger.Key{Secret: "cyc_live_" + hexOf(rand.Uint64(), rand.Uint64())}
	err := decode(x.entry.Body, &keyCreateShape, func(r *bodyReader, member string) error {
		switch member {
		case "tenant_id":
			return r.text(member, 1, maxIDLength, &k.Tenant)
		case "permissions":
			return r.texts(member, math.MaxInt, maxNameLength, &k.Permissions)
		case "scope_filter":
			return r.texts(member, math.MaxInt, math.MaxInt, &k.ScopeFilter)
		case "expires_at":
			return r.dateTime(member, &k.ExpiresAt)
		case "metadata":
			return r.ignoredObject()
		}
		return r.text(member, 1, maxNameLength, &k.Name)
	})
	if err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Key, *ledger.Denial) { return l.AddKey(now, k) })
	if d != nil {
		return 0, nil, denied(d)
	}
	body := newKeyBody(&out)
	body.KeySecret = out.Secret
	return http.StatusCreated, body, nil
}

func listKeys(x *exchange) (int, any, error) {
	tenant := x.r.URL.Query().Get("tenant_id")
	all, _ := step(x, func(l *ledger.Ledger, now int64) ([]ledger.Key, *ledger.Denial) { return l.Keys(now, tenant), nil })
	return adminPage(x, "keys", all, func(k *ledger.Key) string { return k.ID }, func(k *ledger.Key) any { return newKeyBody(k) })
}

func revokeKey(x *exchange) (int, any, error) {
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Key, *ledger.Denial) {
		return l.RevokeKey(now, x.r.PathValue("key_id"))
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, newKeyBody(&out), nil
}

// introspect says who the key is.
func introspect(x *exchange) (int, any, error) {
	if x.admin {
		return http.StatusOK, map[string]any{"authenticated": true, "auth_type": "admin", "permissions": []string{"*"}}, nil
	}
	x.s.mu.Lock()
	k, _ := x.s.ledger.KeyOf(x.r.Header.Get("X-Cycles-API-Key"))
	x.s.mu.Unlock()
	body := newKeyBody(&k)
	return http.StatusOK, map[string]any{
		"authenticated": true, "auth_type": "tenant", "tenant_id": body.TenantID, "key_id": body.KeyID,
		"permissions": body.Permissions, "scope_filter": body.ScopeFilter,
	}, nil
}

func health(*exchange) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "UP"}, nil
}
