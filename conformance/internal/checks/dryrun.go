package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// dryRun is about creates that only look. It is area dryrun.
func dryRun() []suite.Check {
	var all []suite.Check
	ask := preflight{
		area: "dryrun", section: "createReservation", ops: createOnly(),
		request: shadow,
		denied:  wantShadow,
	}
	for _, o := range obstructions() {
		all = append(all, ask.denies(o), ask.reason(o))
	}
	return slices.Concat(all, dryRunChecks(), ask.unitMismatch(144))
}

// shadow is a create that is a dry run.
func shadow(t *suite.T, b *target.Budget, amount int64) *suite.Request {
	return t.Create(b, amount).With("dry_run", true)
}

// wantShadow wants what every answer of a dry run has and has not.
func wantShadow(t *suite.T, a *suite.Answer) {
	t.WantAbsent(a, "reservation_id")
	t.WantAbsent(a, "expires_at_ms")
	t.WantAbsent(a, "remaining_ttl_ms")
	t.True(a, len(a.Items("affected_scopes")) > 0, "affected_scopes is populated", "it is empty or absent")
}

func dryRunChecks() []suite.Check {
	return []suite.Check{
		{
			ID: "dryrun.allowed", Level: suite.Must, Section: "createReservation", Lines: []int{1228, 1353, 1369, 1945, 1946},
			Requirement: "A dry run that would be allowed says so and lists its scopes, without an id, an expiry or a time left.",
			Needs:       []target.Kind{target.Funded}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				subject := below(t, b)
				a := t.Do(ctx, shadow(t, b, 1).With("subject", subject))
				t.WantAllowed(a)
				wantShadow(t, a)
				wantScopes(t, a, b, subject)
			},
		},
		{
			ID: "dryrun.changes-nothing", Level: suite.Must, Section: "createReservation", Lines: []int{1229, 1941, 1942, 1956},
			Requirement: "A dry run moves nothing: all that remains is allowed time and again, the books stay as they are, and the balances it shows are those before or those a reservation would leave.",
			Needs:       []target.Kind{target.Ledger}, Ops: createAndBooks(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				before := t.Books(ctx, b)
				for range 3 {
					a := t.Do(ctx, shadow(t, b, before.Remaining))
					t.WantAllowed(a)
					if shown, ok := suite.BooksIn(a, b); ok {
						t.True(a, shown.Remaining == before.Remaining || shown.Remaining == 0,
							"balances as they are, or as a reservation would leave them", "%s", shown)
					}
				}
				t.WantBooks(ctx, b, before)
				reserved(ctx, t, t.Create(b, before.Remaining))
			},
		},
		{
			ID: "dryrun.holds-nothing", Level: suite.Must, Section: "createReservation", Lines: []int{1229, 1942},
			Requirement: "After a dry run of all that remains, all that remains can be reserved.",
			Needs:       []target.Kind{target.Ledger}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				t.WantAllowed(t.Do(ctx, shadow(t, b, b.Allocated)))
				reserved(ctx, t, t.Create(b, b.Allocated))
				a := t.Do(ctx, shadow(t, b, 1))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "decision", "DENY")
			},
		},
		{
			ID: "dryrun.not-listed", Level: suite.Must, Section: "createReservation", Lines: []int{1229, 1942},
			Requirement: "A dry run leaves no reservation behind: none is listed under its key.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create, suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				// A server need not filter by key, so the subject tells whose it is.
				under := func(r *suite.Request) int {
					l := walkReservations(ctx, t, t.List(b.Tenant).WithQuery("idempotency_key", r.Key()))
					return len(slices.DeleteFunc(l.rows, func(row row) bool { return !equal(row["subject"], r.Body["subject"]) }))
				}
				r := shadow(t, b, 1)
				t.WantAllowed(t.Do(ctx, r))
				n := under(r)
				t.True(nil, n == 0, "no reservation under the key of a dry run", "%d", n)
				live := t.Create(b, 1)
				reserved(ctx, t, live)
				t.Ground(under(live) == 1, "a listing that finds a live reservation by its key")
			},
		},
		{
			ID: "dryrun.caps", Level: suite.Must, Section: "createReservation", Lines: []int{1228, 1947},
			Requirement: "A dry run that would be allowed with caps carries them.",
			Needs:       []target.Kind{target.Capped}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				a := t.Do(ctx, shadow(t, t.Budget(target.Capped), 1))
				wantCaps(t, a)
				wantShadow(t, a)
			},
		},
		{
			ID: "dryrun.over-limit-inside", Level: suite.Must, Section: "createReservation", Lines: []int{1941, 1959},
			Requirement: "A dry run is denied where a live reservation would be refused because an inner scope is over its limit.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances},
			Run: func(ctx context.Context, t *suite.T) {
				_, inner := overLimitInside(ctx, t)
				a := t.Do(ctx, shadow(t, inner, 0))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "decision", "DENY")
				if a.Has("reason_code") {
					t.Want(a, "reason_code", "OVERDRAFT_LIMIT_EXCEEDED")
				}
				wantShadow(t, a)
			},
		},
		{
			ID: "dryrun.as-live", Level: suite.Must, Section: "createReservation", Lines: []int{1228, 1941},
			Requirement: "A dry run and the live create of the same request agree: what the one allows the other reserves, and what the one denies the other refuses.",
			Needs:       []target.Kind{target.Ledger}, Ops: createOnly(),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				half := b.Allocated / 2
				for _, amount := range []int64{half, b.Allocated, b.Allocated - half, 0, 1} {
					said, did := t.Do(ctx, shadow(t, b, amount)), t.Do(ctx, t.Create(b, amount))
					t.WantStatus(said, http.StatusOK)
					if did.Status == http.StatusOK {
						t.WantAllowed(said)
					} else {
						wantConflict(t, did, "BUDGET_EXCEEDED")
						t.Want(said, "decision", "DENY")
					}
				}
			},
		},
	}
}
