package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// decide is about the preflight.
func decide() []suite.Check {
	var all []suite.Check
	ask := preflight{
		area: "decide", section: "decide", ops: []suite.Op{suite.Decide},
		request: func(t *suite.T, b *target.Budget, amount int64) *suite.Request { return t.Decide(b, amount) },
		denied:  func(*suite.T, *suite.Answer) {},
	}
	for _, o := range obstructions() {
		if o.softOnDecide {
			all = append(all, ask.noConflict(o))
		}
		all = append(all, ask.denies(o), ask.reason(o))
	}
	return slices.Concat(all, decideChecks(), ask.unitMismatch(148))
}

// obstruction is something that a live reservation would be refused for, and
// that a preflight says DENY to.
type obstruction struct {
	name   string
	reason string
	kind   target.Kind
	lines  []int
	// amount is what to ask for, from the budget's allocation.
	amount func(b *target.Budget) int64
	// softOnDecide: the text only recommends DENY here for decide, and forbids 409.
	softOnDecide bool
}

func obstructions() []obstruction {
	one := func(*target.Budget) int64 { return 1 }
	return []obstruction{
		{name: "insufficient", reason: "BUDGET_EXCEEDED", kind: target.Ledger, lines: []int{145, 858, 1112},
			amount: func(b *target.Budget) int64 { return b.Allocated + 1 }},
		{name: "insufficient-outside", reason: "BUDGET_EXCEEDED", kind: target.Nested, lines: []int{858},
			amount: func(b *target.Budget) int64 { return b.Allocated }},
		{name: "frozen", reason: "BUDGET_FROZEN", kind: target.Frozen, lines: []int{860}, amount: one},
		{name: "closed-budget", reason: "BUDGET_CLOSED", kind: target.ClosedBudget, lines: []int{862}, amount: one},
		{name: "no-budget", reason: "BUDGET_NOT_FOUND", kind: target.Unbudgeted, lines: []int{864}, amount: one},
		{name: "debt", reason: "DEBT_OUTSTANDING", kind: target.Indebted, lines: []int{870, 1890}, amount: one, softOnDecide: true},
		{name: "over-limit", reason: "OVERDRAFT_LIMIT_EXCEEDED", kind: target.OverLimit, lines: []int{867, 1890}, amount: one, softOnDecide: true},
	}
}

// preflight is an operation that evaluates and does not reserve.
type preflight struct {
	area, section string
	ops           []suite.Op
	request       func(t *suite.T, b *target.Budget, amount int64) *suite.Request
	// denied wants more of a DENY.
	denied func(*suite.T, *suite.Answer)
}

// needs has a funded budget too, which shows that not everything is denied.
func (o obstruction) needs() []target.Kind { return []target.Kind{o.kind, target.Funded} }

// meet asks for what is obstructed.
func (p preflight) meet(ctx context.Context, t *suite.T, o obstruction) *suite.Answer {
	t.WantAllowed(t.Do(ctx, p.request(t, t.Budget(target.Funded), 1)))
	budgets := t.Fixture(o.kind).Budgets
	b := *budgets[len(budgets)-1] // the innermost
	if b.Unit == "" {
		b.Unit = t.Budget(target.Funded).Unit
	}
	return t.Do(ctx, p.request(t, &b, o.amount(&b)))
}

func (p preflight) denies(o obstruction) suite.Check {
	level := suite.Must
	if o.softOnDecide && p.area == "decide" {
		level = suite.Should
	}
	return suite.Check{
		ID: p.area + "." + o.name, Level: level, Section: p.section, Lines: o.lines,
		Requirement: "Where a live reservation would be refused with " + o.reason + ", the evaluation is a 200 with decision DENY.",
		Needs:       o.needs(), Ops: p.ops,
		Run: func(ctx context.Context, t *suite.T) {
			a := p.meet(ctx, t, o)
			t.WantStatus(a, http.StatusOK)
			t.Want(a, "decision", "DENY")
			p.denied(t, a)
		},
	}
}

func (p preflight) reason(o obstruction) suite.Check {
	lines := append([]int{840}, o.lines...)
	if p.area == "dryrun" {
		lines = append(lines, 1948)
	}
	return suite.Check{
		ID: p.area + "." + o.name + "-reason", Level: suite.Should, Section: "DecisionReasonCode", Lines: lines,
		Requirement: "The DENY says why: reason_code " + o.reason + ".",
		Needs:       o.needs(), Ops: p.ops,
		Run: func(ctx context.Context, t *suite.T) { t.WantDenied(p.meet(ctx, t, o), o.reason) },
	}
}

func (p preflight) noConflict(o obstruction) suite.Check {
	return suite.Check{
		ID: p.area + "." + o.name + "-no-conflict", Level: suite.Must, Section: p.section, Lines: []int{145, 1892},
		Requirement: "A state of the budget is a decision and no error: decide is not answered 409 where a live reservation would be refused with " + o.reason + ".",
		Needs:       o.needs(), Ops: p.ops,
		Run: func(ctx context.Context, t *suite.T) {
			a := p.meet(ctx, t, o)
			t.WantStatus(a, http.StatusOK)
			t.WantString(a, "decision")
		},
	}
}

