package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// reserve is about creating reservations: what is allowed, what a reservation
// takes and from where. What stands in the way of one is in obstacles.go.
func reserve() []suite.Check {
	return slices.Concat(reserveAnswers(), reserveAmounts(), reserveScopes(), reserveCaps())
}

// createOnly and createAndBooks are what most checks of this area use.
func createOnly() []suite.Op     { return []suite.Op{suite.Create} }
func createAndBooks() []suite.Op { return []suite.Op{suite.Create, suite.Balances} }

// reserved sends a create that must be allowed.
func reserved(ctx context.Context, t *suite.T, r *suite.Request) *suite.Answer {
	a := t.Do(ctx, r)
	t.WantAllowed(a)
	t.WantString(a, "reservation_id")
	return a
}

func wantConflict(t *suite.T, a *suite.Answer, code string) {
	t.WantError(a, http.StatusConflict, code)
}

func reserveAnswers() []suite.Check {
	return []suite.Check{
		{
			ID: "reserve.answer", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{1331, 1353, 1355, 1938},
			Requirement: "A reservation that is allowed is answered with an id of its own, its amount and its expiry.",
			Needs:       []target.Kind{target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				first, second := reserved(ctx, t, t.Create(b, 5)), reserved(ctx, t, t.Create(b, 5))
				t.True(second, first.Str("reservation_id") != second.Str("reservation_id"),
					"an id of its own for each reservation", "%s twice", first.Str("reservation_id"))
				if first.Has("reserved") {
					t.Want(first, "reserved.amount", 5)
					t.Want(first, "reserved.unit", b.Unit)
				}
				if !first.Has("expires_at_ms") {
					t.WarnAt(first, "expires_at_ms is there", "it is absent")
				}
			},
		},
		{
			ID: "reserve.lease", Level: suite.Must, Section: "ReservationCreateRequest", Lines: []int{1198, 1202, 1938, 2563},
			Requirement: "A reservation is granted at most the ttl_ms that it asks for, or 60000 when it asks for none: a server may give less, and says so in expires_at_ms.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.Get},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				for _, ttl := range []int64{0, 1_000, 5_000, 30_000, 3_600_000} {
					r, most := t.Create(b, 1), int64(60_000)
					if ttl > 0 {
						r, most = r.With("ttl_ms", ttl), ttl
					}
					res := t.Made(b, reserved(ctx, t, r))
					a := t.Do(ctx, t.Get(res))
					t.Given(a, http.StatusOK)
					granted := t.WantInt(a, "expires_at_ms") - t.WantInt(a, "created_at_ms")
					// created_at_ms need not be the instant that the lease counts from.
					t.True(a, granted > 0 && granted <= most+lag.Milliseconds(), fmt.Sprintf("a lease of more than 0 and at most %d ms", most), "%d ms", granted)
					if res.Created.Has("expires_at_ms") {
						t.Want(res.Created, "expires_at_ms", t.WantInt(a, "expires_at_ms"))
					}
				}
			},
		},
		{
			ID: "reserve.never-denies", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{894, 1350},
			Requirement: "A live create is never answered with decision DENY: what is in its way is an error.",
			Ops:         createOnly(),
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if !isLive(a) || a.Decision() == "" {
					return false, nil
				}
				if a.Decision() == "DENY" {
					return true, []suite.Wrong{{Where: "createReservation decision", What: "is DENY on a live create"}}
				}
				return true, nil
			},
		},
	}
}

// isLive tells whether the answer is the success of a create that is no dry run.
func isLive(a *suite.Answer) bool {
	return a.Request.Op == suite.Create && a.Status == http.StatusOK && a.Request.RawBody == nil && a.Request.Body["dry_run"] != true
}

func reserveAmounts() []suite.Check {
	return []suite.Check{
		{
			ID: "reserve.insufficient", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{64, 1350},
			Requirement: "A reservation of more than remains is refused with 409 BUDGET_EXCEEDED; all that remains can be reserved, and then nothing more.",
			Needs:       []target.Kind{target.Ledger}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				wantConflict(t, t.Do(ctx, t.Create(b, b.Allocated+1)), "BUDGET_EXCEEDED")
				reserved(ctx, t, t.Create(b, b.Allocated))
				wantConflict(t, t.Do(ctx, t.Create(b, 1)), "BUDGET_EXCEEDED")
			},
		},
		{
			ID: "reserve.sum", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{64, 1298, 1302},
			Requirement: "What other reservations hold does not remain: several that each fit, but not together, are not all allowed.",
			Needs:       []target.Kind{target.Ledger}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				third := b.Allocated/3 + 1
				reserved(ctx, t, t.Create(b, third))
				reserved(ctx, t, t.Create(b, third))
				wantConflict(t, t.Do(ctx, t.Create(b, third)), "BUDGET_EXCEEDED")
				reserved(ctx, t, t.Create(b, b.Allocated-2*third))
			},
		},
		{
			ID: "reserve.policy-lends-nothing", Level: suite.Must, Section: "CommitOveragePolicy", Lines: []int{64, 1139},
			Requirement: "The overage policy is about commits. It neither lends a reservation what is not there nor cuts it down, whatever the overdraft limit.",
			Needs:       []target.Kind{target.Overdraft}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Overdraft)
				before := t.Books(ctx, b)
				for _, policy := range []string{"ALLOW_WITH_OVERDRAFT", "ALLOW_IF_AVAILABLE", "REJECT"} {
					a := t.Do(ctx, t.Create(b, before.Remaining+1).With("overage_policy", policy))
					wantConflict(t, a, "BUDGET_EXCEEDED")
				}
				t.WantBooks(ctx, b, before)
				reserved(ctx, t, t.Create(b, before.Remaining).With("overage_policy", "ALLOW_WITH_OVERDRAFT"))
			},
		},
		{
			ID: "reserve.other-unit-untouched", Level: suite.Must, Section: "NON-GOALS", Lines: []int{23, 1255},
			Requirement: "A reservation lives in one unit: the budget of another unit on the same scope is neither asked nor touched.",
			Needs:       []target.Kind{target.Twin}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				budgets := t.Fixture(target.Twin).Budgets
				one, other := budgets[0], budgets[1]
				wantOne, wantOther := t.Books(ctx, one), t.Books(ctx, other)
				reserved(ctx, t, t.Create(one, wantOne.Remaining))
				wantOne.Remaining, wantOne.Reserved = 0, wantOne.Reserved+wantOne.Remaining
				t.WantBooks(ctx, one, wantOne)
				t.WantBooks(ctx, other, wantOther)
				reserved(ctx, t, t.Create(other, wantOther.Remaining))
				t.WantBooks(ctx, one, wantOne)
			},
		},
	}
}

