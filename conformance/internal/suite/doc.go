// Package suite is what a check is written in.
//
// A check is a value: who it is (ID, Level, Section, Lines, Requirement), what
// it needs (Needs, Ops, Waits) and what it does (Run). Run speaks raw HTTP
// through its *T: it builds requests from JSON maps, which may be as wrong as
// it likes, gets complete answers, and compares. The first comparison that
// does not hold ends the check.
//
//	suite.Check{
//		ID:          "extend.unknown-reservation",
//		Level:       suite.Must,
//		Section:     "extendReservation",
//		Lines:       []int{164},
//		Requirement: "An extend of a reservation that never existed is refused with 404 NOT_FOUND.",
//		Needs:       []target.Kind{target.Funded},
//		Ops:         []suite.Op{suite.Extend},
//		Run: func(ctx context.Context, t *suite.T) {
//			b := t.Budget(target.Funded)
//			a := t.Do(ctx, t.Extend(t.Stranger(b), 1000))
//			t.WantError(a, http.StatusNotFound, "NOT_FOUND")
//		},
//	}
//
// Five ways to end, and what they mean:
//
//   - Run returns: pass. So a check must compare everything the requirement
//     says: status and code and effect.
//   - a Want method or Fail: the server broke the requirement (fail; warn when
//     the level is SHOULD or MAY).
//   - Skip: the requirement does not apply to this server.
//   - Given: the ground for the check could not be laid, for a reason that
//     another check judges (error).
//   - the transport, a 429 that nobody asked for, the context, a panic: the
//     harness could not tell (error).
//
// What T looks after, so that checks need not: unique subjects and keys, the
// release of every reservation that a create answered, the record of all
// exchanges, redaction, the contract of every answer, throttling, and time,
// real or virtual. A T may be used by several goroutines, but only Together
// starts them.
package suite
