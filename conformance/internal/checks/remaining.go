package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// remaining is about remaining_ttl_ms in first answers. What a replay says of it
// is in replaylease.go, and that a reservation lives as long as it says in
// expiry.go.
func remaining() []suite.Check {
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "remaining.create", Level: suite.Should, Section: "ReservationCreateResponse", Lines: []int{1368, 2573}, Edition: suite.Current,
			Requirement: "A create tells the time left, without which nobody can safely schedule the first extend.",
			Needs:       needs, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				t.WantInt(reserved(ctx, t, t.Create(t.Budget(target.Funded), 1)), "remaining_ttl_ms")
			},
		},
		{
			ID: "remaining.extend", Level: suite.Should, Section: "ReservationExtendResponse", Lines: []int{1851, 2573}, Edition: suite.Current,
			Requirement: "An extend tells the time left.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				t.WantInt(extended(ctx, t, t.Reserve(ctx, t.Budget(target.Funded), 1), 1000), "remaining_ttl_ms")
			},
		},
		{
			ID: "remaining.within-grant", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{1363, 1366, 1367}, Edition: suite.Current,
			Requirement: "The time left after a create is more than 0 and at most the ttl_ms that was asked for.",
			Needs:       needs, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				for _, ttl := range []time.Duration{5 * time.Second, 30 * time.Second, time.Minute} {
					a := reserved(ctx, t, t.Create(b, 1).With("ttl_ms", ttl.Milliseconds()))
					left := timeLeft(t, a)
					t.True(a, left > 0 && left <= ttl, fmt.Sprintf("a time left of more than 0 and at most %v", ttl), "%v", left)
				}
			},
		},
		{
			ID: "remaining.one-clock", Level: suite.Must, Section: "ReservationExtendResponse", Lines: []int{1366, 1368, 1849, 1850}, Edition: suite.Current,
			Requirement: "expires_at_ms less remaining_ttl_ms is the server's time in every answer: from a create to its extends it goes on by as much as passed.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 20_000))
				before := res.Created
				for _, by := range []int64{7_000, 1, 13_000} {
					after := extended(ctx, t, res, by)
					wantElapsed(t, before, after)
					before = after
				}
			},
		},
		{
			ID: "remaining.live-only", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{1369}, Edition: suite.Current,
			Requirement: "A dry run and a DENY have no remaining_ttl_ms.",
			Ops:         createOnly(),
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Request.Op != suite.Create || a.Decision() == "" || a.Request.Body["dry_run"] != true && a.Decision() != "DENY" {
					return false, nil
				}
				if left, _ := a.Get("remaining_ttl_ms"); left != nil {
					return true, []suite.Wrong{{Where: "createReservation remaining_ttl_ms", What: "is there though nothing was reserved"}}
				}
				return true, nil
			},
		},
	}
}

// wantElapsed wants the server's time to have gone on, from one answer to
// another of the same lease, by what passed here.
func wantElapsed(t *suite.T, before, after *suite.Answer) {
	at := func(a *suite.Answer) int64 {
		expires, ok := a.Int("expires_at_ms")
		if !ok {
			t.Skip("the server does not tell expires_at_ms when it reserves")
		}
		return expires - timeLeft(t, a).Milliseconds()
	}
	passed := time.Duration(at(after)-at(before)) * time.Millisecond
	least := after.Sent.Sub(before.Received) - lag
	most := after.Received.Sub(before.Sent) + lag
	t.True(after, passed >= least && passed <= most,
		fmt.Sprintf("expires_at_ms less remaining_ttl_ms to have gone on by %v to %v", least, most), "by %v", passed)
}
