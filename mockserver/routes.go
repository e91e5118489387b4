package mockserver

import (
	"crypto/sha256"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, m := range map[string]methods{
		"/v1/decide": {
			"POST": {operation: Decide, hasBody: true, handle: decide},
		},
		"/v1/reservations": {
			"POST": {operation: CreateReservation, hasBody: true, handle: createReservation},
			"GET":  {operation: ListReservations, access: tenantOrAdmin, handle: listReservations},
		},
		"/v1/reservations/{reservation_id}": {
			"GET": {operation: GetReservation, access: tenantOrAdmin, handle: getReservation},
		},
		"/v1/reservations/{reservation_id}/commit": {
			"POST": {operation: CommitReservation, hasBody: true, handle: commitReservation},
		},
		"/v1/reservations/{reservation_id}/release": {
			"POST": {operation: ReleaseReservation, access: tenantOrAdmin, hasBody: true, handle: releaseReservation},
		},
		"/v1/reservations/{reservation_id}/extend": {
			"POST": {operation: ExtendReservation, hasBody: true, handle: extendReservation},
		},
		"/v1/balances": {
			"GET": {operation: GetBalances, handle: getBalances},
		},
		"/v1/events": {
			"POST": {operation: CreateEvent, hasBody: true, handle: createEvent},
		},
		"/v1/evidence/{evidence_id}": {
			"GET": {operation: GetEvidence, access: public, handle: getEvidence},
		},
		"/v1/.well-known/cycles-jwks.json": {
			"GET": {operation: GetEvidenceJWKS, access: public, handle: getEvidenceJWKS},
		},

		"/v1/admin/tenants": {
			"POST": {access: adminOnly, hasBody: true, handle: createTenant},
			"GET":  {access: adminOnly, handle: listTenants},
		},
		"/v1/admin/tenants/{tenant_id}": {
			"GET":   {access: adminOnly, handle: getTenant},
			"PATCH": {access: adminOnly, hasBody: true, handle: changeTenant},
		},
		"/v1/admin/api-keys": {
			"POST": {access: adminOnly, hasBody: true, handle: createKey},
			"GET":  {access: adminOnly, handle: listKeys},
		},
		"/v1/admin/api-keys/{key_id}": {
			"DELETE": {access: adminOnly, handle: revokeKey},
		},
		"/v1/admin/budgets": {
			"POST":  {access: tenantOrAdmin, hasBody: true, handle: createBudget},
			"GET":   {access: tenantOrAdmin, handle: listBudgets},
			"PATCH": {access: adminOnly, hasBody: true, handle: changeBudget},
		},
		"/v1/admin/budgets/lookup": {
			"GET": {access: tenantOrAdmin, handle: lookupBudget},
		},
		"/v1/admin/budgets/freeze": {
			"POST": {access: adminOnly, optionalBody: true, handle: freezeBudget},
		},
		"/v1/admin/budgets/unfreeze": {
			"POST": {access: adminOnly, optionalBody: true, handle: unfreezeBudget},
		},
		"/v1/admin/budgets/fund": {
			"POST": {access: tenantOrAdmin, hasBody: true, handle: fundBudget},
		},
		"/v1/admin/policies": {
			"POST": {access: tenantOrAdmin, hasBody: true, handle: createPolicy},
			"GET":  {access: tenantOrAdmin, handle: listPolicies},
		},
		"/v1/auth/introspect":        {"GET": {access: tenantOrAdmin, handle: introspect}},
		"/actuator/health/readiness": {"GET": {access: public, handle: health}},
		"/actuator/health/liveness":  {"GET": {access: public, handle: health}},
		"/healthz":                   {"GET": {access: public, handle: health}},
	} {
		mux.Handle(pattern, m)
	}
	mux.Handle("/", methods(nil))
	return mux
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
