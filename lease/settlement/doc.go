// Package settlement is what happens after the work is done and before the
// ledger knows.
//
// A [Settler] turns a [Spend] into a [Settlement], whose idempotency key and
// bytes are fixed from then on, so that sending it again can never charge
// twice. [Settlement.Settle] makes one attempt and says honestly what became of
// it: a [Result] is Committed only when the server proved it, and Pending as
// long as nobody knows.
//
// It does not retry by itself, and it does not decide what a spend is worth. It
// never releases: after the action ran, giving the budget back would lose the
// spend.
package settlement
