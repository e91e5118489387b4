// Package mockserver is a complete Cycles server in memory, with its time and
// its faults under command. Use it in place of the real stack wherever a test
// or a script needs a budget authority.
//
// What it promises:
//
//   - Fidelity. It follows the protocol document; where that is silent or
//     contradicts itself it answers as the reference server does, and where the
//     reference server departs from the document it follows the document. What
//     works against it works against a real server. There is one deliberate
//     difference: the keys of a closed tenant stay valid, so that TENANT_CLOSED
//     can be seen at all.
//   - Exact money. Amounts are 64-bit integers, an overflow is refused and
//     changes nothing, and remaining = allocated - spent - reserved - debt holds
//     after every request.
//   - Exact time. A reservation lives up to and including the millisecond of its
//     deadline. Time is real, or it is virtual and moves only when Advance says
//     so; inside a testing/synctest bubble real time is the bubble's.
//   - Exact replays. A key that succeeded gives the same answer for ever, except
//     remaining_ttl_ms, which is worked out anew.
//   - Faults where they are asked for, by operation, reservation and count: see
//     Fault. And an account of every request: see Server.Requests.
//   - Independence. No package state: two servers share nothing. New runs no
//     goroutine and opens no socket; Start ends with its test.
//
// What it does not promise: it keeps nothing on disk, authorizes by key alone
// (the permissions of a key are stored, not enforced, as in the reference
// server), sets no rate limits of its own, and makes no evidence. Do not put it
// in front of money.
//
// The contract: a server starts with what its options say, by default with
// DefaultTenant, DefaultAPIKey and one budget, and Reset goes back to that.
// Tenants, keys and budgets come from options (WithTenant, WithBudget), from a
// YAML file (WithConfigFile, ConfigTemplate), from methods at run time
// (AddTenant, AddBudget), or over HTTP: through the reference stack's own admin
// routes, so that scripts written for it run unchanged, and through /_mock
// routes for the rest, which ControlAPI describes. A mistake in options, in a
// fault or in a command to the clock is one of the test: New, Inject, Advance
// and Restore panic and say what it is. Open, Seed and the Add and Set methods
// return it. The command mockserver/cmd/cycles-mock is this package as a process.
//
// A test of an agent, with an hour of waiting in no time:
//
//	srv := mockserver.Start(t, mockserver.WithVirtualTime(time.Now()))
//	c, err := client.New(srv.URL(), client.WithAPIKey(mockserver.DefaultAPIKey))
//	...
//	srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Kind: mockserver.FaultResponseLost})
//	runAgent(c)
//	srv.Advance(time.Hour)
//	balance, err := srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
//	// balance.Reserved is 0, balance.Spent what the agent committed, once
package mockserver
