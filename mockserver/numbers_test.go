package mockserver_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// The worked numbers: one budget (or a parent and a child) with an allocation
// and an overdraft limit, what is done, and what it leaves.

const (
	ifAvailable = `"overage_policy":"ALLOW_IF_AVAILABLE"`
	overdraft   = `"overage_policy":"ALLOW_WITH_OVERDRAFT"`
	reject      = `"overage_policy":"REJECT"`

	parentScope = "tenant:acme"
	childScope  = "tenant:acme/workspace:w"
	inChild     = `{"tenant":"acme","workspace":"w"}`
)

// left is what a budget is expected to hold.
type left struct {
	remaining, spent, debt int64
	over                   bool
}

func (w *world) leaves(scope string, want left) {
	w.t.Helper()
	b := w.balance(scope)
	assert.Equal(w.t, want, left{b.Remaining, b.Spent, b.Debt, b.OverLimit}, scope)
}

func one(t *testing.T, allocated, limit int64) *world {
	return acme(t, mockserver.Budget{Scope: parentScope, Allocated: allocated, OverdraftLimit: limit})
}

func two(t *testing.T, parent, parentLimit, child, childLimit int64) *world {
	return acme(t,
		mockserver.Budget{Scope: parentScope, Allocated: parent, OverdraftLimit: parentLimit},
		mockserver.Budget{Scope: childScope, Allocated: child, OverdraftLimit: childLimit})
}

func (w *world) heldInChild(key string, amount int64, extra ...string) string {
	w.t.Helper()
	return w.call("POST", "/v1/reservations", spendBody(key, "estimate", inChild, amount, extra...)).ok().str("reservation_id")
}

func (w *world) event(key string, amount int64, extra ...string) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/events", spendBody(key, "actual", `{"tenant":"acme"}`, amount, extra...))
}

func (w *world) eventInChild(key string, amount int64, extra ...string) *reply {
	w.t.Helper()
	return w.call("POST", "/v1/events", spendBody(key, "actual", inChild, amount, extra...))
}

func (r *reply) created() *reply {
	r.t.Helper()
	assert.Equal(r.t, 201, r.status, r.raw)
	return r
}

func TestNumbersCommitBelowTheEstimate(t *testing.T) {
	w := one(t, 1000, 0)
	r := w.commit(w.held("k", 300), "c", 200).ok()
	assert.EqualValues(t, 200, r.int("charged.amount"))
	assert.EqualValues(t, 100, r.int("released.amount"))
	w.leaves(parentScope, left{remaining: 800, spent: 200})
}

func TestNumbersCommitOfExactlyTheEstimateReleasesNothing(t *testing.T) {
	w := one(t, 1000, 0)
	r := w.commit(w.held("k", 300), "c", 300).ok()
	assert.EqualValues(t, 300, r.int("charged.amount"))
	assert.Nil(t, r.at("released"))
}

func TestNumbersCommitAboveTheEstimateThatIsAvailable(t *testing.T) {
	w := one(t, 1000, 0)
	r := w.commit(w.held("k", 300, ifAvailable), "c", 500).ok()
	assert.EqualValues(t, 500, r.int("charged.amount"))
	w.leaves(parentScope, left{remaining: 500, spent: 500})
}

func TestNumbersCommitIsCappedToWhatIsLeft(t *testing.T) {
	w := one(t, 1000, 0)
	r := w.commit(w.held("k", 300, ifAvailable), "c", 1500).ok()
	assert.EqualValues(t, 1000, r.int("charged.amount"))
	w.leaves(parentScope, left{spent: 1000, over: true})
	w.reserve("even 0", 0).fails(409, gen.ErrorCodeOverdraftLimitExceeded)
	e := w.event("e", 10, ifAvailable).created()
	assert.EqualValues(t, 0, e.int("charged.amount"))
}

func TestNumbersAChargeOfExactlyWhatIsLeftIsNotOverTheLimit(t *testing.T) {
	for _, policy := range []string{ifAvailable, overdraft} {
		w := one(t, 100, 0)
		w.commit(w.held("k", 50, policy), "c", 70).ok()
		w.event("e", 30, policy).created()
		w.leaves(parentScope, left{spent: 100})
	}
}

