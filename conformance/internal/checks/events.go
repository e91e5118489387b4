package checks

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const eventSection = "createEvent"

// events is about accounting without a reservation.
func events() []suite.Check {
	return slices.Concat(eventBasics(), eventAvailable(), eventReject(), eventOverdraft(), eventBudgets())
}

func eventOps() []suite.Op { return []suite.Op{suite.Event, suite.Balances} }

// apply sends an event that must be applied.
func apply(ctx context.Context, t *suite.T, r *suite.Request) *suite.Answer {
	a := t.Do(ctx, r)
	t.WantStatus(a, http.StatusCreated)
	t.Want(a, "status", "APPLIED")
	t.WantString(a, "event_id")
	return a
}

// wantCharged wants charged to say amount. It may be left out unless the event
// was capped.
func wantCharged(t *suite.T, a *suite.Answer, amount int64, capped bool) {
	if a.Has("charged") || capped {
		t.Want(a, "charged.amount", amount)
	}
}

func eventBasics() []suite.Check {
	return []suite.Check{
		{
			ID: "events.applied", Level: suite.Must, Section: eventSection, Lines: []int{2939, 1639},
			Requirement: "An event is answered 201 APPLIED with an id once its amount is spent.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				first, second := apply(ctx, t, t.Event(b, 30)), apply(ctx, t, t.Event(b, 30))
				wantCharged(t, first, 30, false)
				t.True(second, first.Str("event_id") != second.Str("event_id"), "an id of its own for each event", "%s twice", first.Str("event_id"))
				want.Remaining, want.Spent = want.Remaining-60, want.Spent+60
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.all-scopes", Level: suite.Must, Section: eventSection, Lines: []int{1662, 2939},
			Requirement: "An event is charged to every budget on the way from the tenant to its subject.",
			Needs:       []target.Kind{target.Nested}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Nested)
				outer, inner := f.Budgets[0], f.Budgets[1]
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				apply(ctx, t, t.Event(inner, 40))
				wantOuter.Remaining, wantOuter.Spent = wantOuter.Remaining-40, wantOuter.Spent+40
				wantInner.Remaining, wantInner.Spent = wantInner.Remaining-40, wantInner.Spent+40
				t.WantBooks(ctx, outer, wantOuter)
				t.WantBooks(ctx, inner, wantInner)
			},
		},
		{
			ID: "events.client-time", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1656},
			Requirement: "The client's time is advice: an event is applied in full whether it claims to be from 1970, from the far future or from now.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				for _, ms := range []int64{0, 1, t.Now().UnixMilli(), 32_503_680_000_000, 1<<63 - 1} {
					apply(ctx, t, t.Event(b, 10).With("client_time_ms", ms))
				}
				want.Remaining, want.Spent = want.Remaining-50, want.Spent+50
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.metrics", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1620, 1649},
			Requirement: "An event may carry metrics, custom ones too, and metadata.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Event},
			Run: func(ctx context.Context, t *suite.T) {
				apply(ctx, t, t.Event(t.Budget(target.Funded), 1).
					With("metrics", map[string]any{
						"tokens_input": 1500, "tokens_output": 0, "latency_ms": 2340, "model_version": "m-1",
						"custom": map[string]any{"cache": map[string]any{"hit": true}, "score": suite.JSON("0.25")},
					}).
					With("metadata", map[string]any{"trace": []any{"a", 1}}))
			},
		},
	}
}

func eventAvailable() []suite.Check {
	capped := func(name, requirement string, policy any) suite.Check {
		return suite.Check{
			ID: "events." + name, Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1639, 1640, 1642, 1676, 1323}, Requirement: requirement,
			Needs: []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				r := t.Event(b, want.Remaining+50)
				if policy != nil {
					r = r.With("overage_policy", policy)
				}
				wantCharged(t, apply(ctx, t, r), want.Remaining, true)
				want.Spent, want.Remaining, want.OverLimit = want.Spent+want.Remaining, 0, true
				t.WantBooks(ctx, b, want)
			},
		}
	}
	return []suite.Check{
		capped("available-capped", "Under ALLOW_IF_AVAILABLE an event of more than remains is charged what remains, says so, creates no debt and puts the scope over its limit.", "ALLOW_IF_AVAILABLE"),
		capped("default-policy", "An event that names no policy is treated under ALLOW_IF_AVAILABLE.", nil),
		{
			ID: "events.available-exact", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1639},
			Requirement: "Under ALLOW_IF_AVAILABLE an event of exactly what remains is charged in full and leaves the scope as good as it was.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				wantCharged(t, apply(ctx, t, t.Event(b, want.Remaining).With("overage_policy", "ALLOW_IF_AVAILABLE")), want.Remaining, false)
				want.Spent, want.Remaining = want.Spent+want.Remaining, 0
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.available-held", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1640},
			Requirement: "What reservations hold does not remain: an event is not charged from it.",
			Needs:       []target.Kind{target.Ledger}, Ops: slices.Concat(eventOps(), []suite.Op{suite.Create}),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				held := b.Allocated / 2
				t.Reserve(ctx, b, held)
				want := t.Books(ctx, b)
				wantCharged(t, apply(ctx, t, t.Event(b, b.Allocated)), want.Remaining, true)
				want.Spent, want.Remaining, want.OverLimit = want.Spent+want.Remaining, 0, true
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.available-nested", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1640, 1662},
			Requirement: "A capped event is charged the least that remains on any of its budgets, to all of them; only those that could not cover it all are over their limit.",
			Needs:       []target.Kind{target.Nested}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Nested)
				outer, inner := f.Budgets[0], f.Budgets[1]
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				most := wantOuter.Remaining
				wantCharged(t, apply(ctx, t, t.Event(inner, most+50)), most, true)
				wantOuter.Remaining, wantOuter.Spent, wantOuter.OverLimit = 0, wantOuter.Spent+most, true
				wantInner.Remaining, wantInner.Spent = wantInner.Remaining-most, wantInner.Spent+most
				t.WantBooks(ctx, outer, wantOuter)
				t.WantBooks(ctx, inner, wantInner)
			},
		},
	}
}

