package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// racers is how many requests meet.
const racers = 16

// concurrency is about requests that meet: budgets that are not spent twice,
// keys that are not used twice, reservations that are not settled twice.
func concurrency() []suite.Check {
	return slices.Concat(noOversubscription(), sameKeyRaces(), settlementRaces())
}

// race sends the requests at the same time and returns the answers in order.
func race(ctx context.Context, t *suite.T, requests []*suite.Request) []*suite.Answer {
	answers := make([]*suite.Answer, len(requests))
	t.Together(len(requests), func(i int) { answers[i] = t.Do(ctx, requests[i]) })
	return answers
}

// raceFor sends n requests for the same budget, of which only some fit, and
// returns how many were taken. The others must have been refused for the
// budget.
func raceFor(ctx context.Context, t *suite.T, n int, request func() *suite.Request, success int) (taken int64) {
	requests := make([]*suite.Request, n)
	for i := range requests {
		requests[i] = request()
	}
	for _, a := range race(ctx, t, requests) {
		if a.Status == success {
			taken++
			continue
		}
		t.WantError(a, http.StatusConflict, "BUDGET_EXCEEDED")
	}
	return taken
}

func noOversubscription() []suite.Check {
	const section = "CORE INVARIANTS"
	return []suite.Check{
		{
			ID: "concurrency.reserve", Level: suite.Must, Section: section, Lines: []int{59, 1297, 1938},
			Requirement: "Reservations that meet never hold more than there is, and none is refused while there is enough.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				share := want.Remaining / (racers / 2)
				fit := want.Remaining / share
				taken := raceFor(ctx, t, racers, func() *suite.Request { return t.Create(b, share) }, http.StatusOK)
				t.True(nil, taken == fit, fmt.Sprintf("%d reservations of %d out of %d", fit, share, want.Remaining), "%d were granted", taken)
				want.Remaining, want.Reserved = want.Remaining-taken*share, want.Reserved+taken*share
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.last-unit", Level: suite.Must, Section: section, Lines: []int{59, 1938},
			Requirement: "Of reservations that meet and each want all that is left, one gets it.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				taken := raceFor(ctx, t, racers, func() *suite.Request { return t.Create(b, want.Remaining) }, http.StatusOK)
				t.True(nil, taken == 1, "one reservation", "%d were granted", taken)
				want.Remaining, want.Reserved = 0, want.Reserved+want.Remaining
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.nested", Level: suite.Must, Section: section, Lines: []int{59, 1938},
			Requirement: "Reservations that meet hold the same on every scope, and never more than the smallest has.",
			Needs:       []target.Kind{target.Nested}, Ops: []suite.Op{suite.Create, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Nested)
				outer, inner := f.Budgets[0], f.Budgets[1]
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				share := wantOuter.Remaining / (racers / 2)
				fit := wantOuter.Remaining / share
				taken := raceFor(ctx, t, racers, func() *suite.Request { return t.Create(inner, share) }, http.StatusOK)
				t.True(nil, taken == fit, fmt.Sprintf("%d reservations of %d out of %d", fit, share, wantOuter.Remaining), "%d were granted", taken)
				wantOuter.Remaining, wantOuter.Reserved = wantOuter.Remaining-taken*share, wantOuter.Reserved+taken*share
				wantInner.Remaining, wantInner.Reserved = wantInner.Remaining-taken*share, wantInner.Reserved+taken*share
				t.WantBooks(ctx, outer, wantOuter)
				t.WantBooks(ctx, inner, wantInner)
			},
		},
		{
			ID: "concurrency.events", Level: suite.Must, Section: eventSection, Lines: []int{1662, 1638},
			Requirement: "Events under REJECT that meet never spend more than there is, and none is refused while there is enough.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				share := want.Remaining / (racers / 2)
				fit := want.Remaining / share
				taken := raceFor(ctx, t, racers, func() *suite.Request {
					return t.Event(b, share).With("overage_policy", "REJECT")
				}, http.StatusCreated)
				t.True(nil, taken == fit, fmt.Sprintf("%d events of %d out of %d", fit, share, want.Remaining), "%d were applied", taken)
				want.Remaining, want.Spent = want.Remaining-taken*share, want.Spent+taken*share
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.reserve-and-release", Level: suite.Must, Section: section, Lines: []int{59, 60},
			Requirement: "Reservations and releases that meet leave the books as if they had come one after the other.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Release, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				var requests []*suite.Request
				for range racers / 2 {
					requests = append(requests, t.Release(t.Reserve(ctx, b, 3)), t.Create(b, 5))
				}
				want := t.Books(ctx, b)
				for _, a := range race(ctx, t, requests) {
					t.WantStatus(a, http.StatusOK)
				}
				moved := int64(racers/2) * (5 - 3)
				want.Remaining, want.Reserved = want.Remaining-moved, want.Reserved+moved
				t.WantBooks(ctx, b, want)
			},
		},
	}
}

