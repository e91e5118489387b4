// Package client speaks the Cycles budget protocol (0.1.25) to one server: one
// method per operation, named after its operationId.
//
// What it promises:
//
//   - A call succeeds only when the answer proves it: the documented status, a
//     JSON content type and a body that keeps the schema to the last bound. For
//     reads, null counts as absence and unknown members are skipped.
//   - Every failure is a typed error, and OutcomeOf says what it means for the
//     money behind it. Error is a refusal by the server, ResponseError a 2xx
//     that proves nothing, TransportError no complete answer, RequestError a
//     call that was never sent.
//   - An idempotency key is chosen once per call and its bytes are frozen; every
//     retry carries both unchanged, and so do Meta and the error.
//   - Each attempt has a finite bound from connect to proof and is timed on its
//     own, on the injected clock.
//   - Keys stay where they belong: redirects are refused, no error, log line or
//     printed value holds one.
//
// What it does not do: it keeps no reservation alive (package lease does),
// remembers nothing across a crash (package lease/settlement does), and moves no
// real money: a commit records spending in a ledger.
//
// How failed calls are repeated:
//
//	createReservation   once more at once, same key, after an open result
//	extendReservation   never; the lease decides
//	everything else     RetryPolicy: full jitter, Retry-After as a floor, never
//	                    past the context's deadline
//
// The rules come from these sections of the protocol document: ERROR SEMANTICS
// (the codes and what a 429 is), IDEMPOTENCY (keys and replays), AUTH & TENANCY
// (who may call what), CORRELATION AND TRACING (request and trace ids), the
// heartbeat guidance of extendReservation (what proves a success, how a create
// is recovered) and the component schemas (every limit). Amounts are int64 in
// the unit they name, times are milliseconds since 1970 on the server's clock,
// durations on the wire milliseconds.
package client
