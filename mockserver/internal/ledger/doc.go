// Package ledger is the state of a Cycles server and the rules that change it:
// tenants, budgets, reservations, events and remembered answers. It knows no
// HTTP and reads no clock: every step is told the time in milliseconds since
// the Unix epoch.
//
// What it promises:
//
//   - remaining = allocated - spent - reserved - debt holds for every budget
//     after every step, in exact 64-bit integers. A step whose result would
//     not fit is refused;
//   - a step that is refused changes nothing, and a step that is applied is
//     applied to all its scopes at once;
//   - a reservation is EXPIRED, and its hold returned, from the first
//     millisecond after expires_at_ms + grace_period_ms on, whether or not
//     anyone looks;
//   - a key that succeeded once keeps its answer for ever.
//
// A Ledger is not safe for concurrent use: its owner holds a lock around each
// step. What a step returns shares nothing with the ledger that could change.
package ledger