// sameKeyRaces has the same request many times at once. While the first of
// them is under way a server may put the others off; what it must not do is
// the thing twice.
func sameKeyRaces() []suite.Check {
	// once wants every success to be the same one. It returns that one.
	once := func(ctx context.Context, t *suite.T, r *suite.Request, success int) *suite.Answer {
		requests := slices.Repeat([]*suite.Request{r}, racers)
		var first *suite.Answer
		for _, a := range race(ctx, t, requests) {
			switch {
			case a.Status != success:
				t.True(a, a.Status >= 500, "the same answer for each of the racing requests", "%s", suite.Describe(a))
				t.WarnAt(a, "the same answer for each of the racing requests", suite.Describe(a))
			case first == nil:
				first = a
			default:
				t.WantSame(first, a, "remaining_ttl_ms")
			}
		}
		t.True(nil, first != nil, "one request at least that succeeds", "none")
		return replay(ctx, t, first)
	}
	const section = "IDEMPOTENCY"
	return []suite.Check{
		{
			ID: "concurrency.same-create", Level: suite.Must, Section: section, Lines: []int{61, 180, 181},
			Requirement: "One create sent many times at once makes one reservation.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				t.WantString(once(ctx, t, t.Create(b, 10), http.StatusOK), "reservation_id")
				want.Remaining, want.Reserved = want.Remaining-10, want.Reserved+10
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.same-commit", Level: suite.Must, Section: section, Lines: []int{60, 61, 180},
			Requirement: "One commit sent many times at once is charged once, and none of them is told that the reservation is finalized.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				t.Want(once(ctx, t, t.Commit(t.Reserve(ctx, b, 10), 7), http.StatusOK), "status", "COMMITTED")
				want.Remaining, want.Spent = want.Remaining-7, want.Spent+7
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.same-release", Level: suite.Must, Section: section, Lines: []int{60, 180},
			Requirement: "One release sent many times at once gives back once.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Release, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				t.Reserve(ctx, b, 100)
				want := t.Books(ctx, b)
				t.Want(once(ctx, t, t.Release(t.Reserve(ctx, b, 10)), http.StatusOK), "status", "RELEASED")
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.same-event", Level: suite.Must, Section: section, Lines: []int{61, 180, 2942},
			Requirement: "One event sent many times at once is charged once.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				t.WantString(once(ctx, t, t.Event(b, 7), http.StatusCreated), "event_id")
				want.Remaining, want.Spent = want.Remaining-7, want.Spent+7
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.same-extend", Level: suite.Must, Section: section, Lines: []int{180, 2532, 2537},
			Requirement: "One extend sent many times at once moves the expiry once.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				moved := once(ctx, t, t.Extend(res, 1000), http.StatusOK)
				expires := t.WantInt(moved, "expires_at_ms")
				made := t.WantInt(res.Created, "expires_at_ms")
				t.True(moved, expires <= made+1000, "an expiry at most 1000 ms later", "%d ms later", expires-made)
				// Extending by a millisecond shows where the expiry is.
				a := t.Do(ctx, t.Extend(res, 1))
				t.WantStatus(a, http.StatusOK)
				at := t.WantInt(a, "expires_at_ms")
				t.True(a, at <= expires+1, "the expiry has not moved but by the last extend's millisecond", "it is %d ms later", at-expires)
			},
		},
		{
			ID: "concurrency.same-decide", Level: suite.Should, Section: section, Lines: []int{180, 1884},
			Requirement: "One question asked many times at once gets the same answer each time.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Decide},
			Run: func(ctx context.Context, t *suite.T) {
				t.WantAllowed(once(ctx, t, t.Decide(t.Budget(target.Funded), 1), http.StatusOK))
			},
		},
	}
}

