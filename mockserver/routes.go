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
		"/v1/reservations": {
			"POST": {operation: CreateReservation, hasBody: true, handle: createReservation},
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
	return ledger.Identity{Tenant: x.entry.Tenant, Key: key, Print: sha256.Sum256(canonical)}, nil
}

// pathID checks the reservation id of the path.
func (x *exchange) pathID() error {
	if n := len([]rune(x.entry.ReservationID)); n < 1 || n > maxIDLength {
		return invalidRequest("Validation failed: reservation_id: has to have 1 to %d characters", maxIDLength)
	}
	return nil
}