// unitMismatch are the checks for the one condition that is an error here too.
func (p preflight) unitMismatch(line int) []suite.Check {
	return []suite.Check{
		{
			ID: p.area + ".unit-mismatch", Level: suite.Must, Section: "ERROR SEMANTICS", Lines: []int{143, line},
			Requirement: "A unit that no scope has a budget in, while one has a budget in another, is refused with 400 UNIT_MISMATCH and is no decision.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: p.ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				for _, unit := range otherUnits(b) {
					a := t.Do(ctx, p.request(t, b, 1).With("estimate.unit", unit))
					t.WantError(a, http.StatusBadRequest, "UNIT_MISMATCH")
				}
				t.WantAllowed(t.Do(ctx, p.request(t, b, 1)))
			},
		},
		{
			ID: p.area + ".unit-mismatch-details", Level: suite.Should, Section: "ERROR SEMANTICS", Lines: []int{153, 155, 156, 157},
			Requirement: "The refusal of a wrong unit says in details which scope it is about, which unit was asked for and which ones there are.",
			Needs:       []target.Kind{target.SoleUnit}, Ops: p.ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.SoleUnit)
				unit := otherUnits(b)[0]
				wantUnitDetails(t, t.Do(ctx, p.request(t, b, 1).With("estimate.unit", unit)), b, unit)
			},
		},
	}
}

func decideChecks() []suite.Check {
	ops := []suite.Op{suite.Decide}
	return []suite.Check{
		{
			ID: "decide.changes-nothing", Level: suite.Must, Section: "decide", Lines: []int{1114, 1880},
			Requirement: "A decision reserves nothing: all that remains is allowed time and again, and can be reserved afterwards.",
			Needs:       []target.Kind{target.Ledger}, Ops: append(createAndBooks(), ops...),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				before := t.Books(ctx, b)
				for range 3 {
					t.WantAllowed(t.Do(ctx, t.Decide(b, before.Remaining)))
				}
				t.WantBooks(ctx, b, before)
				reserved(ctx, t, t.Create(b, before.Remaining))
			},
		},
		{
			ID: "decide.what-is-held", Level: suite.Must, Section: "decide", Lines: []int{858, 1111},
			Requirement: "A decision goes by what remains: what reservations hold is denied, and allowed again when they are released.",
			Needs:       []target.Kind{target.Ledger}, Ops: append(createOnly(), ops...),
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Ledger)
				res := t.Reserve(ctx, b, 1)
				a := t.Do(ctx, t.Decide(b, b.Allocated))
				t.WantStatus(a, http.StatusOK)
				t.Want(a, "decision", "DENY")
				t.WantAllowed(t.Do(ctx, t.Decide(b, b.Allocated-1)))
				t.Given(t.Do(ctx, t.Release(res)), http.StatusOK)
				t.WantAllowed(t.Do(ctx, t.Decide(b, b.Allocated)))
			},
		},
		{
			ID: "decide.caps", Level: suite.Must, Section: "DecisionResponse", Lines: []int{1111, 1117},
			Requirement: "A decision that is allowed with caps carries them.",
			Needs:       []target.Kind{target.Capped}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				wantCaps(t, t.Do(ctx, t.Decide(t.Budget(target.Capped), 1)))
			},
		},
		{
			ID: "decide.over-limit-inside", Level: suite.Should, Section: "decide", Lines: []int{1890, 1959},
			Requirement: "A decision names the scope that is over its limit, also when a scope above it has too little left: DENY with OVERDRAFT_LIMIT_EXCEEDED.",
			Needs:       []target.Kind{target.NestedOverdraft}, Ops: []suite.Op{suite.Create, suite.Commit, suite.Balances, suite.Decide},
			Run: func(ctx context.Context, t *suite.T) {
				outer, inner := overLimitInside(ctx, t)
				t.WantDenied(t.Do(ctx, t.Decide(inner, outer.Remaining+1)), "OVERDRAFT_LIMIT_EXCEEDED")
			},
		},
		{
			ID: "decide.scopes", Level: suite.Must, Section: "SCOPE DERIVATION", Lines: []int{196, 200, 1127},
			Requirement: "The scopes that a decision lists are those of its subject, from the outermost inwards.",
			Needs:       []target.Kind{target.Funded}, Ops: ops,
			Run: func(ctx context.Context, t *suite.T) {
				b := t.Budget(target.Funded)
				subject := below(t, b)
				a := t.Do(ctx, t.Decide(b, 1).With("subject", subject))
				t.WantAllowed(a)
				if a.Has("affected_scopes") {
					wantScopes(t, a, b, subject)
				}
			},
		},
		{
			ID: "decide.reason-on-deny-only", Level: suite.Must, Section: "DecisionReasonCode", Lines: []int{841, 889},
			Requirement: "A reason_code belongs to a DENY; what is allowed has none, and neither has an error.",
			Ops:         createOnly(),
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				reason, _ := a.Get("reason_code")
				if a.Request.Op != suite.Decide && a.Request.Op != suite.Create || reason == nil && a.Decision() == "" {
					return false, nil
				}
				if reason != nil && a.Decision() != "DENY" {
					return true, []suite.Wrong{{Where: string(a.Request.Op) + " reason_code", What: "is there though the answer is no DENY"}}
				}
				return true, nil
			},
		},
	}
}
