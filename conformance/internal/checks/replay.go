package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// replays is about what the same request gets the second time: the first
// answer, and nothing happens again.
func replays() []suite.Check {
	var all []suite.Check
	for _, c := range calls() {
		all = append(all, replayed(c))
	}
	return slices.Concat(all, replayOnce(), replayOfState(), replayOfDecision(), replayOfLease(), replayLate(), replayCanonical())
}

const replaySection = "IDEMPOTENCY"

func replayed(c call) suite.Check {
	ops := c.ops
	if !slices.Contains(ops, suite.Create) {
		ops = append(slices.Clone(ops), suite.Create)
	}
	return suite.Check{
		ID:          "replay." + c.name,
		Level:       suite.Must,
		Section:     replaySection,
		Lines:       []int{181, 190, 515, c.line},
		Requirement: "The same request again gets the first answer again, member by member, also when the books have moved on.",
		Needs:       []target.Kind{target.Funded},
		Ops:         ops,
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.Funded)
			first := c.first(ctx, t, b)
			t.Reserve(ctx, b, 1)
			replay(ctx, t, first)
		},
	}
}

// replayOnce has what a replay must not do to the books.
func replayOnce() []suite.Check {
	type effect struct {
		name, requirement string
		lines             []int
		ops               []suite.Op
		first             func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer
		// books is what the first request does to them.
		books func(*suite.Books)
	}
	effects := []effect{
		{
			name: "create-holds-once", requirement: "A create that is sent twice holds its amount once.", lines: []int{61, 181},
			ops: []suite.Op{suite.Create, suite.Balances},
			first: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer {
				return t.Reserve(ctx, b, 10).Created
			},
			books: func(b *suite.Books) { b.Remaining -= 10; b.Reserved += 10 },
		},
		{
			name: "commit-charges-once", requirement: "A commit that is sent twice is charged once.", lines: []int{60, 61, 2422},
			ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			first: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer {
				return t.Do(ctx, t.Commit(t.Reserve(ctx, b, 10), 7))
			},
			books: func(b *suite.Books) { b.Remaining -= 7; b.Spent += 7 },
		},
		{
			name: "release-returns-once", requirement: "A release that is sent twice gives its amount back once.", lines: []int{60, 2462},
			ops: []suite.Op{suite.Create, suite.Release, suite.Balances},
			first: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer {
				// Another reservation keeps something held, which a second
				// release could give back wrongly.
				t.Reserve(ctx, b, 20)
				return t.Do(ctx, t.Release(t.Reserve(ctx, b, 10)))
			},
			books: func(b *suite.Books) { b.Remaining -= 20; b.Reserved += 20 },
		},
		{
			name: "event-charges-once", requirement: "An event that is sent twice is charged once.", lines: []int{61, 2942},
			ops: []suite.Op{suite.Event, suite.Balances},
			first: func(ctx context.Context, t *suite.T, b *target.Budget) *suite.Answer {
				return t.Do(ctx, t.Event(b, 7))
			},
			books: func(b *suite.Books) { b.Remaining -= 7; b.Spent += 7 },
		},
	}
	all := make([]suite.Check, len(effects))
	for i, e := range effects {
		all[i] = suite.Check{
			ID: "replay." + e.name, Level: suite.Must, Section: replaySection, Lines: e.lines, Requirement: e.requirement,
			Needs: []target.Kind{target.Ledger}, Ops: e.ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				first := e.first(ctx, t, b)
				e.books(&want)
				t.WantBooks(ctx, b, want)
				replay(ctx, t, first)
				t.WantBooks(ctx, b, want)
			},
		}
	}
	return all
}