// settlementRaces has different requests for one reservation at once.
func settlementRaces() []suite.Check {
	// won counts the successes; the others must have been told that the
	// reservation is finalized.
	won := func(t *suite.T, answers []*suite.Answer) (winners []*suite.Answer) {
		for _, a := range answers {
			if a.Status == http.StatusOK {
				winners = append(winners, a)
				continue
			}
			t.WantError(a, http.StatusConflict, "RESERVATION_FINALIZED")
		}
		t.True(nil, len(winners) == 1, "one settlement", "%d of them succeeded", len(winners))
		return winners
	}
	const section = "CORE INVARIANTS"
	return []suite.Check{
		{
			ID: "concurrency.commits", Level: suite.Must, Section: section, Lines: []int{61, 133},
			Requirement: "Of commits with different keys that meet on a reservation one is charged; the others find it finalized.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				res := t.Reserve(ctx, b, 10)
				requests := make([]*suite.Request, racers)
				for i := range requests {
					requests[i] = t.Commit(res, 7)
				}
				t.Want(won(t, race(ctx, t, requests))[0], "status", "COMMITTED")
				want.Remaining, want.Spent = want.Remaining-7, want.Spent+7
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "concurrency.commit-or-release", Level: suite.Must, Section: section, Lines: []int{60, 133},
			Requirement: "When a commit and a release meet on a reservation one of them settles it, and the books are that one's.",
			Needs:       []target.Kind{target.Ledger}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Release, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				// Each of the two goes first in half of the rounds, so that each is
				// likely to win some.
				for round := range 10 {
					res := t.Reserve(ctx, b, 10)
					both := []*suite.Request{t.Commit(res, 7), t.Release(res)}
					if round%2 == 1 {
						slices.Reverse(both)
					}
					winner := won(t, race(ctx, t, both))[0]
					if winner.Request.Op == suite.Commit {
						t.Want(winner, "status", "COMMITTED")
						want.Remaining, want.Spent = want.Remaining-7, want.Spent+7
					} else {
						t.Want(winner, "status", "RELEASED")
					}
					t.WantBooks(ctx, b, want)
				}
			},
		},
		{
			ID: "concurrency.extends", Level: suite.Must, Section: "extendReservation", Lines: []int{2532},
			Requirement: "Extends with different keys that meet on a reservation each move its expiry: none is lost.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				alone := t.Do(ctx, t.Extend(res, 1000))
				t.Given(alone, http.StatusOK)
				expires := t.WantInt(alone, "expires_at_ms")
				if expires != t.WantInt(res.Created, "expires_at_ms")+1000 {
					t.Skip("the server grants less than it is asked for, so that expiries do not add up")
				}
				const several = 4
				requests := make([]*suite.Request, several)
				for i := range requests {
					requests[i] = t.Extend(res, 1000)
				}
				var got []int64
				for _, a := range race(ctx, t, requests) {
					t.WantStatus(a, http.StatusOK)
					got = append(got, t.WantInt(a, "expires_at_ms")-expires)
				}
				slices.Sort(got)
				t.True(nil, slices.Equal(got, []int64{1000, 2000, 3000, 4000}), "expiries 1000, 2000, 3000 and 4000 ms later", "%v", got)
			},
		},
	}
}
