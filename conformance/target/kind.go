package target

// Kind names a sort of fixture, or an ability of the target that a check needs.
type Kind string

// The kinds. Catalogue says what each must be.
const (
	TenantB  Kind = "tenant-b"
	AdminKey Kind = "admin-key"

	Funded  Kind = "funded"
	FundedB Kind = "funded-b"

	Ledger          Kind = "ledger"
	Vast            Kind = "vast"
	Overdraft       Kind = "overdraft"
	Nested          Kind = "nested"
	NestedOverdraft Kind = "nested-overdraft"
	Twin            Kind = "twin"
	Tenantless      Kind = "tenantless"
	Reconcilable    Kind = "reconcilable"

	SoleUnit     Kind = "sole-unit"
	Unbudgeted   Kind = "unbudgeted"
	Frozen       Kind = "frozen"
	ClosedBudget Kind = "closed-budget"
	Indebted     Kind = "indebted"
	OverLimit    Kind = "over-limit"
	Capped       Kind = "capped"

	ClosedTenant   Kind = "closed-tenant"
	ClosableTenant Kind = "closable-tenant"
	CorruptTenant  Kind = "corrupt-tenant"
	MaxExtensions  Kind = "max-extensions"
	TTLCeiling     Kind = "ttl-ceiling"
	RevokedKey     Kind = "revoked-key"
	Evidence       Kind = "evidence"

	CanCloseTenant Kind = "can-close-tenant"
	CanFreeze      Kind = "can-freeze"
	CanRepayDebt   Kind = "can-repay-debt"
)

// Spec says what a fixture of a kind must be.
type Spec struct {
	Kind Kind
	// About is one sentence for people who provision by hand.
	About string
	// Exclusive fixtures are used by one check and are used up by it: every
	// check that needs one gets its own. The others are shared by all checks.
	Exclusive bool
	// Ability kinds are not provisioned; the target has them or not.
	Ability bool
	// Budgets says what the fixture's budgets must look like, in order.
	Budgets []BudgetSpec
	// Limit is the number asked of the kind, zero where there is none.
	Limit int64
}

// BudgetSpec says what a budget must look like. A static target may have other
// amounts: checks go by the amounts of the fixture they get, and these are the
// ones a provisioner makes.
type BudgetSpec struct {
	Allocated, OverdraftLimit int64
	// Inner budgets sit one level below the budget before them.
	Inner bool
	// OtherUnit budgets sit on the scope of the budget before them, in another
	// unit.
	OtherUnit bool
	// Status is ACTIVE when empty.
	Status string
	// Debt is what the budget owes.
	Debt int64
}

// Catalogue returns every kind, in a fixed order.
func Catalogue() []Spec {
	one := func(allocated, limit int64) []BudgetSpec {
		return []BudgetSpec{{Allocated: allocated, OverdraftLimit: limit}}
	}
	const plenty = 1_000_000_000
	return []Spec{
		{Kind: TenantB, Ability: true, About: "a second open tenant with a key of its own"},
		{Kind: AdminKey, Ability: true, About: "the operator's key that list, get and release take in X-Admin-API-Key"},

		{Kind: Funded, Budgets: one(plenty, 0), About: "a budget of tenant a with plenty left, which all checks share"},
		{Kind: FundedB, Budgets: one(plenty, 0), About: "the same for tenant b"},

		{Kind: Ledger, Exclusive: true, Budgets: one(1000, 0), About: "a fresh budget without overdraft that nobody else touches, alone on its scopes"},
		{Kind: Vast, Exclusive: true, Budgets: one(1<<62, 0), About: "a fresh budget without overdraft, so large that its amounts need all of 64 bits"},
		{Kind: Overdraft, Exclusive: true, Budgets: one(100, 100), About: "a fresh budget with an overdraft limit, alone on its scopes"},
		{Kind: Nested, Exclusive: true, Budgets: []BudgetSpec{{Allocated: 150}, {Allocated: 1000, Inner: true}},
			About: "two fresh budgets without overdraft, a small one outside and a large one on a scope inside it"},
		{Kind: NestedOverdraft, Exclusive: true, Budgets: []BudgetSpec{{Allocated: 150}, {Allocated: 100, OverdraftLimit: 100, Inner: true}},
			About: "two fresh budgets, one without overdraft outside and one with an overdraft limit inside it"},
		{Kind: Twin, Exclusive: true, Budgets: []BudgetSpec{{Allocated: 1000}, {Allocated: 1000, OtherUnit: true}},
			About: "two fresh budgets on the same scope in two units"},
		{Kind: Tenantless, Exclusive: true, Budgets: one(1000, 0), About: "a fresh budget of tenant a on a scope that names no tenant, if the server has such scopes"},
		{Kind: Reconcilable, Exclusive: true, Budgets: []BudgetSpec{{Allocated: 1000, OverdraftLimit: 10, Debt: 50}},
			About: "a budget like that of over-limit, which one check uses alone to pay its debt (needs can-repay-debt)"},

		{Kind: SoleUnit, Budgets: one(plenty, 0), About: "a funded budget that is the only one on all its scopes, so that every other unit is the wrong one"},
		{Kind: Unbudgeted, Budgets: []BudgetSpec{{}}, About: "a subject of tenant a none of whose scopes has a budget in any unit (a budget entry with a subject and no amounts)"},
		{Kind: Frozen, Budgets: []BudgetSpec{{Allocated: 1000, Status: "FROZEN"}}, About: "a frozen budget with something left"},
		{Kind: ClosedBudget, Budgets: []BudgetSpec{{Allocated: 1000, Status: "CLOSED"}}, About: "a closed budget of an open tenant"},
		{Kind: Indebted, Budgets: []BudgetSpec{{Allocated: 1000, Debt: 50}}, About: "a budget that has something left, owes a debt, has an overdraft limit of zero and is not over-limit"},
		{Kind: OverLimit, Budgets: []BudgetSpec{{Allocated: 1000, OverdraftLimit: 10, Debt: 50}}, About: "a budget that has something left and whose debt is more than its overdraft limit, so that is_over_limit is true"},
		{Kind: Capped, Budgets: one(plenty, 0), About: "a funded budget whose reservations are allowed with caps"},

		{Kind: ClosedTenant, Budgets: one(1000, 0), About: "a closed tenant whose key still works, with a budget"},
		{Kind: ClosableTenant, Exclusive: true, Budgets: one(1000, 0), About: "an open tenant with a budget that the suite may close (needs can-close-tenant)"},
		{Kind: CorruptTenant, Budgets: one(1000, 0), About: "a tenant with a working key and a budget whose record has no status that can be read"},
		{Kind: MaxExtensions, Budgets: one(plenty, 0), Limit: 2, About: "a funded budget of a tenant whose reservations can be extended only limit times"},
		{Kind: TTLCeiling, Budgets: one(plenty, 0), Limit: 5000, About: "a funded budget of a tenant whose reservations are granted at most limit milliseconds"},
		{Kind: RevokedKey, About: "a key that is no longer valid (as the fixture's tenant)"},
		{Kind: Evidence, Ability: true, About: "the server signs its decisions and serves the evidence"},

		{Kind: CanCloseTenant, Ability: true, About: "a way to close a tenant during a check"},
		{Kind: CanFreeze, Ability: true, About: "a way to freeze and unfreeze a budget during a check"},
		{Kind: CanRepayDebt, Ability: true, About: "a way to pay the debt of a budget during a check"},
	}
}
