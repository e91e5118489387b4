package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Op names an operation by the operationId of the protocol document.
type Op string

// The operations of the protocol.
const (
	OpDecide             Op = "decide"
	OpCreateReservation  Op = "createReservation"
	OpListReservations   Op = "listReservations"
	OpGetReservation     Op = "getReservation"
	OpCommitReservation  Op = "commitReservation"
	OpReleaseReservation Op = "releaseReservation"
	OpExtendReservation  Op = "extendReservation"
	OpGetBalances        Op = "getBalances"
	OpCreateEvent        Op = "createEvent"
	OpGetEvidence        Op = "getEvidence"
	OpGetEvidenceJWKS    Op = "getEvidenceJwks"
)

// Error is a complete answer with a status of 300 or more. The caller finds out
// what to do with OutcomeOf, or with errors.Is against the Err values.
type Error struct {
	Op     Op
	Status int
	// Code is the answer's error code. It is empty when the body was not a JSON
	// object with a string of that name, and may be one this version does not
	// know.
	Code gen.ErrorCode
	// Message is the server's text, for people.
	Message   string
	RequestID string
	TraceID   string
	// Details is the server's structured addition; numbers are json.Number.
	Details map[string]any
	// Evidence points at the signed record of the refusal, when there is one.
	Evidence *gen.CyclesEvidenceRef
	// IdempotencyKey and ReservationID say which request this was about; empty
	// when the operation has none.
	IdempotencyKey string
	ReservationID  string
	// Unit is the unit that was sent, since a budget that exists in another unit
	// only looks like one that does not exist at all.
	Unit gen.UnitEnum
	// Attempts counts the HTTP attempts of the call.
	Attempts int

	throttle throttle
	gaveUp   string
}

// RetryAfter is the delay the server asked for in a Retry-After header of
// delta-seconds. An absent header and one that is anything else (a date, a
// sign, a fraction, repeated, too large for a Duration) give false; zero
// seconds gives (0, true).
func (e *Error) RetryAfter() (time.Duration, bool) { return e.throttle.wait, e.throttle.stated }

// Is makes the Err values of this package match by code.
func (e *Error) Is(target error) bool {
	code, ok := target.(codeError)
	return ok && e.Code != "" && gen.ErrorCode(code) == e.Code
}

func (e *Error) Error() string {
	code := string(e.Code)
	if code == "" {
		code = "no error code"
	}
	text := fmt.Sprintf("status %d, %s", e.Status, clip(code))
	if e.Message != "" {
		text += fmt.Sprintf(": %q", clip(e.Message))
	}
	if e.Unit != "" && (e.Code == gen.ErrorCodeNotFound || e.Code == gen.ErrorCodeUnitMismatch) {
		text += fmt.Sprintf(" (unit sent: %s)", e.Unit)
	}
	return describe(e.Op, text, e.ReservationID, e.IdempotencyKey, e.RequestID, e.gaveUp)
}

// ResponseError is a 2xx answer that does not prove success: another status
// than the documented one, another content type, a body that breaks the schema
// or the limits. The server may well have done what was asked.
type ResponseError struct {
	Op     Op
	Status int
	// Reason says which rule the answer broke.
	Reason         string
	ContentType    string
	RequestID      string
	TraceID        string
	IdempotencyKey string
	ReservationID  string
	Attempts       int

	excerpt []byte
	gaveUp  string
}

// Excerpt is the beginning of the body, at most 512 bytes, for a person who
// looks into it. It is never part of Error().
func (e *ResponseError) Excerpt() []byte { return append([]byte(nil), e.excerpt...) }

func (e *ResponseError) Error() string {
	text := fmt.Sprintf("status %d does not prove success: %s", e.Status, e.Reason)
	return describe(e.Op, text, e.ReservationID, e.IdempotencyKey, e.RequestID, e.gaveUp)
}

// TransportError says that there was no complete answer.
type TransportError struct {
	Op             Op
	IdempotencyKey string
	ReservationID  string
	// Timeout is true when the attempt ran into its time bound.
	Timeout bool
	// Canceled is true when the caller's own context ended, before, during or
	// between attempts. Err then is the context's error with its cause.
	Canceled bool
	// Attempts counts the HTTP attempts that were started; 0 means that nothing
	// left the process.
	Attempts int
	Err      error

	gaveUp string
}

// Unwrap gives the cause.
func (e *TransportError) Unwrap() error { return e.Err }

func (e *TransportError) Error() string {
	text := "no complete answer"
	switch {
	case e.Canceled && e.Attempts == 0:
		text = "canceled before it was sent"
	case e.Canceled:
		text = "canceled"
	case e.Timeout:
		text = "timed out"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return describe(e.Op, text, e.ReservationID, e.IdempotencyKey, "", e.gaveUp)
}

// RequestError is a call that was refused before anything was sent, because the
// protocol would not allow it.
type RequestError struct {
	Op Op
	// Field is the member or parameter in the words of the protocol, such as
	// "estimate.amount" or "reservation_id".
	Field string
	// Limit is the rule it breaks, such as "1..256 characters".
	Limit string
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("cycles: %s: not sent: %s must be %s", e.Op, e.Field, e.Limit)
}

// ConfigError is a setting that New or FromEnv refused.
type ConfigError struct {
	// Setting is the option, argument or environment variable.
	Setting string
	// Reason says what it must be.
	Reason string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("cycles: %s %s", e.Setting, e.Reason)
}

// describe puts an error's text together: operation, what happened, and the
// handles somebody needs to look into it.
func describe(op Op, text, reservationID, key, requestID, gaveUp string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cycles: %s: %s", op, text)
	if gaveUp != "" {
		b.WriteString("; " + gaveUp)
	}
	sep := " ["
	for _, handle := range [...][2]string{{"reservation", reservationID}, {"key", key}, {"request", requestID}} {
		if handle[1] != "" {
			fmt.Fprintf(&b, "%s%s %q", sep, handle[0], clip(handle[1]))
			sep = ", "
		}
	}
	if sep == ", " {
		b.WriteByte(']')
	}
	return b.String()
}

// clip bounds a server's text inside an error message.
func clip(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}