func eventReject() []suite.Check {
	return []suite.Check{
		{
			ID: "events.reject", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1638, 2985},
			Requirement: "Under REJECT an event of more than remains is refused with 409 BUDGET_EXCEEDED and charges nothing; one of exactly what remains is applied.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				reject := with("overage_policy", "REJECT")
				t.WantError(t.Do(ctx, reject(t.Event(b, want.Remaining+1))), http.StatusConflict, "BUDGET_EXCEEDED")
				t.WantBooks(ctx, b, want)
				apply(ctx, t, reject(t.Event(b, want.Remaining)))
				want.Spent, want.Remaining = want.Spent+want.Remaining, 0
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.reject-nested", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1638, 1662, 2939},
			Requirement: "Under REJECT an event that one of its budgets cannot cover is charged to none of them.",
			Needs:       []target.Kind{target.Nested}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.Nested)
				outer, inner := f.Budgets[0], f.Budgets[1]
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				a := t.Do(ctx, t.Event(inner, wantOuter.Remaining+1).With("overage_policy", "REJECT"))
				t.WantError(a, http.StatusConflict, "BUDGET_EXCEEDED")
				t.WantBooks(ctx, outer, wantOuter)
				t.WantBooks(ctx, inner, wantInner)
			},
		},
	}
}

// eventOverdraft works with nothing remaining, where the readings of the
// overdraft arithmetic agree.
func eventOverdraft() []suite.Check {
	overdraft := with("overage_policy", "ALLOW_WITH_OVERDRAFT")
	return []suite.Check{
		{
			ID: "events.overdraft", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1264, 1643, 1644},
			Requirement: "Under ALLOW_WITH_OVERDRAFT an event that nothing is left for becomes debt, up to the overdraft limit and with it; a debt at the limit is not over it.",
			Needs:       []target.Kind{target.Overdraft}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				want := t.Books(ctx, b)
				apply(ctx, t, overdraft(t.Event(b, want.Remaining)))
				want.Spent, want.Remaining = want.Spent+want.Remaining, 0
				t.WantBooks(ctx, b, want)
				for _, debt := range []int64{b.OverdraftLimit - 40, 40} {
					wantCharged(t, apply(ctx, t, overdraft(t.Event(b, debt))), debt, false)
					want.Debt, want.Remaining = want.Debt+debt, want.Remaining-debt
					t.WantBooks(ctx, b, want)
				}
			},
		},
		{
			ID: "events.overdraft-beyond", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1645, 2986},
			Requirement: "Under ALLOW_WITH_OVERDRAFT an event that would take the debt beyond the overdraft limit is refused with 409 OVERDRAFT_LIMIT_EXCEEDED and charges nothing.",
			Needs:       []target.Kind{target.Overdraft}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				apply(ctx, t, t.Event(b, t.Books(ctx, b).Remaining))
				want := t.Books(ctx, b)
				t.WantError(t.Do(ctx, overdraft(t.Event(b, b.OverdraftLimit+1))), http.StatusConflict, "OVERDRAFT_LIMIT_EXCEEDED")
				t.WantBooks(ctx, b, want)
				apply(ctx, t, overdraft(t.Event(b, b.OverdraftLimit)))
				t.WantError(t.Do(ctx, overdraft(t.Event(b, 1))), http.StatusConflict, "OVERDRAFT_LIMIT_EXCEEDED")
				want.Debt, want.Remaining = want.Debt+b.OverdraftLimit, want.Remaining-b.OverdraftLimit
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.overdraft-covered", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1643},
			Requirement: "Under ALLOW_WITH_OVERDRAFT an event that the budget covers is spent and makes no debt.",
			Needs:       []target.Kind{target.Overdraft}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				want := t.Books(ctx, b)
				apply(ctx, t, overdraft(t.Event(b, 30)))
				want.Spent, want.Remaining = want.Spent+30, want.Remaining-30
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.no-overdraft", Level: suite.Must, Section: "Balance", Lines: []int{1277, 1318},
			Requirement: "A budget without overdraft limit never owes: under ALLOW_WITH_OVERDRAFT an event of more than remains is capped, or refused with 409 OVERDRAFT_LIMIT_EXCEEDED.",
			Needs:       []target.Kind{target.Ledger}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				want := t.Books(ctx, b)
				a := t.Do(ctx, overdraft(t.Event(b, want.Remaining+1)))
				if a.Status == http.StatusCreated {
					wantCharged(t, a, want.Remaining, false)
					want.Spent, want.Remaining, want.OverLimit = want.Spent+want.Remaining, 0, true
				} else {
					t.WantError(a, http.StatusConflict, "OVERDRAFT_LIMIT_EXCEEDED")
				}
				t.WantBooks(ctx, b, want)
			},
		},
		{
			ID: "events.overdraft-nested", Level: suite.Must, Section: "EventCreateRequest", Lines: []int{1645, 1662},
			Requirement: "Under ALLOW_WITH_OVERDRAFT an event takes the same from every budget on its way, within the overdraft limit of each, or nothing from any.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: eventOps(),
			Run: func(ctx context.Context, t *suite.T) {
				f := t.Fixture(target.NestedOverdraft)
				outer, inner := f.Budgets[0], f.Budgets[1]
				// The inner budget is empty and the outer one is not.
				apply(ctx, t, t.Event(inner, t.Books(ctx, inner).Remaining))
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				a := t.Do(ctx, overdraft(t.Event(inner, inner.OverdraftLimit+1)))
				// The outer budget has no overdraft and may cap what is asked of the
				// inner one; what then counts is that both are charged the same.
				if a.Status != http.StatusCreated {
					t.WantError(a, http.StatusConflict, "OVERDRAFT_LIMIT_EXCEEDED")
					t.WantBooks(ctx, outer, wantOuter)
					t.WantBooks(ctx, inner, wantInner)
					return
				}
				gotOuter, gotInner := t.Books(ctx, outer), t.Books(ctx, inner)
				taken, owed := wantOuter.Remaining-gotOuter.Remaining, wantInner.Remaining-gotInner.Remaining
				t.True(a, taken == owed && gotInner.Debt <= inner.OverdraftLimit, "the same amount charged to both, within the overdraft limit",
					"%d to the outer budget, %d to the inner one, debt %d", taken, owed, gotInner.Debt)
			},
		},
	}
}