// replayOfState has replays of requests whose reservation has gone on since.
func replayOfState() []suite.Check {
	settled := func(name string, ops []suite.Op, settle func(*suite.T, *suite.Reservation) *suite.Request) suite.Check {
		return suite.Check{
			ID: "replay.create-after-" + name, Level: suite.Must, Section: replaySection, Lines: []int{181, 1964}, Ops: ops,
			Requirement: "The replay of a create is the first answer also when the reservation is settled since; settling it did not free the key.",
			Needs:       []target.Kind{target.Funded},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				t.Given(t.Do(ctx, settle(t, res)), 200)
				replay(ctx, t, res.Created)
			},
		}
	}
	return []suite.Check{
		settled("commit", []suite.Op{suite.Create, suite.Commit}, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Commit(res, 1) }),
		settled("release", []suite.Op{suite.Create, suite.Release}, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Release(res) }),
		{
			ID: "replay.extend-moves-once", Level: suite.Must, Section: replaySection, Lines: []int{181, 2537},
			Requirement: "An extend that is sent twice moves the expiry once.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Create, suite.Extend, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				first := t.Do(ctx, t.Extend(res, 5000))
				t.WantStatus(first, 200)
				expires := t.WantInt(first, "expires_at_ms")
				replay(ctx, t, first)
				a := t.Do(ctx, t.Get(res))
				t.WantStatus(a, 200)
				t.Want(a, "expires_at_ms", expires)
			},
		},
	}
}

// replayOfDecision has replays of evaluations: they are what was decided then,
// not what would be decided now.
func replayOfDecision() []suite.Check {
	ask := map[string]func(*suite.T, *target.Budget, int64) *suite.Request{
		"decide": func(t *suite.T, b *target.Budget, amount int64) *suite.Request { return t.Decide(b, amount) },
		"dry-run": func(t *suite.T, b *target.Budget, amount int64) *suite.Request {
			return t.Create(b, amount).With("dry_run", true)
		},
	}
	var all []suite.Check
	for _, c := range calls() {
		request, ok := ask[c.name]
		if !ok {
			continue
		}
		all = append(all, suite.Check{
			ID: fmt.Sprintf("replay.%s-keeps-decision", c.name), Level: suite.Must, Section: replaySection, Lines: []int{181, c.line},
			Requirement: "The replay of an evaluation is the decision of then, ALLOW or DENY, though it would be another one now.",
			Needs:       []target.Kind{target.Ledger},
			Ops:         append(slices.Clone(c.ops), suite.Create, suite.Balances),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				most := t.Books(ctx, b).Remaining
				allowed := t.Do(ctx, request(t, b, most))
				t.WantAllowed(allowed)
				res := t.Reserve(ctx, b, most)
				denied := t.Do(ctx, request(t, b, most))
				t.WantStatus(denied, 200)
				t.Want(denied, "decision", "DENY")
				replay(ctx, t, allowed)
				t.Given(t.Do(ctx, t.Release(res)), 200)
				replay(ctx, t, denied)
			},
		})
	}
	return all
}

// lag is by how much two readings of clocks may be apart that are compared
// through a network.
const lag = 100 * time.Millisecond

// timeLeft is remaining_ttl_ms. It ends the check when the server does not send
// it, as servers need not.
func timeLeft(t *suite.T, a *suite.Answer) time.Duration {
	if !a.Has("remaining_ttl_ms") {
		t.Skip("the server does not send remaining_ttl_ms, which it need not")
	}
	return time.Duration(t.WantInt(a, "remaining_ttl_ms")) * time.Millisecond
}

// wantRecomputed wants the time left in a replay to be that of the first answer
// less what has passed between them, never below zero.
func wantRecomputed(t *suite.T, first, again *suite.Answer) {
	was, left := timeLeft(t, first), timeLeft(t, again)
	most := max(0, was-again.Sent.Sub(first.Received)+lag)
	least := max(0, was-again.Received.Sub(first.Sent)-lag)
	t.True(again, least <= left && left <= most,
		fmt.Sprintf("remaining_ttl_ms is counted anew, from %d to %d", least.Milliseconds(), most.Milliseconds()),
		"remaining_ttl_ms is %d, in the first answer it was %d", left.Milliseconds(), was.Milliseconds())
}

func wantNoTimeLeft(t *suite.T, again *suite.Answer) {
	timeLeft(t, again)
	t.Want(again, "remaining_ttl_ms", 0)
}
