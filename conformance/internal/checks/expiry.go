package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// expiry is about the end of a lease and the grace behind it. All of it waits.
// How a reservation reads when it has expired is in get.go and list.go.
func expiry() []suite.Check {
	return slices.Concat(expiryGrace(), expiryEnds(), expiryMoved(), expiryBudget(), expiryTold())
}

// shortLived makes a create with the shortest lease there is, and that grace.
func shortLived(grace time.Duration) edit { return leaseOf(time.Second, grace) }

// extensible makes a create whose lease is long enough to extend it in time.
func extensible(grace time.Duration) edit { return leaseOf(2*time.Second, grace) }

func leaseOf(ttl, grace time.Duration) edit {
	return func(r *suite.Request) *suite.Request {
		return r.With("ttl_ms", ttl.Milliseconds()).With("grace_period_ms", grace.Milliseconds())
	}
}

func wantGone(t *suite.T, a *suite.Answer) { t.WantError(a, http.StatusGone, "RESERVATION_EXPIRED") }

// fundedWaiting is a check that waits and uses the shared budget.
func fundedWaiting(c suite.Check, ops ...suite.Op) suite.Check {
	c.Needs, c.Waits = []target.Kind{target.Funded}, true
	c.Ops = append([]suite.Op{suite.Create}, ops...)
	return c
}

func expiryGrace() []suite.Check {
	const section = "ERROR SEMANTICS"
	return []suite.Check{
		fundedWaiting(suite.Check{
			ID: "expiry.commit-in-grace", Level: suite.Must, Section: section, Lines: []int{135, 1209, 1939},
			Requirement: "A commit is taken through the grace after the expiry.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, shortLived(30*time.Second))
				t.WaitUntil(ctx, res.Ends.Add(lag))
				committed(ctx, t, res, 3)
			},
		}, suite.Commit),
		fundedWaiting(suite.Check{
			ID: "expiry.release-in-grace", Level: suite.Must, Section: section, Lines: []int{135, 1209},
			Requirement: "A release is taken through the grace after the expiry.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, shortLived(30*time.Second))
				t.WaitUntil(ctx, res.Ends.Add(lag))
				released(ctx, t, res)
			},
		}, suite.Release),
		fundedWaiting(suite.Check{
			ID: "expiry.extend-in-grace", Level: suite.Must, Section: "extendReservation", Lines: []int{135, 2533, 2534, 2553},
			Requirement: "The grace is for settling: an extend behind the expiry is refused with 410 RESERVATION_EXPIRED, while a commit is still taken.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, shortLived(30*time.Second))
				t.WaitUntil(ctx, res.Ends.Add(lag))
				wantGone(t, t.Do(ctx, t.Extend(res, 60_000)))
				committed(ctx, t, res, 3)
			},
		}, suite.Extend, suite.Commit),
		fundedWaiting(suite.Check{
			ID: "expiry.default-grace", Level: suite.Must, Section: "ReservationCreateRequest", Lines: []int{1207, 1209},
			Requirement: "A create that asks for no grace gets 5000 ms: before that a commit is taken, after it no more.",
			Run: func(ctx context.Context, t *suite.T) {
				b, short := t.Budget(target.Funded), with("ttl_ms", 1000)
				within, beyond := t.Reserve(ctx, b, 5, short), t.Reserve(ctx, b, 5, short)
				// The expiry is before Ends by no more than a round trip.
				t.WaitUntil(ctx, within.Ends.Add(3*time.Second))
				committed(ctx, t, within, 3)
				t.WaitUntil(ctx, beyond.Ends.Add(5*time.Second+lag))
				wantGone(t, t.Do(ctx, t.Commit(beyond, 3)))
			},
		}, suite.Commit),
	}
}