func TestNumbersOnlyTheScopeThatCouldNotCoverIsOverItsLimit(t *testing.T) {
	for _, policy := range []string{ifAvailable, overdraft} {
		w := two(t, 150, 0, 1000, 0)
		r := w.commit(w.heldInChild("k", 100, policy), "c", 200).ok()
		assert.EqualValues(t, 150, r.int("charged.amount"))
		w.leaves(parentScope, left{spent: 150, over: true})
		w.leaves(childScope, left{remaining: 850, spent: 150})
	}
}

func TestNumbersOverdraftMakesDebt(t *testing.T) {
	w := one(t, 100, 100)
	r := w.commit(w.held("k", 50, overdraft), "c", 150).ok()
	assert.EqualValues(t, 150, r.int("charged.amount"))
	w.leaves(parentScope, left{remaining: -50, spent: 100, debt: 50})
	w.reserve("even 0", 0).fails(409, gen.ErrorCodeBudgetExceeded)
}

func TestNumbersDebtMayReachTheLimitAndNotPassIt(t *testing.T) {
	w := one(t, 100, 100)
	w.commit(w.held("k", 100, overdraft), "c", 200).ok()
	w.leaves(parentScope, left{remaining: -100, spent: 100, debt: 100})

	w = one(t, 100, 100)
	id := w.held("k", 100, overdraft)
	w.commit(id, "c", 201).fails(409, gen.ErrorCodeOverdraftLimitExceeded)
	w.leaves(parentScope, left{})
	w.commit(id, "c", 200).ok()
	w.leaves(parentScope, left{remaining: -100, spent: 100, debt: 100})
}

func TestNumbersOnlyTheDeficitCountsAgainstTheLimit(t *testing.T) {
	w := one(t, 100, 60)
	w.commit(w.held("k", 50, overdraft), "c", 150).ok()
	w.leaves(parentScope, left{remaining: -50, spent: 100, debt: 50})
}

func TestNumbersOverdraftWithoutALimitIsCapped(t *testing.T) {
	w := one(t, 100, 0)
	r := w.commit(w.held("k", 50, overdraft), "c", 150).ok()
	assert.EqualValues(t, 100, r.int("charged.amount"))
	w.leaves(parentScope, left{spent: 100, over: true})
}

func TestNumbersACappedParentCapsWhatTheChildOwes(t *testing.T) {
	w := two(t, 150, 0, 100, 100)
	r := w.commit(w.heldInChild("k", 100, overdraft), "c", 180).ok()
	assert.EqualValues(t, 150, r.int("charged.amount"))
	w.leaves(parentScope, left{spent: 150, over: true})
	w.leaves(childScope, left{remaining: -50, spent: 100, debt: 50})
}

func TestNumbersTwoCommitsAccumulateDebt(t *testing.T) {
	w := one(t, 100, 100)
	a, b := w.held("a", 50, overdraft), w.held("b", 50, overdraft)
	w.commit(a, "c", 80).ok()
	w.leaves(parentScope, left{remaining: -30, spent: 50, debt: 30})
	w.commit(b, "c", 90).ok()
	w.leaves(parentScope, left{remaining: -70, spent: 100, debt: 70})
}

func TestNumbersReturnedBudgetDoesNotRepayDebt(t *testing.T) {
	w := one(t, 100, 100)
	a, b := w.held("a", 50, overdraft), w.held("b", 50, overdraft)
	w.commit(a, "c", 80).ok()
	w.commit(b, "c", 10).ok()
	w.leaves(parentScope, left{remaining: 10, spent: 60, debt: 30})
	w.reserve("allowed, because the limit is above 0", 10).ok()
}

func TestNumbersRejectLeavesTheReservationCommittable(t *testing.T) {
	w := one(t, 1000, 0)
	id := w.held("k", 100, reject)
	w.commit(id, "c", 101).fails(409, gen.ErrorCodeBudgetExceeded)
	w.leaves(parentScope, left{remaining: 900})
	w.commit(id, "c", 100).ok()
}

func TestNumbersEventWithOverdraft(t *testing.T) {
	w := one(t, 100, 100)
	e := w.event("e1", 150, overdraft).created()
	assert.Nil(t, e.at("charged"))
	w.leaves(parentScope, left{remaining: -50, spent: 100, debt: 50})
	w.event("e2", 51, overdraft).fails(409, gen.ErrorCodeOverdraftLimitExceeded)
	w.event("e3", 50, overdraft).created()
	w.leaves(parentScope, left{remaining: -100, spent: 100, debt: 100})
}

