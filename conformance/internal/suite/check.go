package suite

import (
	"context"

	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Level is how strongly the protocol puts the requirement.
type Level = report.Level

// The levels of RFC 2119 that checks have.
const (
	Must   = report.Must
	Should = report.Should
	May    = report.May
)

// Op is an operation of the contract, by its operationId.
type Op string

// The operations.
const (
	Decide   Op = "decide"
	Create   Op = "createReservation"
	List     Op = "listReservations"
	Get      Op = "getReservation"
	Commit   Op = "commitReservation"
	Release  Op = "releaseReservation"
	Extend   Op = "extendReservation"
	Balances Op = "getBalances"
	Event    Op = "createEvent"
	Evidence Op = "getEvidence"
	JWKS     Op = "getEvidenceJwks"
)

// Edition says for which editions of the protocol a check holds.
type Edition int

// The editions.
const (
	// AnyEdition: the requirement is as old as 0.1.25.
	AnyEdition Edition = iota
	// Current: servers of edition 0.1.25 need not know it (remaining_ttl_ms,
	// LIMIT_EXCEEDED, TENANT_CLOSED). Skipped in a legacy run.
	Current
	// LegacyOnly: it is about servers of edition 0.1.25 and runs in a legacy run
	// only.
	LegacyOnly
)

// Check is one requirement and the way to find out whether a server keeps it.
type Check struct {
	// ID is area.what, in lower case, words joined by dashes. The area is the
	// file the check stands in.
	ID string
	// Level is how strongly the protocol puts it.
	Level Level
	// Section names the part of the protocol document: an upper-case heading, an
	// operation or a schema.
	Section string
	// Lines are the lines of the protocol document, edition 0.1.25.16, at which
	// the sentences that the check tests begin.
	Lines []int
	// Requirement says in one or two sentences of our own what must be so.
	Requirement string
	// Needs are the fixtures and abilities without which the check is skipped.
	// Tenant a and its key are always there.
	Needs []target.Kind
	// Ops are the operations the check uses. It is skipped when the profile does
	// not have one of them, and using another is a fault of the check.
	Ops []Op
	// Waits marks a check that lets time pass. Such checks overlap, and with a
	// virtual clock they run as a group of their own.
	Waits bool
	// Edition says which servers it holds for.
	Edition Edition
	// Run does it. Exactly one of Run and Watch is set.
	Run func(ctx context.Context, t *T)
	// Watch makes a passive check: it is called for every complete answer that
	// any check saw, during the run and maybe concurrently. It reports whether
	// the answer is one it judges, and what is wrong with it. The check passes
	// when it judged at least one answer and found nothing.
	Watch func(a *Answer) (judged bool, wrong []Wrong)
}

// Wrong is one thing a passive check found. Findings of equal Where and What
// are reported once.
type Wrong struct {
	// Where is the operation and the member, or the header.
	Where string
	// What says what is wrong with it, without the value where that could vary
	// from answer to answer.
	What string
}