func expiryEnds() []suite.Check {
	const section = "ERROR SEMANTICS"
	after := func(name string, op suite.Op, grace time.Duration, lines []int, request func(*suite.T, *suite.Reservation) *suite.Request) suite.Check {
		return fundedWaiting(suite.Check{
			ID: "expiry." + name, Level: suite.Must, Section: section, Lines: lines,
			Requirement: "Behind the expiry and its grace a reservation is gone: 410 RESERVATION_EXPIRED, every time.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, shortLived(grace))
				t.WaitUntil(ctx, res.Ends.Add(grace+lag))
				wantGone(t, t.Do(ctx, request(t, res)))
				wantGone(t, t.Do(ctx, request(t, res)))
			},
		}, op)
	}
	commit := func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Commit(res, 3) }
	release := func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Release(res) }
	extend := func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Extend(res, 60_000) }
	return []suite.Check{
		after("commit-after-grace", suite.Commit, 1500*time.Millisecond, []int{134, 135, 1939}, commit),
		after("commit-without-grace", suite.Commit, 0, []int{134, 135, 1205}, commit),
		after("release-after-grace", suite.Release, 1500*time.Millisecond, []int{134, 135}, release),
		after("release-without-grace", suite.Release, 0, []int{134, 135, 1205}, release),
		after("extend-after-grace", suite.Extend, 0, []int{134, 2534, 2553}, extend),
		fundedWaiting(suite.Check{
			ID: "expiry.own-clock", Level: suite.Must, Section: section, Lines: []int{163},
			Requirement: "Now is the server's time: a client that claims in a Date header to be early or late changes nothing.",
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				date := func(r *suite.Request, at time.Time) *suite.Request {
					return r.WithHeader("Date", at.UTC().Format(http.TimeFormat))
				}
				live, late := t.Reserve(ctx, b, 5, with("ttl_ms", 60_000)), t.Reserve(ctx, b, 5, shortLived(0))
				wantCommitted(t, t.Do(ctx, date(t.Commit(live, 3), t.Now().AddDate(1, 0, 0))), 3, 2)
				t.WaitUntil(ctx, late.Ends.Add(lag))
				wantGone(t, t.Do(ctx, date(t.Commit(late, 3), t.Now().AddDate(-1, 0, 0))))
			},
		}, suite.Commit),
	}
}

// expiryMoved is about reservations that were extended, or granted less than
// they asked for.
func expiryMoved() []suite.Check {
	// grant extends by ms and returns by how much the expiry moved.
	grant := func(ctx context.Context, t *suite.T, res *suite.Reservation, ms int64) time.Duration {
		before := expiryOf(t, res)
		a := extended(ctx, t, res, ms)
		return time.Duration(t.WantInt(a, "expires_at_ms")-before) * time.Millisecond
	}
	const enough = 4 * time.Second
	return []suite.Check{
		fundedWaiting(suite.Check{
			ID: "expiry.extended-lives", Level: suite.Must, Section: "extendReservation", Lines: []int{1841, 2528, 2533, 2566},
			Requirement: "A reservation that was extended outlives its first expiry, and can be extended again.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, extensible(0))
				if grant(ctx, t, res, 30_000) < enough {
					t.Skip("the server grants an extend less than %v", enough)
				}
				t.WaitUntil(ctx, res.Ends.Add(lag))
				extended(ctx, t, res, 1000)
				committed(ctx, t, res, 3)
			},
		}, suite.Extend, suite.Commit),
		fundedWaiting(suite.Check{
			ID: "expiry.extended-ends", Level: suite.Must, Section: "extendReservation", Lines: []int{135, 1841, 2534, 2566},
			Requirement: "The expiry that an extend tells is the one that counts: behind it the reservation is gone.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 5, extensible(0))
				t.WaitUntil(ctx, res.Ends.Add(grant(ctx, t, res, 1000)+lag))
				wantGone(t, t.Do(ctx, t.Extend(res, 60_000)))
				wantGone(t, t.Do(ctx, t.Commit(res, 3)))
			},
		}, suite.Extend, suite.Commit),
		fundedWaiting(suite.Check{
			ID: "expiry.grace-after-extend", Level: suite.Must, Section: "extendReservation", Lines: []int{135, 2531},
			Requirement: "The grace counts from the expiry as it is, not from the first one, and an extend does not change how long it is.",
			Run: func(ctx context.Context, t *suite.T) {
				const grace = 2 * time.Second
				b := t.Budget(target.Funded)
				within, beyond := t.Reserve(ctx, b, 5, extensible(grace)), t.Reserve(ctx, b, 5, extensible(grace))
				moved := grant(ctx, t, within, 3000)
				if moved < grace+lag {
					t.Skip("the server grants an extend less than %v", grace+lag)
				}
				ends := beyond.Ends.Add(grant(ctx, t, beyond, 3000))
				// Behind the first expiry with its grace, and within the second one's.
				t.WaitUntil(ctx, within.Ends.Add(moved+lag))
				committed(ctx, t, within, 3)
				t.WaitUntil(ctx, ends.Add(grace+lag))
				wantGone(t, t.Do(ctx, t.Commit(beyond, 3)))
			},
		}, suite.Extend, suite.Commit),
		{
			ID: "expiry.granted-less", Level: suite.Must, Section: "extendReservation", Lines: []int{134, 1837, 2563, 2566},
			Requirement: "A lease that was granted for less than was asked for ends when its expires_at_ms says.",
			Needs:       []target.Kind{target.TTLCeiling}, Ops: []suite.Op{suite.Create, suite.Commit}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.TTLCeiling)
				res := t.Reserve(ctx, f.Budgets[0], 5, with("ttl_ms", 3_600_000), with("grace_period_ms", 0))
				if left, ok := res.Created.Int("remaining_ttl_ms"); ok {
					t.True(res.Created, left <= f.Limit, "remaining_ttl_ms within the ceiling", "%d above %d", left, f.Limit)
				}
				t.WaitUntil(ctx, res.Created.Received.Add(time.Duration(f.Limit)*time.Millisecond+lag))
				wantGone(t, t.Do(ctx, t.Commit(res, 3)))
			},
		},
	}
}