func eventBudgets() []suite.Check {
	refusedUnchanged := func(name string, kind target.Kind, code string, line int) suite.Check {
		return suite.Check{
			ID: "events." + name, Level: suite.Must, Section: "DecisionReasonCode", Lines: []int{line}, Ops: eventOps(), Needs: []target.Kind{kind},
			Requirement: "A budget that was " + name + " is charged no event: the answer is 409 " + code + ".",
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(kind)
				before := t.Books(ctx, b)
				for _, policy := range []string{"REJECT", "ALLOW_IF_AVAILABLE", "ALLOW_WITH_OVERDRAFT"} {
					a := t.Do(ctx, t.Event(b, 1).With("overage_policy", policy))
					wantCode(t, a, code)
				}
				t.WantBooks(ctx, b, before)
			},
		}
	}
	return []suite.Check{
		refusedUnchanged("frozen", target.Frozen, "BUDGET_FROZEN", 860),
		refusedUnchanged("closed", target.ClosedBudget, "BUDGET_CLOSED", 862),
		{
			ID: "events.unit-mismatch", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{143, 147},
			Requirement: "An event in a unit that its scopes have no budget in, though they have one in another, is refused with 400 UNIT_MISMATCH.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: []suite.Op{suite.Event},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				t.WantError(t.Do(ctx, t.Event(b, 1).With("actual.unit", otherUnits(b)[0])), http.StatusBadRequest, "UNIT_MISMATCH")
				apply(ctx, t, t.Event(b, 1))
			},
		},
		{
			ID: "events.unit-mismatch-details", Level: suite.Should, Section: "ERROR SEMANTICS", Lines: []int{153},
			Requirement: "The refusal of a wrong unit says in details which scope it is about, which unit was asked for and which ones there are.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: []suite.Op{suite.Event},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				unit := otherUnits(b)[0]
				wantUnitDetails(t, t.Do(ctx, t.Event(b, 1).With("actual.unit", unit)), b, unit)
			},
		},
		{
			ID: "events.no-budget", Level: suite.Must, Section: eventSection, Lines: []int{158, 865, 2968},
			Requirement: "An event whose scopes have no budget in any unit is refused with 404 NOT_FOUND.",
			Needs:       []target.Kind{target.Unbudgeted, target.Funded}, Ops: []suite.Op{suite.Event},
			Run: func(ctx context.Context, t *suite.T) {
				apply(ctx, t, t.Event(t.Budget(target.Funded), 1))
				none := *t.Budget(target.Unbudgeted)
				none.Unit = cmp.Or(none.Unit, "USD_MICROCENTS")
				for _, policy := range []string{"REJECT", "ALLOW_IF_AVAILABLE", "ALLOW_WITH_OVERDRAFT"} {
					a := t.Do(ctx, t.Event(&none, 1).With("overage_policy", policy))
					t.WantError(a, http.StatusNotFound, "NOT_FOUND")
				}
			},
		},
	}
}
