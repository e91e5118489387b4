package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// extend is about moving the expiry of a reservation.
func extend() []suite.Check {
	return slices.Concat(extendMoves(), extendBudget(), []suite.Check{
		unknownReservation("extend", []suite.Op{suite.Create, suite.Extend}, func(t *suite.T, res *suite.Reservation) *suite.Request { return t.Extend(res, 1000) }),
	})
}

// extended sends an extend that must be taken.
func extended(ctx context.Context, t *suite.T, res *suite.Reservation, ms int64) *suite.Answer {
	a := t.Do(ctx, t.Extend(res, ms))
	wantExtended(t, a)
	return a
}

func wantExtended(t *suite.T, a *suite.Answer) {
	t.WantStatus(a, http.StatusOK)
	t.Want(a, "status", "ACTIVE")
	t.WantInt(a, "expires_at_ms")
}

// expiryOf is the expiry that a create told, without which the check has nothing
// to compare with.
func expiryOf(t *suite.T, res *suite.Reservation) int64 {
	at, ok := res.Created.Int("expires_at_ms")
	if !ok {
		t.Skip("the server does not tell expires_at_ms when it reserves")
	}
	return at
}

func extendMoves() []suite.Check {
	return []suite.Check{
		{
			ID: "extend.relative-to-expiry", Level: suite.Must, Section: "ReservationExtendRequest", Lines: []int{1817, 1818, 2528, 2557, 2563},
			Requirement: "An extend moves the expiry on from where it is, by at most what was asked for. A server may grant less, down to nothing; it does not count from the time of the request, and does not move the expiry back.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 30_000))
				at := expiryOf(t, res)
				for _, by := range []int64{1, 1000, 20_000, 86_400_000} {
					a := extended(ctx, t, res, by)
					moved := t.WantInt(a, "expires_at_ms") - at
					t.True(a, moved >= 0 && moved <= by, fmt.Sprintf("expires_at_ms at most %d ms after what it was", by), "%d ms", moved)
					at += moved
				}
			},
		},
		{
			ID: "extend.expiry-only", Level: suite.Must, Section: "extendReservation", Lines: []int{2531},
			Requirement: "An extend changes expires_at_ms and nothing else: the amount, the unit, the subject, the action and the scopes are what they were, and the expiry is the one it told.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 7, with("metadata", map[string]any{"k": "v"}), with("action.tags", []any{"a"}))
				before := t.Do(ctx, t.Get(res))
				t.Given(before, http.StatusOK)
				a := t.Do(ctx, t.Extend(res, 5000).With("metadata", map[string]any{"other": "w"}))
				wantExtended(t, a)
				after := t.Do(ctx, t.Get(res))
				t.WantStatus(after, http.StatusOK)
				t.WantSame(before, after, "expires_at_ms")
				t.Want(after, "expires_at_ms", t.WantInt(a, "expires_at_ms"))
			},
		},
		{
			ID: "extend.active-only", Level: suite.Must, Section: "extendReservation", Lines: []int{2531, 2533, 2552},
			Requirement: "A refused extend moves nothing: a reservation that is settled keeps its expiry.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Extend, suite.Commit, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 2)
				committed(ctx, t, res, 1)
				before := t.Do(ctx, t.Get(res))
				t.Given(before, http.StatusOK)
				wantConflict(t, t.Do(ctx, t.Extend(res, 5000)), "RESERVATION_FINALIZED")
				t.WantSame(before, t.Do(ctx, t.Get(res)))
			},
		},
	}
}

// extendBudget is about the number of times a reservation may be extended.
func extendBudget() []suite.Check {
	needs, ops := []target.Kind{target.MaxExtensions}, []suite.Op{suite.Create, suite.Extend}
	const code = "MAX_EXTENSIONS_EXCEEDED"
	return []suite.Check{
		{
			ID: "extend.max-extensions", Level: suite.Must, Section: "extendReservation", Lines: []int{776, 2562, 2690},
			Requirement: "When a reservation has been extended as often as it may, the next extend is refused with MAX_EXTENSIONS_EXCEEDED, and the reservation can still be committed.",
			Needs:       needs, Ops: append(ops, suite.Commit),
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.MaxExtensions), 1)
				for range t.Fixture(target.MaxExtensions).Limit {
					extended(ctx, t, res, 1000)
				}
				for range 2 {
					wantCode(t, t.Do(ctx, t.Extend(res, 1000)), code)
				}
				committed(ctx, t, res, 1)
			},
		},
		{
			ID: "extend.replays-do-not-count", Level: suite.Must, Section: "extendReservation", Lines: []int{181, 2537},
			Requirement: "An extend sent again is its first answer and uses up none of the extensions, also when there are none left.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.MaxExtensions), 1)
				for range t.Fixture(target.MaxExtensions).Limit {
					a := extended(ctx, t, res, 1000)
					replay(ctx, t, a)
					replay(ctx, t, a)
				}
				wantCode(t, t.Do(ctx, t.Extend(res, 1000)), code)
			},
		},
		{
			ID: "extend.each-its-own-budget", Level: suite.Must, Section: "extendReservation", Lines: []int{2562, 2720},
			Requirement: "Each reservation has its own number of extensions: one that has used up its own does not stop another.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.MaxExtensions)
				one, other := t.Reserve(ctx, b, 1), t.Reserve(ctx, b, 1)
				for range t.Fixture(target.MaxExtensions).Limit {
					extended(ctx, t, one, 1000)
				}
				wantCode(t, t.Do(ctx, t.Extend(one, 1000)), code)
				extended(ctx, t, other, 1000)
			},
		},
	}
}