func TestNumbersEventIsCapped(t *testing.T) {
	w := one(t, 100, 0)
	assert.EqualValues(t, 100, w.event("e", 250, ifAvailable).created().int("charged.amount"))
	w.leaves(parentScope, left{spent: 100, over: true})
}

func TestNumbersEventCappedByOneScope(t *testing.T) {
	w := two(t, 120, 0, 100, 200)
	assert.EqualValues(t, 100, w.eventInChild("e", 110, ifAvailable).created().int("charged.amount"))
	w.leaves(parentScope, left{remaining: 20, spent: 100})
	w.leaves(childScope, left{spent: 100, over: true})
}

func TestNumbersEventWithOverdraftInOneScope(t *testing.T) {
	w := two(t, 120, 0, 100, 200)
	assert.EqualValues(t, 120, w.eventInChild("e", 150, overdraft).created().int("charged.amount"))
	w.leaves(parentScope, left{spent: 120, over: true})
	w.leaves(childScope, left{remaining: -20, spent: 100, debt: 20})
}

func TestNumbersTheLargestAmountIsExact(t *testing.T) {
	w := one(t, math.MaxInt64, 0)
	w.commit(w.held("k", math.MaxInt64), "c", math.MaxInt64).ok()
	w.leaves(parentScope, left{spent: math.MaxInt64})
}

func TestNumbersAFrozenBudgetLetsGoOfWhatItHolds(t *testing.T) {
	w := one(t, 1000, 0)
	a, b, c := w.held("a", 10), w.held("b", 10), w.held("c", 10)
	assert.NoError(t, w.SetBudgetStatus(parentScope, usd, mockserver.BudgetFrozen))
	w.commit(a, "c", 5).ok()
	w.release(b, "r").ok()
	w.extend(c, "x", 1000).ok()
	w.reserve("new", 1).fails(409, gen.ErrorCodeBudgetFrozen)
	w.event("new", 1).fails(409, gen.ErrorCodeBudgetFrozen)
}

func TestAChargeThatWouldOverflowIsRefusedAndChangesNothing(t *testing.T) {
	// Debt up to the largest amount, on a balance that is far below 0 already.
	w := acme(t,
		mockserver.Budget{Scope: parentScope, Allocated: 100, OverdraftLimit: 100},
		mockserver.Budget{Scope: childScope, Spent: math.MaxInt64, OverdraftLimit: math.MaxInt64})
	before, parent := w.balance(childScope), w.balance(parentScope)
	w.eventInChild("e", 100, overdraft).fails(409, gen.ErrorCodeOverdraftLimitExceeded)
	assert.Equal(t, before, w.balance(childScope))
	assert.Equal(t, parent, w.balance(parentScope))
}

func TestReserveTakesFromEveryScopeOrNone(t *testing.T) {
	w := two(t, 1000, 0, 50, 0)
	w.call("POST", "/v1/reservations", spendBody("k", "estimate", inChild, 51)).fails(409, gen.ErrorCodeBudgetExceeded)
	w.leaves(parentScope, left{remaining: 1000})
	r := w.call("POST", "/v1/reservations", spendBody("k", "estimate", inChild, 50)).ok()
	assert.Equal(t, []any{parentScope, childScope}, r.at("affected_scopes"))
	assert.Equal(t, childScope, r.str("scope_path"))
	assert.Equal(t, "workspace:w", r.str("balances.1.scope"))
	assert.Equal(t, childScope, r.str("balances.1.scope_path"))
	assert.EqualValues(t, 0, r.int("balances.1.remaining.amount"))
}

func TestABudgetMadeAfterTheReserveIsNoPartOfIt(t *testing.T) {
	w := one(t, 1000, 0)
	id := w.heldInChild("k", 100)
	assert.NoError(t, w.AddBudget(mockserver.Budget{Scope: childScope, Allocated: 500}))
	r := w.commit(id, "c", 80).ok()
	assert.Nil(t, r.at("balances.1"))
	w.leaves(childScope, left{remaining: 500})
	w.leaves(parentScope, left{remaining: 920, spent: 80})
}

