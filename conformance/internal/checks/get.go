package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// get is about what a single reservation says of itself.
func get() []suite.Check {
	return slices.Concat(getDetails(), getSettled(), getMissing())
}

const getSection = "getReservation"

// detail reads the reservation, which must be there.
func detail(ctx context.Context, t *suite.T, res *suite.Reservation) (*suite.Answer, row) {
	a := t.Do(ctx, t.Get(res))
	t.WantStatus(a, http.StatusOK)
	d, _ := a.Value.(row)
	t.True(a, d != nil, "an object", "%s", suite.Describe(a))
	return a, d
}

func getDetails() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.Get}
	return []suite.Check{
		{
			ID: "get.detail", Level: suite.Must, Section: getSection, Lines: []int{2359, 1544},
			Requirement: "A reservation reads as what it is: id, status ACTIVE, subject, action, amount and expiry as it was made, scopes as the create told them, and the key it was made with if any.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 3, with("action.tags", []any{"prod", "beta"}))
				a, d := detail(ctx, t, res)
				wantDetail(t, a, d, res, "ACTIVE")
				wantNoMember(t, a, d, "committed")
				wantNoMember(t, a, d, "finalized_at_ms")
			},
		},
		{
			ID: "get.dimensions", Level: suite.Must, Section: "Subject", Lines: []int{985},
			Requirement: "The dimensions of a subject are kept and come back as they were, whether the server uses them or not.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				dimensions := map[string]any{"cost_center": "R&D 7", "project": t.Name(), "empty": ""}
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("subject.dimensions", dimensions))
				a, d := detail(ctx, t, res)
				wantEqual(t, a, d, "subject", res.Create.Body["subject"])
			},
		},
		{
			ID: "get.metadata", Level: suite.Must, Section: "ReservationDetail", Lines: []int{1581, 1760}, Edition: suite.Current,
			Requirement: "The metadata of the create comes back as it was, and none when there was none.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				metadata := map[string]any{"run": t.Name(), "deep": map[string]any{"list": []any{1, "two", true}, "none": map[string]any{}}}
				a, d := detail(ctx, t, t.Reserve(ctx, b, 1, with("metadata", metadata)))
				wantEqual(t, a, d, "metadata", metadata)
				wantNoMember(t, a, d, "committed_metadata")
				a, d = detail(ctx, t, t.Reserve(ctx, b, 1))
				if m, ok := d["metadata"].(map[string]any); !ok || len(m) > 0 {
					wantNoMember(t, a, d, "metadata")
				}
			},
		},
		{
			ID: "get.changes-nothing", Level: suite.Must, Section: getSection, Lines: []int{2359},
			Requirement: "Reading a reservation twice gives the same answer.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				first, _ := detail(ctx, t, res)
				second, d := detail(ctx, t, res)
				t.WantSame(first, second)
				wantDetail(t, second, d, res, "ACTIVE")
			},
		},
	}
}

func getSettled() []suite.Check {
	needs := []target.Kind{target.Funded}
	return []suite.Check{
		{
			ID: "get.committed", Level: suite.Must, Section: "ReservationDetail", Lines: []int{1562, 1587},
			Requirement: "A committed reservation reads COMMITTED with the amount charged, the amount reserved, when it was finalized, and the metadata of the commit beside that of the create.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Commit, suite.Get}, Edition: suite.Current,
			Run: func(ctx context.Context, t *suite.T) {
				made, settled := map[string]any{"at": "create"}, map[string]any{"at": "commit"}
				res := t.Reserve(ctx, t.Budget(target.Funded), 3, with("metadata", made))
				t.Given(t.Do(ctx, t.Commit(res, 2).With("metadata", settled)), http.StatusOK)
				a, d := detail(ctx, t, res)
				wantDetail(t, a, d, res, "COMMITTED")
				if d["committed"] != nil {
					wantMember(t, a, d, "committed.amount", 2)
					wantMember(t, a, d, "committed.unit", res.Budget.Unit)
				} else {
					t.WarnAt(a, "committed tells the amount charged", "it is absent")
				}
				wantEqual(t, a, d, "metadata", made)
				wantEqual(t, a, d, "committed_metadata", settled)
				wantFinalized(t, a, d)
			},
		},
		{
			ID: "get.released", Level: suite.Must, Section: "ReservationDetail", Lines: []int{1562},
			Requirement: "A released reservation reads RELEASED and when it was finalized, with nothing committed.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Release, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 3)
				t.Given(t.Do(ctx, t.Release(res)), http.StatusOK)
				a, d := detail(ctx, t, res)
				wantDetail(t, a, d, res, "RELEASED")
				wantNoMember(t, a, d, "committed")
				wantNoMember(t, a, d, "committed_metadata")
				wantFinalized(t, a, d)
			},
		},
		{
			ID: "get.expired", Level: suite.Must, Section: getSection, Lines: []int{134, 2362}, Edition: suite.Current,
			Requirement: "A reservation whose status is EXPIRED is answered 410 RESERVATION_EXPIRED.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Get}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1, with("ttl_ms", 1000), with("grace_period_ms", 0))
				t.Given(t.Do(ctx, t.Get(res)), http.StatusOK)
				t.WaitUntil(ctx, res.Ends.Add(lag))
				// Until the server has noticed, the reservation still reads ACTIVE.
				var a *suite.Answer
				t.Eventually(ctx, sweep, time.Second, func() bool {
					a = t.Do(ctx, t.Get(res))
					return a.Status != http.StatusOK || a.Str("status") != "ACTIVE"
				})
				t.WantError(a, http.StatusGone, "RESERVATION_EXPIRED")
			},
		},
		{
			ID: "get.expired-is-listed", Level: suite.Must, Section: getSection, Lines: []int{2362, 2365}, Edition: suite.Current,
			Requirement: "Once a listing shows the status EXPIRED, reading the reservation by id is answered 410 RESERVATION_EXPIRED.",
			Needs:       needs, Ops: []suite.Op{suite.Create, suite.Get, suite.List}, Waits: true,
			Run: func(ctx context.Context, t *suite.T) {
				res := newShelf(t, t.Budget(target.Funded)).expired(ctx)
				t.WantError(t.Do(ctx, t.Get(res)), http.StatusGone, "RESERVATION_EXPIRED")
			},
		},
	}
}

func getMissing() []suite.Check {
	needs, ops := []target.Kind{target.Funded}, []suite.Op{suite.Create, suite.Get}
	return []suite.Check{
		{
			ID: "get.unknown", Level: suite.Must, Section: getSection, Lines: []int{139, 2364},
			Requirement: "A reservation that never existed is answered 404 NOT_FOUND.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				_, _ = detail(ctx, t, t.Reserve(ctx, b, 1))
				t.WantError(t.Do(ctx, t.Get(t.Stranger(b))), http.StatusNotFound, "NOT_FOUND")
			},
		},
		{
			ID: "get.key-is-no-id", Level: suite.Must, Section: getSection, Lines: []int{139, 2364},
			Requirement: "The idempotency key of a reservation is not its id.",
			Needs:       needs, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				res := t.Reserve(ctx, t.Budget(target.Funded), 1)
				_, _ = detail(ctx, t, res)
				if res.ID == res.Create.Key() {
					t.Skip("the server names reservations after their keys")
				}
				byKey := *res
				byKey.ID = res.Create.Key()
				t.WantError(t.Do(ctx, t.Get(&byKey)), http.StatusNotFound, "NOT_FOUND")
			},
		},
	}
}
