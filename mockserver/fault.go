package mockserver

import (
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// FaultKind says what a fault does to a call.
type FaultKind string

const (
	// FaultStatus answers with Fault.Status instead of working on the request.
	// Nothing is applied, unless Fault.After is set.
	FaultStatus FaultKind = "status"
	// FaultReset resets the connection instead of working on the request.
	// Nothing is applied.
	FaultReset FaultKind = "reset"
	// FaultResponseLost applies the request and then resets the connection: the
	// caller cannot know that it worked.
	FaultResponseLost FaultKind = "response-lost"
	// FaultDelay waits for Fault.Delay and then goes on as usual. The caller
	// may have gone by then; what was asked for happens all the same, as it
	// does on a server that is slow.
	FaultDelay FaultKind = "delay"
	// FaultBody applies the request and answers with Fault.Body in place of the
	// true body, keeping the status (or with Fault.Status): malformed JSON, a
	// 2xx that breaks the schema, an HTML page of a proxy.
	FaultBody FaultKind = "body"
	// FaultTruncate applies the request and breaks off the answer after
	// Fault.Bytes bytes of the body, below the announced length.
	FaultTruncate FaultKind = "truncate"
)

// Fault is something that goes wrong on purpose. Operation and ReservationID
// select the calls, Nth and Count which of them, the rest what happens.
//
// When several faults select the same call, each counts it; the one injected
// first among those whose turn it is acts, the others of them are used up.
type Fault struct {
	// Kind may be left out: a Status means FaultStatus, a Body FaultBody, only
	// a Delay FaultDelay.
	Kind FaultKind
	// Operation selects one operation; empty selects all runtime operations.
	Operation Operation
	// ReservationID selects the calls on one reservation; empty selects all.
	ReservationID string
	// Nth is the first call that is hit, counted from 1 over the selected
	// calls since the injection. 0 means 1: the next one.
	Nth int
	// Count is how many calls are hit from there on. 0 means 1, a negative
	// number all of them.
	Count int

	// Delay is waited for before the fault acts: with FaultStatus before the
	// answer, with FaultResponseLost between applying and the reset.
	Delay time.Duration
	// After makes FaultStatus and FaultDelay act after the request was applied
	// instead of before.
	After bool
	// Status is the HTTP status of FaultStatus (required) and FaultBody.
	Status int
	// Code is the error code of FaultStatus. It defaults to what fits the
	// status, LIMIT_EXCEEDED for 429 and INTERNAL_ERROR for 5xx.
	Code gen.ErrorCode
	// RetryAfter is the Retry-After header as it is sent, right or wrong;
	// empty sends none.
	RetryAfter string
	// Body replaces the body. With FaultStatus it replaces the ErrorResponse.
	Body string
	// ContentType of Body; it defaults to application/json.
	ContentType string
	// Bytes is how much of the body FaultTruncate lets through.
	Bytes int
}
