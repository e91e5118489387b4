package gen

// The known values of [DecisionReasonCode], with the answer that a live request
// gets for the same condition. The set is open: extensions add values, so
// treat any other value as a final denial too.
const (
	// ReasonCodeBudgetExceeded says that some scope has less left than the
	// estimate. A live reserve is 409 BUDGET_EXCEEDED.
	ReasonCodeBudgetExceeded DecisionReasonCode = "BUDGET_EXCEEDED"

	// ReasonCodeBudgetFrozen says that an operator has frozen the budget of a
	// scope for now. A live reserve is 409 BUDGET_FROZEN.
	ReasonCodeBudgetFrozen DecisionReasonCode = "BUDGET_FROZEN"

	// ReasonCodeBudgetClosed says that the budget of a scope is closed for
	// good. A live reserve is 409 BUDGET_CLOSED.
	ReasonCodeBudgetClosed DecisionReasonCode = "BUDGET_CLOSED"

	// ReasonCodeBudgetNotFound says that no scope has a budget. A live reserve
	// and an event are 404 NOT_FOUND. A budget in another unit only is not
	// this but 400 UNIT_MISMATCH, also on decide and on a dry run.
	ReasonCodeBudgetNotFound DecisionReasonCode = "BUDGET_NOT_FOUND"

	// ReasonCodeOverdraftLimitExceeded says that a scope is over its limit and
	// takes no new reservations until an operator has put it right. A live
	// reserve is 409 OVERDRAFT_LIMIT_EXCEEDED.
	ReasonCodeOverdraftLimitExceeded DecisionReasonCode = "OVERDRAFT_LIMIT_EXCEEDED"

	// ReasonCodeDebtOutstanding says that a scope has debt to repay first. A
	// live reserve is 409 DEBT_OUTSTANDING.
	ReasonCodeDebtOutstanding DecisionReasonCode = "DEBT_OUTSTANDING"

	// ReasonCodeTenantClosed says that the tenant is closed, which is final. A
	// live reserve is 409 TENANT_CLOSED.
	ReasonCodeTenantClosed DecisionReasonCode = "TENANT_CLOSED"
)

// The values that the 0.1.26 extension adds for rules on kinds of action.
// Only servers that implement the extension send them.
const (
	// ReasonCodeActionQuotaExceeded says that a quota on the kind of action,
	// or on its risk class, is used up for the present window.
	ReasonCodeActionQuotaExceeded DecisionReasonCode = "ACTION_QUOTA_EXCEEDED"

	// ReasonCodeActionKindDenied says that the policy in force forbids the
	// kind of action.
	ReasonCodeActionKindDenied DecisionReasonCode = "ACTION_KIND_DENIED"

	// ReasonCodeActionKindNotAllowed says that the policy in force lists the
	// kinds of action it allows, and this one is not among them.
	ReasonCodeActionKindNotAllowed DecisionReasonCode = "ACTION_KIND_NOT_ALLOWED"
)