// reserveScopes is about budgets on several scopes of one subject.
func reserveScopes() []suite.Check {
	ends := func(t *suite.T, kind target.Kind) (outer, inner *target.Budget) {
		budgets := t.Fixture(kind).Budgets
		return budgets[0], budgets[1]
	}
	// short wants a reservation on inner that one of the two cannot cover to hold
	// nothing in either, and one that both can to hold in both.
	short := func(ctx context.Context, t *suite.T, kind target.Kind) {
		outer, inner := ends(t, kind)
		wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
		most := min(wantOuter.Remaining, wantInner.Remaining)
		wantConflict(t, t.Do(ctx, t.Create(inner, most+1)), "BUDGET_EXCEEDED")
		t.WantBooks(ctx, outer, wantOuter)
		t.WantBooks(ctx, inner, wantInner)
		reserved(ctx, t, t.Create(inner, most))
		wantOuter.Remaining, wantOuter.Reserved = wantOuter.Remaining-most, wantOuter.Reserved+most
		wantInner.Remaining, wantInner.Reserved = wantInner.Remaining-most, wantInner.Reserved+most
		t.WantBooks(ctx, outer, wantOuter)
		t.WantBooks(ctx, inner, wantInner)
	}
	return []suite.Check{
		{
			ID: "reserve.short-outside", Level: suite.Must, Section: "CORE INVARIANTS", Lines: []int{59, 1938},
			Requirement: "A reservation holds its amount on every budget of its scopes, or on none: when an outer one is short, the inner one stays as it was.",
			Needs:       []target.Kind{target.Nested}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) { short(ctx, t, target.Nested) },
		},
		{
			ID: "reserve.short-inside", Level: suite.Must, Section: "CORE INVARIANTS", Lines: []int{59, 1938},
			Requirement: "A reservation holds its amount on every budget of its scopes, or on none: when an inner one is short, the outer one stays as it was.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) { short(ctx, t, target.NestedOverdraft) },
		},
		{
			ID: "reserve.inner-not-asked", Level: suite.Must, Section: "SCOPE DERIVATION", Lines: []int{196, 198},
			Requirement: "A reservation on an outer scope has nothing to do with the budgets below it.",
			Needs:       []target.Kind{target.Nested}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				outer, inner := ends(t, target.Nested)
				wantOuter, wantInner := t.Books(ctx, outer), t.Books(ctx, inner)
				reserved(ctx, t, t.Create(outer, 7))
				wantOuter.Remaining, wantOuter.Reserved = wantOuter.Remaining-7, wantOuter.Reserved+7
				t.WantBooks(ctx, outer, wantOuter)
				t.WantBooks(ctx, inner, wantInner)
			},
		},
	}
}

func reserveCaps() []suite.Check {
	return []suite.Check{
		{
			ID: "reserve.caps", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{1353, 1392},
			Requirement: "A reservation that is allowed with caps carries them, and is a reservation like any other.",
			Needs:       []target.Kind{target.Capped}, Ops: []suite.Op{suite.Create, suite.Commit},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Capped)
				a := reserved(ctx, t, t.Create(b, 2))
				wantCaps(t, a)
				t.WantStatus(t.Do(ctx, t.Commit(t.Made(b, a), 1)), http.StatusOK)
			},
		},
		{
			ID: "reserve.caps-with-caps-only", Level: suite.Must, Section: "ReservationCreateResponse", Lines: []int{1117, 1392, 1947},
			Requirement: "caps are there when the decision is ALLOW_WITH_CAPS, and only then.",
			Ops:         createOnly(),
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Decision() == "" || a.Status != http.StatusOK {
					return false, nil
				}
				caps, _ := a.Get("caps")
				where := string(a.Request.Op) + " caps"
				switch withCaps := a.Decision() == "ALLOW_WITH_CAPS"; {
				case withCaps && caps == nil:
					return true, []suite.Wrong{{Where: where, What: "is missing though the decision is ALLOW_WITH_CAPS"}}
				case !withCaps && caps != nil:
					return true, []suite.Wrong{{Where: where, What: "is there though the decision is not ALLOW_WITH_CAPS"}}
				}
				return true, nil
			},
		},
	}
}

// wantCaps wants the decision to come with caps that say something.
func wantCaps(t *suite.T, a *suite.Answer) {
	t.WantStatus(a, http.StatusOK)
	t.Want(a, "decision", "ALLOW_WITH_CAPS")
	v, _ := a.Get("caps")
	caps, _ := v.(map[string]any)
	t.True(a, len(caps) > 0, "caps with at least one member", "caps is %v", v)
}
