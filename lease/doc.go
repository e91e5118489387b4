// Package lease keeps reservations alive: it extends each one in time, through slow and failing networks, until its
// holder commits, releases or stops, or until that can no longer be done safely, and then it says why.
//
// # What it promises
//
//   - An extend leaves early enough that one attempt may fail, in any way and as slowly as its timeout allows, and still
//     leave room for one complete retry and a margin. If every proved lead holds that reserve, the server's extension
//     budget is not used up, and no two attempts in a row fail, the lease does not lapse.
//   - An extension is never applied twice: a failed or ambiguous attempt is repeated with the same idempotency key and the
//     same bytes, and a fresh key is drawn only after a proved success.
//   - Only a proved answer (a schema-valid 200, see package client) moves the schedule.
//   - A heartbeat that ends by itself says why with one of the [StopReason] values, and never silently. Stopping is not
//     losing: after most reasons some lead is left to finish and settle in.
//   - A server is never beaten in a tight loop, and a 429 is never retried before its Retry-After.
//
// # What it does not promise
//
//   - That the lease lives for ever. Servers limit extensions, tenants are closed, outages outlast leads.
//   - That work stops when the lease is lost. What is lost is the hold on the budget; whether the work goes on is the
//     holder's choice.
//   - Exactness about a machine that sleeps. The monotonic clock stands still then. Time that passed unseen is found by
//     comparing with the wall clock, at least every 5 s; in between, the lead may read too long.
//   - Safety on servers that do not send remaining_ttl_ms; see "Without remaining_ttl_ms" below.
//
// # In short
//
//	m, err := lease.NewManager(c) // c from client.New or client.FromEnv
//	defer m.Close(ctx)
//	l, err := m.Acquire(ctx, request)
//	answer, used := work(l.Context(ctx)) // kept alive meanwhile; the context ends when the lease is lost
//	result, err := l.Commit(ctx, used)   // what was really used; settlement.Pending goes on by itself
//
// [Run] does these steps for a function, [Manager.OpenStream] for work that learns bit by bit what it uses, and
// [Manager.Keep] takes over a reservation that was created elsewhere.
//
// # The journal
//
// A commit that nobody answered is sent again by the manager for as long as the process lives. With [WithJournal] it is on
// disk before it first leaves, so that a crash or a restart loses none: the next manager with the same directory, server
// and tenant settles what it finds, as an event where the reservation is over meanwhile. Managers whose client was made by
// client.FromEnv have a journal by default. Without one, what is pending at the end of the process is lost, and
// [Manager.Close] says so. Package settlement states the guarantees.
//
// # The arithmetic
//
// Every create and extend answer is planned from alone. With the answer's own round trip rtt, and maxRTT over all
// successes of the lease:
//
//	lead floor     = max(0, remaining_ttl_ms - rtt)                 what is surely left at its receipt
//	attempt budget = max(attempt timeout, 1 s, 2 x maxRTT)          what one attempt may take
//	safety margin  = max(1 s, 2 x maxRTT)
//	retry reserve  = 2 x attempt budget + safety margin             one failure, one retry, the margin
//	next delay     = max(0, lead floor - retry reserve)             counted from the receipt
//	timer slack    = 100 ms on a real clock, 0 on a virtual one     how late timers may be
//	planned delay  = max(1 ms, next delay - timer slack)            when the next delay is positive, else 0
//
// A server that answers 60 s to an attempt of 40 ms is next asked after 59.96 s - (2 x 7.37 s + 1 s), that is 44.22 s.
// When the delay comes out as 0, one extend goes at once, since it may find a longer lead on a server that adds to the
// expiry; a second 0 in a row stops with [StopLeaseTooShort]. The timer slack lets an attempt that starts late and uses up
// its timeout keep its retry; with it, the extend of the example leaves after 44.12 s. An [Event] carries each of these
// figures.
//
// After a timeout, connection error, 5xx or unproved 2xx, with the lead left at that moment:
//
//	retry window = lead - attempt budget - safety margin
//	retry delay  = min(30 s, lead / 4, retry window)
//
// A negative window stops, a window of 0 allows one immediate attempt, and a second failure at the very same instant
// stops. A 429 is repeated after exactly its Retry-After if that fits the window, and stops otherwise.
//
// Budgets, margins, round trips and elapsed time round up to milliseconds; leads and delays round down. Sums saturate.
//
// # The attempt timeout
//
// It fits the lease: an eighth of (lead - 1 s), from 1 s to 10 s, recomputed at each success. A fixed one should stay
// below half of (lead - margin), or each delay comes out as 0; a lease of 60 s affords 29 s at the very most, and does
// better with 7.
//
// # Unreliable clocks
//
// An attempt whose timing is unknown proves no lead: one immediate extend follows, and decides. The same holds when wall
// and monotonic time part by more than a second. In a recovery that stops instead, because a fresh key would give up on
// an extend that may have been applied.
//
// # Testing
//
// Heartbeats are tested in virtual time inside a testing/synctest bubble with an in-memory transport, such as that of
// package mockserver: time.Sleep then passes minutes of beats at once. The other way is a mock of
// github.com/benbjohnson/clock, given to client.WithClock. The virtual clock of package mockserver moves only the server,
// and no heartbeat with it.
//
// # Without remaining_ttl_ms
//
// Servers of older editions do not say how long a reservation lives. Then only the differences between the expiries they
// return are known, and the schedule falls back to a heuristic: the first extend goes at once, the next ones after half of
// what the last one granted, or at a fixed pace of at most 30 s where the grants merely echo the time between beats. A
// ledger of grants, a lower bound on the lead, leaves out beats that are not needed. Failures are repeated with the same
// key after a quarter of that pace.
//
// This cannot be made safe. A server that caps each grant and one that holds a maximum lead can answer alike: with a ttl
// of 24 s and real grants of 10 s the pace settles at 12 s and the lease lapses after some minutes. Nor is the initial
// lease known. On doubt the fallback beats too often, and so uses up the server's extension budget sooner. Where the
// field appears in a later answer, the arithmetic above takes over with that answer.
package lease
