package mockserver

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// The admin routes are the part of the governance API that scripts provision
// through. Members that are not of this part are ignored, so that a script for
// the reference stack runs unchanged.

var (
	tenantSettings    = []string{"metadata", "default_commit_overage_policy", "default_reservation_ttl_ms", "max_reservation_ttl_ms", "max_reservation_extensions", "reservation_expiry_policy"}
	tenantCreateShape = shape{required: 2, names: append([]string{"tenant_id", "name"}, tenantSettings...), open: true}
	tenantChangeShape = shape{names: append([]string{"name", "status"}, tenantSettings...), open: true}

	tenantID = regexp.MustCompile(`^[a-z0-9-]{3,64}$`)
)

// tenantBody is a tenant as the admin routes show it. The settings are the
// ones in force, made or not.
type tenantBody struct {
	TenantID      string                  `json:"tenant_id"`
	Name          string                  `json:"name"`
	Status        ledger.TenantStatus     `json:"status"`
	Metadata      json.RawMessage         `json:"metadata,omitempty"`
	Overage       gen.CommitOveragePolicy `json:"default_commit_overage_policy"`
	DefaultTTL    int64                   `json:"default_reservation_ttl_ms"`
	MaxTTL        int64                   `json:"max_reservation_ttl_ms"`
	MaxExtensions int64                   `json:"max_reservation_extensions"`
	ExpiryPolicy  string                  `json:"reservation_expiry_policy,omitempty"`
	CreatedAt     time.Time               `json:"created_at"`
	UpdatedAt     time.Time               `json:"updated_at"`
}

func newTenantBody(t *ledger.Tenant) *tenantBody {
	return &tenantBody{
		TenantID: t.ID, Name: t.Name, Status: t.Status, Metadata: t.Metadata,
		Overage: t.Policy.Overage, DefaultTTL: t.Policy.DefaultTTL, MaxTTL: t.Policy.MaxTTL,
		MaxExtensions: t.Policy.MaxExtensions, ExpiryPolicy: t.ExpiryPolicy,
		CreatedAt: timestamp(t.CreatedAt), UpdatedAt: timestamp(t.UpdatedAt),
	}
}

func timestamp(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func createTenant(x *exchange) (int, any, error) {
	t := ledger.Tenant{Policy: ledger.DefaultPolicy()}
	err := decode(x.entry.Body, &tenantCreateShape, func(r *bodyReader, member string) error {
		if member == "tenant_id" {
			return r.text(member, 0, math.MaxInt, &t.ID)
		}
		return r.tenantSetting(member, &t)
	})
	if err != nil {
		return 0, nil, err
	}
	if !tenantID.MatchString(t.ID) {
		return 0, nil, invalidRequest("Validation failed: tenant_id: has to match %s", tenantID)
	}
	status := http.StatusCreated
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Tenant, *ledger.Denial) {
		if d := l.AddTenant(now, t); d != nil {
			if !d.Conflict {
				return ledger.Tenant{}, d
			}
			status = http.StatusOK // a repeat gets the tenant that exists
		}
		return l.Tenant(now, t.ID)
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	return status, newTenantBody(&out), nil
}

// tenantSetting reads what create and change of a tenant have in common.
func (r *bodyReader) tenantSetting(member string, t *ledger.Tenant) error {
	switch member {
	case "name":
		return r.text(member, 1, maxNameLength, &t.Name)
	case "metadata":
		return r.anyObject(&t.Metadata)
	case "default_commit_overage_policy":
		return oneOf(r, member, overagePolicies, &t.Policy.Overage)
	case "default_reservation_ttl_ms":
		return r.integer(member, minTTL, maxTTL, &t.Policy.DefaultTTL)
	case "max_reservation_ttl_ms":
		return r.integer(member, minTTL, maxTTL, &t.Policy.MaxTTL)
	case "max_reservation_extensions":
		return r.integer(member, 0, math.MaxInt64, &t.Policy.MaxExtensions)
	}
	return r.text(member, 0, maxNameLength, &t.ExpiryPolicy)
}

func changeTenant(x *exchange) (int, any, error) {
	// The body is read twice: once to judge it, once over the tenant it changes.
	edit := func(t *ledger.Tenant) error {
		return decode(x.entry.Body, &tenantChangeShape, func(r *bodyReader, member string) error {
			if member == "status" {
				return oneOf(r, member, tenantStatuses, &t.Status)
			}
			return r.tenantSetting(member, t)
		})
	}
	if err := edit(new(ledger.Tenant)); err != nil {
		return 0, nil, err
	}
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Tenant, *ledger.Denial) {
		return l.ChangeTenant(now, x.r.PathValue("tenant_id"), func(t *ledger.Tenant) { _ = edit(t) })
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, newTenantBody(&out), nil
}

var tenantStatuses = []ledger.TenantStatus{ledger.TenantActive, ledger.TenantSuspended, ledger.TenantClosed}

func getTenant(x *exchange) (int, any, error) {
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Tenant, *ledger.Denial) {
		return l.Tenant(now, x.r.PathValue("tenant_id"))
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, newTenantBody(&out), nil
}

func listTenants(x *exchange) (int, any, error) {
	all, _ := step(x, func(l *ledger.Ledger, now int64) ([]ledger.Tenant, *ledger.Denial) { return l.Tenants(now), nil })
	return adminPage(x, "tenants", all, func(t *ledger.Tenant) string { return t.ID }, func(t *ledger.Tenant) any { return newTenantBody(t) })
}

// adminPage cuts a page out of a list that is in the order of its ids.
func adminPage[T any](x *exchange, name string, all []T, id func(*T) string, body func(*T) any) (int, any, error) {
	values, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	limit, err := values.limit()
	if err != nil {
		return 0, nil, err
	}
	var after string
	if cursor, _ := values.first("cursor"); cursor != "" {
		if err := decodeCursor(cursor, &after); err != nil {
			return 0, nil, err
		}
	}
	page := []any{}
	out := map[string]any{"has_more": false}
	last := ""
	for i := range all {
		if id(&all[i]) <= after {
			continue
		}
		if len(page) == limit {
			out["has_more"], out["next_cursor"] = true, encodeCursor(last)
			break
		}
		last = id(&all[i])
		page = append(page, body(&all[i]))
	}
	out[name] = page
	return http.StatusOK, out, nil
}