func TestExpiryReturnsTheHoldAndKeepsDebtAndOverLimit(t *testing.T) {
	w := one(t, 100, 100)
	a := w.held("a", 50, overdraft)
	w.held("b", 50)
	w.commit(a, "c", 80).ok()
	w.Advance(2 * time.Minute)
	w.leaves(parentScope, left{remaining: 20, spent: 50, debt: 30})
}

func TestReserveOverDebt(t *testing.T) {
	for name, c := range map[string]struct {
		budget mockserver.Budget
		code   gen.ErrorCode // "" admits
	}{
		"debt without a limit":          {mockserver.Budget{Allocated: 100, Debt: 10}, gen.ErrorCodeDebtOutstanding},
		"debt within the limit":         {mockserver.Budget{Allocated: 100, Debt: 10, OverdraftLimit: 10}, ""},
		"debt above the limit":          {mockserver.Budget{Allocated: 100, Debt: 11, OverdraftLimit: 10}, gen.ErrorCodeOverdraftLimitExceeded},
		"over the limit without debt":   {mockserver.Budget{Allocated: 100, OverLimit: true}, gen.ErrorCodeOverdraftLimitExceeded},
		"frozen and over the limit":     {mockserver.Budget{Allocated: 100, OverLimit: true, Status: mockserver.BudgetFrozen}, gen.ErrorCodeOverdraftLimitExceeded},
		"frozen, in debt":               {mockserver.Budget{Debt: 10, Status: mockserver.BudgetFrozen}, gen.ErrorCodeBudgetFrozen},
		"closed, in debt":               {mockserver.Budget{Debt: 10, Status: mockserver.BudgetClosed}, gen.ErrorCodeBudgetClosed},
		"debt and nothing that is left": {mockserver.Budget{Debt: 10}, gen.ErrorCodeDebtOutstanding},
		"nothing left":                  {mockserver.Budget{}, gen.ErrorCodeBudgetExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c.budget.Scope = parentScope
			w := acme(t, c.budget)
			dry := w.reserve("dry", 1, `"dry_run":true`).ok()
			dec := w.call("POST", "/v1/decide", reserveBody("d", 1)).ok()
			if c.code == "" {
				w.reserve("k", 1).ok()
				assert.Equal(t, "ALLOW", dry.str("decision"))
				assert.Equal(t, "ALLOW", dec.str("decision"))
				return
			}
			w.reserve("k", 1).fails(409, c.code)
			for _, r := range []*reply{dry, dec} {
				assert.Equal(t, "DENY", r.str("decision"))
				assert.Equal(t, string(c.code), r.str("reason_code"))
			}
		})
	}
}

func TestAChildOverItsLimitComesBeforeWhateverIsWrongWithTheParent(t *testing.T) {
	for i, parent := range []mockserver.Budget{
		{Status: mockserver.BudgetFrozen}, {Status: mockserver.BudgetClosed}, {Debt: 10}, {},
	} {
		parent.Scope = parentScope
		w := acme(t, parent, mockserver.Budget{Scope: childScope, Allocated: 100, OverLimit: true})
		body := spendBody(fmt.Sprint("k", i), "estimate", inChild, 1)
		w.call("POST", "/v1/reservations", body).fails(409, gen.ErrorCodeOverdraftLimitExceeded)
	}
}

func TestEventIsNotStoppedByDebtOrOverLimit(t *testing.T) {
	w := acme(t, mockserver.Budget{Scope: parentScope, Allocated: 100, Debt: 10, OverLimit: true})
	w.event("e", 5).created()
	w.event("rejected", 100, reject).fails(409, gen.ErrorCodeBudgetExceeded)
	w.leaves(parentScope, left{remaining: 85, spent: 5, debt: 10, over: true})
}

func TestACommitOfNothingOverDebtDoesNotMarkTheScope(t *testing.T) {
	w := one(t, 100, 100)
	a, b := w.held("a", 50, overdraft), w.held("b", 50)
	w.commit(a, "c", 150).ok()
	w.commit(b, "c", 50).ok()
	w.event("e", 0, ifAvailable).created()
	w.leaves(parentScope, left{remaining: -100, spent: 100, debt: 100})
}
