package checks

import (
	"context"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// pause is how long checks wait to see whether a figure was counted anew; far
// more than lag.
const pause = 1500 * time.Millisecond

// leased are the two operations whose answers tell the time left.
type leased struct {
	name string
	// lines say of it that the time left is counted anew, and that it is 0 when
	// the reservation is no longer active.
	anew, zero []int
	ops        []suite.Op
	first      func(ctx context.Context, t *suite.T, res *suite.Reservation) *suite.Answer
}

func leases() []leased {
	return []leased{
		{
			name: "create", anew: []int{184, 185, 516, 518, 1371, 1964, 1966}, zero: []int{188, 518, 1371, 1966},
			ops:   []suite.Op{suite.Create},
			first: func(_ context.Context, _ *suite.T, res *suite.Reservation) *suite.Answer { return res.Created },
		},
		{
			name: "extend", anew: []int{184, 185, 516, 518, 1851, 2537, 2540}, zero: []int{188, 518, 1859, 2540},
			ops: []suite.Op{suite.Create, suite.Extend},
			first: func(ctx context.Context, t *suite.T, res *suite.Reservation) *suite.Answer {
				a := t.Do(ctx, t.Extend(res, 1000))
				t.Given(a, 200)
				return a
			},
		},
	}
}

// replayOfLease has what a replay says of the time left.
func replayOfLease() []suite.Check {
	var all []suite.Check
	for _, l := range leases() {
		all = append(all,
			suite.Check{
				ID: "replay." + l.name + "-counts-time-left", Level: suite.Must, Section: replaySection, Lines: l.anew, Edition: suite.Current,
				Requirement: "remaining_ttl_ms in a replay is the time left now until the first answer's expiry; all the rest is the first answer.",
				Needs:       []target.Kind{target.Funded}, Ops: l.ops, Waits: true,
				Run: func(ctx context.Context, t *suite.T) {
					first := l.first(ctx, t, t.Reserve(ctx, t.Budget(target.Funded), 1))
					t.Wait(ctx, pause)
					wantRecomputed(t, first, replay(ctx, t, first))
				},
			},
			suite.Check{
				ID: "replay." + l.name + "-time-left-after-commit", Level: suite.Must, Section: replaySection, Lines: l.zero, Edition: suite.Current,
				Requirement: "remaining_ttl_ms in a replay is 0 when the reservation is committed since.",
				Needs:       []target.Kind{target.Funded}, Ops: slices.Concat(l.ops, []suite.Op{suite.Commit}),
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.Funded), 2)
					first := l.first(ctx, t, res)
					t.Given(t.Do(ctx, t.Commit(res, 1)), 200)
					wantNoTimeLeft(t, replay(ctx, t, first))
				},
			},
			suite.Check{
				ID: "replay." + l.name + "-time-left-after-release", Level: suite.Must, Section: replaySection, Lines: l.zero, Edition: suite.Current,
				Requirement: "remaining_ttl_ms in a replay is 0 when the reservation is released since.",
				Needs:       []target.Kind{target.Funded}, Ops: l.ops,
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.Funded), 2)
					first := l.first(ctx, t, res)
					t.Given(t.Do(ctx, t.Release(res)), 200)
					wantNoTimeLeft(t, replay(ctx, t, first))
				},
			},
			suite.Check{
				ID: "replay." + l.name + "-after-expiry", Level: suite.Must, Section: replaySection, Lines: slices.Concat(l.zero, []int{181}), Edition: suite.Current,
				Requirement: "The replay is the first answer also when the reservation has expired since, with remaining_ttl_ms 0.",
				Needs:       []target.Kind{target.Funded}, Ops: l.ops, Waits: true,
				Run: func(ctx context.Context, t *suite.T) {
					res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 2000), with("grace_period_ms", 0))
					first := l.first(ctx, t, res)
					t.WaitUntil(ctx, res.Ends.Add(time.Second+lag))
					again := replay(ctx, t, first)
					if again.Has("remaining_ttl_ms") {
						wantNoTimeLeft(t, again)
					}
				},
			},
		)
	}
	return append(all, replayOfEarlierLease()...)
}

// replayOfEarlierLease has replays of answers that a later extend has
// overtaken.
func replayOfEarlierLease() []suite.Check {
	return []suite.Check{
		{
			ID: "replay.create-time-left-after-extend", Level: suite.Must, Section: replaySection, Lines: []int{185, 1371, 1966}, Edition: suite.Current,
			Requirement: "The replay of a create that was extended since tells the first expiry, and the time left until that one.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				t.Given(t.Do(ctx, t.Extend(res, 60_000)), 200)
				wantRecomputed(t, res.Created, replay(ctx, t, res.Created))
			},
		},
		{
			ID: "replay.extend-after-its-expiry", Level: suite.Must, Section: replaySection, Lines: []int{181, 1851, 1861, 2537}, Edition: suite.Current,
			Requirement: "An extend sent again after the expiry that it gave is still its first answer with remaining_ttl_ms 0, and no new extension, though a later extend keeps the reservation alive.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 2000))
				first := t.Do(ctx, t.Extend(res, 1000))
				t.Given(first, 200)
				later := t.Do(ctx, t.Extend(res, 30_000))
				t.Given(later, 200)
				if gained := t.WantInt(later, "expires_at_ms") - t.WantInt(first, "expires_at_ms"); gained < 5000 {
					t.Skip("the server grants %d ms where 30000 were asked for, too little to outlive the first expiry", gained)
				}
				t.WaitUntil(ctx, res.Ends.Add(time.Second+lag))
				again := replay(ctx, t, first)
				if again.Has("remaining_ttl_ms") {
					wantNoTimeLeft(t, again)
				}
				// Extending by a millisecond shows where the expiry is.
				here := t.Do(ctx, t.Extend(res, 1))
				t.WantStatus(here, 200)
				moved := t.WantInt(here, "expires_at_ms") - t.WantInt(later, "expires_at_ms")
				t.True(here, moved <= 1, "the expiry has not moved but by the last extend's millisecond", "it has moved by %d", moved)
			},
		},
	}
}

// replayLate has replays of settlements after the reservation's time.
func replayLate() []suite.Check {
	late := func(name string, line int, ops []suite.Op, settle func(*suite.T, *suite.Reservation) *suite.Request) suite.Check {
		return suite.Check{
			ID: "replay." + name + "-after-expiry", Level: suite.Must, Section: replaySection, Lines: []int{181, line},
			Requirement: "A " + name + " sent again when the time of its reservation is over is its first answer, not 410.",
			Needs:       []target.Kind{target.Funded}, Ops: ops, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2, with("ttl_ms", 1000), with("grace_period_ms", 0))
				first := t.Do(ctx, settle(t, res))
				t.Given(first, 200)
				t.WaitUntil(ctx, res.Ends.Add(lag))
				replay(ctx, t, first)
			},
		}
	}
	return []suite.Check{
		late("commit", 2422, []suite.Op{suite.Create, suite.Commit}, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Commit(res, 1) }),
		late("release", 2462, []suite.Op{suite.Create, suite.Release}, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Release(res) }),
	}
}
