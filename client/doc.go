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
// What it does not promise: it keeps no reservation alive (package lease does),
// remembers nothing across a crash (package lease/settlement does), and moves no
// real money: a commit records spending in a ledger.
//
// The contract is the protocol document's: ERROR SEMANTICS (the codes and what a
// 429 is), IDEMPOTENCY (keys and replays), AUTH & TENANCY (who may call what),
// CORRELATION AND TRACING (request and trace ids), the heartbeat guidance of
// extendReservation (what proves a success, how a create is recovered) and the
// component schemas (every limit). Amounts are int64 in the unit they name,
// times are milliseconds since 1970 on the server's clock, durations on the wire
// milliseconds. Failed calls are repeated like this:
//
//	createReservation   once more at once, same key, after an open result
//	extendReservation   never; the lease decides
//	everything else     RetryPolicy: full jitter, Retry-After as a floor, never
//	                    past the context's deadline
//
// Reserve before the work, commit what it took:
//
//	c, err := client.New("https://cycles.example.com", client.WithAPIKey(key))
//	...
//	created, err := c.CreateReservation(ctx, gen.ReservationCreateRequest{
//		Subject:  gen.Subject{Tenant: &tenant},
//		Action:   gen.Action{Kind: "llm.completion", Name: "openai:gpt-4o"},
//		Estimate: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 500_000},
//	})
//	if errors.Is(err, client.ErrBudgetExceeded) {
//		return doLess(ctx)
//	}
//	if err != nil {
//		return err // client.OutcomeOf(err) tells whether budget may be held
//	}
//	cost := work()
//	_, err = c.CommitReservation(ctx, *created.ReservationID, gen.CommitRequest{
//		Actual: gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: cost},
//	})
package client