// expiryBudget is about what an expiring reservation holds.
func expiryBudget() []suite.Check {
	needs := []target.Kind{target.Ledger}
	return []suite.Check{
		{
			ID: "expiry.frees-budget", Level: suite.Must, Section: "Balance", Lines: []int{1216, 1302, 1938},
			Requirement: "Behind its grace an expired reservation holds nothing: soon after, the budget can be reserved again.",
			Needs:       needs, Ops: createOnly(), Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, b.Allocated, shortLived(0))
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "BUDGET_EXCEEDED")
				t.WaitUntil(ctx, res.Ends.Add(lag))
				var last *suite.Answer
				free := t.Eventually(ctx, sweep, time.Second, func() bool {
					last = t.Do(ctx, t.Create(b, b.Allocated))
					return last.Status == http.StatusOK
				})
				t.True(last, free, "the budget free again soon after the expiry", "after %v still %s", sweep, suite.Describe(last))
			},
		},
		{
			ID: "expiry.held-in-grace", Level: suite.Should, Section: "ReservationCreateRequest", Lines: []int{1216, 1939},
			Requirement: "Within its grace a reservation still holds its amount, since it can still be committed.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, b.Allocated, shortLived(30*time.Second))
				t.WaitUntil(ctx, res.Ends.Add(lag))
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "BUDGET_EXCEEDED")
				committed(ctx, t, res, b.Allocated)
			},
		},
	}
}

// expiryTold is about the time left that an answer tells.
func expiryTold() []suite.Check {
	const early = time.Second // enough for a request to be there in time
	return []suite.Check{
		fundedWaiting(suite.Check{
			ID: "expiry.lives-as-told", Level: suite.Must, Section: "extendReservation", Lines: []int{1366, 1368, 2533}, Edition: suite.Current,
			Requirement: "A reservation lives as long as remaining_ttl_ms said, counted from when the request was sent: just before that it can be extended.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 3000), with("grace_period_ms", 0))
				left := timeLeft(t, res.Created)
				if left <= early {
					t.Skip("the server grants %v where 3s were asked for, too little to be early in", left)
				}
				until := res.Created.Sent.Add(left)
				t.WaitUntil(ctx, until.Add(-early))
				a := t.Do(ctx, t.Extend(res, 1000))
				t.Ground(a.Status == http.StatusOK || a.Received.Before(until), "the answer to come within "+early.String())
				wantExtended(t, a)
			},
		}, suite.Extend),
		fundedWaiting(suite.Check{
			ID: "expiry.ends-as-told", Level: suite.Must, Section: "extendReservation", Lines: []int{1366, 1368, 2534}, Edition: suite.Current,
			Requirement: "A reservation lives no longer than remaining_ttl_ms said, counted from when the answer came: just after that an extend is refused with 410 RESERVATION_EXPIRED.",
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 2000))
				a := extended(ctx, t, res, 500)
				t.WaitUntil(ctx, a.Received.Add(timeLeft(t, a)+lag))
				wantGone(t, t.Do(ctx, t.Extend(res, 60_000)))
			},
		}, suite.Extend),
	}
}
