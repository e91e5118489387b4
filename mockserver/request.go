package mockserver

import (
	"net/http"
	"time"
)

// Operation names an operation as the protocol's operationId does.
type Operation string

// The operations of the runtime API.
const (
	Decide             Operation = "decide"
	CreateReservation  Operation = "createReservation"
	ListReservations   Operation = "listReservations"
	GetReservation     Operation = "getReservation"
	CommitReservation  Operation = "commitReservation"
	ReleaseReservation Operation = "releaseReservation"
	ExtendReservation  Operation = "extendReservation"
	GetEvidence        Operation = "getEvidence"
	GetEvidenceJWKS    Operation = "getEvidenceJwks"
	GetBalances        Operation = "getBalances"
	CreateEvent        Operation = "createEvent"
)

// Verdict says what the idempotency rule made of a request.
type Verdict string

const (
	// VerdictNone: the request did not get as far, or has no key.
	VerdictNone Verdict = ""
	// VerdictFresh: the key was new and the request was worked on.
	VerdictFresh Verdict = "fresh"
	// VerdictReplay: the key had succeeded before with the same payload, and
	// its answer was sent again.
	VerdictReplay Verdict = "replay"
	// VerdictMismatch: the key had succeeded before with another payload.
	VerdictMismatch Verdict = "mismatch"
)

// Request is one request as the server saw it, and what it answered.
type Request struct {
	// Seq counts the requests of this server, from 1.
	Seq uint64
	// Received is the server's time when the request's head had arrived,
	// Answered when the answer was handed over. They follow the server's
	// clock, virtual or real.
	Received, Answered time.Time
	// Operation is empty for a request that is none of the runtime operations.
	Operation Operation
	// Route is the method and path pattern that took the request. It is empty
	// when there is none, which was answered with 401 when the key that such a
	// path needs was missing or wrong, and else with 404 or 405.
	Route  string
	Method string
	// Path and Query are as sent.
	Path, Query string
	// Header holds the request's headers; the values of keys are replaced.
	Header http.Header
	Body   []byte
	// ReservationID is the reservation the request is about: of the path, or
	// the one that a create made.
	ReservationID string
	// IdempotencyKey is the body's, once the body was understood.
	IdempotencyKey string
	// Tenant is the effective tenant; empty before authentication.
	Tenant      string
	Idempotency Verdict
	// Status is what was answered; 0 when the connection was reset instead.
	Status int
	// Applied says that the request changed the ledger. Together with a Status
	// of 0 it is a lost response.
	Applied bool
	// Answer is the body that was sent.
	Answer []byte
	// RequestID and TraceID are those of the answer.
	RequestID, TraceID string
	// Fault is the id of the fault that acted on this request, if one did.
	Fault string
}

// Match selects requests; empty fields select everything.
type Match struct {
	Operation      Operation
	ReservationID  string
	IdempotencyKey string
	Tenant         string
	// RequestID selects the request with this X-Request-Id in its answer.
	RequestID string
	// Unmatched selects the requests without a route.
	Unmatched bool
}

func (m Match) matches(r *Request) bool {
	return (m.Operation == "" || m.Operation == r.Operation) &&
		(m.ReservationID == "" || m.ReservationID == r.ReservationID) &&
		(m.IdempotencyKey == "" || m.IdempotencyKey == r.IdempotencyKey) &&
		(m.Tenant == "" || m.Tenant == r.Tenant) &&
		(m.RequestID == "" || m.RequestID == r.RequestID) &&
		(!m.Unmatched || r.Route == "")
}
