// Package settlement is what happens after the work is done and before the
// ledger knows. A crash, an outage or an expired reservation in that gap loses
// spend: the server gives the budget back, and nobody was charged.
//
// A [Settler] turns a [Spend] into a [Settlement], whose idempotency key and
// bytes are fixed from then on. Then
//
//  1. the spend is written to the journal, durably, before its first request
//     leaves;
//  2. it is committed; when nobody knows whether the server took it (no answer,
//     5xx, an unproved 2xx, 429, refused credentials, a proxy's page) the same
//     bytes are sent again, for as long as the process lives;
//  3. when the reservation is over, the record becomes an event, first on disk,
//     and the spend is told without its reservation under the same key;
//  4. when the server proves that it took it, the record is removed; when it
//     refuses for good, the record is set aside as a dead letter.
//
// What it promises:
//
//   - A spend is charged at most once, whatever fails in between: key and body
//     never change, and servers take a key once.
//   - It is charged exactly once when a server answers properly in the end, or
//     somebody is told: by a [Result] and its typed error, the log,
//     [WithNotify], and the dead letter on disk. Nothing ends in silence.
//   - It is never released. After the action ran, giving the budget back would
//     lose the spend.
//   - What is in the journal when a process dies is settled by the next one that
//     opens it for the same server and tenant, of whichever SDK: they share the
//     format. Of the processes of this package one settles each record.
//   - A Retry-After is kept, up to an hour, also by the next process.
//   - A journal that fails does not keep a spend from being sent.
//
// What it does not promise: a spend that is neither in the ledger nor in the
// journal (a full disk and a crash) is lost. An event is not sent any more when
// the server may have forgotten its key, seven days after the record became an
// event; it is parked. An SDK of another language that works on the same
// directory may send a record at the same time, which the server takes once.
//
// In short, for a reservation that was made without package lease:
//
//	settler, err := settlement.New(c, settlement.WithJournal(dir))
//	spend, err := settler.Begin(settlement.Spend{ReservationID: id, Created: request, Commit: commit})
//	result, err := spend.Settle(ctx) // pending: goes on by itself
//	...
//	err = settler.Close(ctx)
//
// It does not decide what a spend is worth, and it does not reserve: that is
// package lease, which uses it.
package settlement
