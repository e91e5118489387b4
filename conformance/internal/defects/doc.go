// Package defects breaks servers, one rule of the protocol at a time, so that
// the checks can be seen to fail.
//
// A check that never failed proves nothing. For each check of level MUST there
// is at least one Defect here that names it in Fails: a handler around a
// server that keeps the protocol, which spoils requests on their way in or
// answers on their way out, or answers by itself. Everything else the server
// does stays right, so what turns red turns red for the one broken rule.
//
// Defects are written in the words of words.go over *suite.Request and
// *suite.Answer, the same values that checks work with:
//
//	{
//		ID:    "extend.unknown-is-gone",
//		About: "an extend of a reservation that never existed is answered 410",
//		Fails: []string{"extend.unknown-reservation"},
//		Wrap: after(on(suite.Extend), whenRefused(404, "NOT_FOUND",
//			refusal(410, "RESERVATION_EXPIRED"))),
//	}
//
// The file of a defect is the area in front of its id, as with checks, but
// areas whose rules break together share one: commit and release (settle.go),
// decide and dryrun, extend and remaining.
//
// Alternatives are the counterpart: servers that answer otherwise where the
// protocol leaves it open, on which no check may fail.
//
// A defect keeps what it remembers in the handler that Wrap returned: wrapping
// twice gives two servers that share nothing. The handlers are safe for
// concurrent use.
package defects
