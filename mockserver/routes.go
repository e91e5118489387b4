package mockserver

import (
	"crypto/sha256"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// routes is the mux over everything there is.
func routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, all := range []map[string]methods{runtimeRoutes(), adminRoutes(), controlRoutes()} {
		for pattern, m := range all {
			mux.Handle(pattern, m)
		}
	}
	mux.Handle("/", methods(nil))
	return mux
}

func runtimeRoutes() map[string]methods {
	return map[string]methods{
		"/v1/decide": {
			"POST": {operation: Decide, body: jsonBody, handle: decide},
		},
		"/v1/reservations": {
			"POST": {operation: CreateReservation, body: jsonBody, handle: createReservation},
			"GET":  {operation: ListReservations, access: tenantOrAdmin, handle: listReservations},
		},
		"/v1/reservations/{reservation_id}": {
			"GET": {operation: GetReservation, access: tenantOrAdmin, handle: getReservation},
		},
		"/v1/reservations/{reservation_id}/commit": {
			"POST": {operation: CommitReservation, body: jsonBody, handle: commitReservation},
		},
		"/v1/reservations/{reservation_id}/release": {
			"POST": {operation: ReleaseReservation, access: tenantOrAdmin, body: jsonBody, handle: releaseReservation},
		},
		"/v1/reservations/{reservation_id}/extend": {
			"POST": {operation: ExtendReservation, body: jsonBody, handle: extendReservation},
		},
		"/v1/balances": {
			"GET": {operation: GetBalances, handle: getBalances},
		},
		"/v1/events": {
			"POST": {operation: CreateEvent, body: jsonBody, handle: createEvent},
		},
		"/v1/evidence/{evidence_id}": {
			"GET": {operation: GetEvidence, access: public, handle: getEvidence},
		},
		"/v1/.well-known/cycles-jwks.json": {
			"GET": {operation: GetEvidenceJWKS, access: public, handle: getEvidenceJWKS},
		},
	}
}

func adminRoutes() map[string]methods {
	return map[string]methods{
		"/v1/admin/tenants": {
			"POST": {access: adminOnly, body: jsonBody, handle: createTenant},
			"GET":  {access: adminOnly, handle: listTenants},
		},
		"/v1/admin/tenants/{tenant_id}": {
			"GET":   {access: adminOnly, handle: getTenant},
			"PATCH": {access: adminOnly, body: jsonBody, handle: changeTenant},
		},
		"/v1/admin/api-keys": {
			"POST": {access: adminOnly, body: jsonBody, handle: createKey},
			"GET":  {access: adminOnly, handle: listKeys},
		},
		"/v1/admin/api-keys/{key_id}": {
			"DELETE": {access: adminOnly, handle: revokeKey},
		},
		"/v1/admin/budgets": {
			"POST":  {access: tenantOrAdmin, body: jsonBody, handle: createBudget},
			"GET":   {access: tenantOrAdmin, handle: listBudgets},
			"PATCH": {access: adminOnly, body: jsonBody, handle: changeBudget},
		},
		"/v1/admin/budgets/lookup": {
			"GET": {access: tenantOrAdmin, handle: lookupBudget},
		},
		"/v1/admin/budgets/freeze": {
			"POST": {access: adminOnly, body: optionalBody, handle: freezeBudget},
		},
		"/v1/admin/budgets/unfreeze": {
			"POST": {access: adminOnly, body: optionalBody, handle: unfreezeBudget},
		},
		"/v1/admin/budgets/fund": {
			"POST": {access: tenantOrAdmin, body: jsonBody, handle: fundBudget},
		},
		"/v1/admin/policies": {
			"POST": {access: tenantOrAdmin, body: jsonBody, handle: createPolicy},
			"GET":  {access: tenantOrAdmin, handle: listPolicies},
		},
		"/v1/auth/introspect":        {"GET": {access: tenantOrAdmin, handle: introspect}},
		"/actuator/health/readiness": {"GET": {access: public, quiet: true, handle: health}},
		"/actuator/health/liveness":  {"GET": {access: public, quiet: true, handle: health}},
		"/healthz":                   {"GET": {access: public, quiet: true, handle: health}},
	}
}

// step runs one step of the ledger under its lock, at the server's time.
func step[T any](x *exchange, f func(l *ledger.Ledger, now int64) (T, *ledger.Denial)) (T, *ledger.Denial) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return f(x.s.ledger, x.s.nowMs())
}

func (s *Server) nowMs() int64 { return s.clock.now().UnixMilli() }

// identity is what the ledger knows a request by, once its body was read.
func (x *exchange) identity(key string) (ledger.Identity, error) {
	if err := x.matchKeyHeader(key); err != nil {
		return ledger.Identity{}, err
	}
	canonical, err := strictjson.Canonical(x.entry.Body)
	if err != nil {
		return ledger.Identity{}, invalidRequest("Malformed request body: %v", err)
	}
	if x.entry.Operation == CreateEvent {
		canonical = withoutMember(canonical, "client_time_ms")
	}
	return ledger.Identity{Tenant: x.entry.Tenant, Key: key, Print: sha256.Sum256(canonical)}, nil
}

// withoutMember cuts a member out of a canonical object: client_time_ms is
// advisory and must not decide about idempotency.
func withoutMember(canonical []byte, name string) []byte {
	s := strictjson.New(canonical)
	if s.OpenObject() != nil {
		return canonical
	}
	for {
		start := s.Offset()
		key, ok, err := s.NextMember()
		if err != nil || !ok || s.Skip() != nil {
			return canonical
		}
		if string(key) == name {
			return append(canonical[:start], canonical[s.Offset():]...)
		}
	}
}

// pathID checks the reservation id of the path.
func (x *exchange) pathID() error {
	if n := len([]rune(x.entry.ReservationID)); n < 1 || n > maxIDLength {
		return invalidRequest("Validation failed: reservation_id: has to have 1 to %d characters", maxIDLength)
	}
	return nil
}
