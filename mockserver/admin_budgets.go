package mockserver

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

var (
	budgetCreateShape = shape{
		required: 3,
		names:    []string{"scope", "unit", "allocated", "overdraft_limit", "commit_overage_policy", "tenant_id", "metadata"},
		open:     true,
	}
	budgetChangeShape = shape{names: []string{"overdraft_limit", "commit_overage_policy", "metadata"}, open: true}
	freezeShape       = shape{names: []string{"reason"}, open: true}
	fundShape         = shape{
		required: 2,
		names:    []string{"operation", "amount", "spent", "reason", "idempotency_key"},
		open:     true,
	}
)

// budgetBody is a budget as the admin routes show it.
type budgetBody struct {
	LedgerID       string                  `json:"ledger_id"`
	TenantID       string                  `json:"tenant_id"`
	Scope          string                  `json:"scope"`
	ScopePath      string                  `json:"scope_path"`
	Unit           gen.UnitEnum            `json:"unit"`
	Allocated      *gen.Amount             `json:"allocated"`
	Remaining      gen.SignedAmount        `json:"remaining"`
	Reserved       *gen.Amount             `json:"reserved"`
	Spent          *gen.Amount             `json:"spent"`
	Debt           *gen.Amount             `json:"debt"`
	OverdraftLimit *gen.Amount             `json:"overdraft_limit"`
	IsOverLimit    bool                    `json:"is_over_limit"`
	Overage        gen.CommitOveragePolicy `json:"commit_overage_policy,omitempty"`
	Status         ledger.BudgetStatus     `json:"status"`
	Metadata       json.RawMessage         `json:"metadata,omitempty"`
	CreatedAt      time.Time               `json:"created_at"`
	UpdatedAt      time.Time               `json:"updated_at"`
}

func newBudgetBody(b *ledger.Budget) *budgetBody {
	return &budgetBody{
		LedgerID: b.ID, TenantID: b.Tenant, Scope: b.Scope, ScopePath: b.Scope, Unit: b.Unit,
		Allocated: amount(b.Unit, b.Allocated), Remaining: gen.SignedAmount{Unit: b.Unit, Amount: b.Remaining()},
		Reserved: amount(b.Unit, b.Reserved), Spent: amount(b.Unit, b.Spent), Debt: amount(b.Unit, b.Debt),
		OverdraftLimit: amount(b.Unit, b.OverdraftLimit), IsOverLimit: b.OverLimit(), Overage: b.Overage,
		Status: b.Status, Metadata: b.Metadata, CreatedAt: timestamp(b.CreatedAt), UpdatedAt: timestamp(b.UpdatedAt),
	}
}

func createBudget(x *exchange) (int, any, error) {
	b := ledger.Budget{}
	var allocated, limit gen.Amount
	err := decode(x.entry.Body, &budgetCreateShape, func(r *bodyReader, member string) error {
		switch member {
		case "scope":
			return r.text(member, 1, math.MaxInt, &b.Scope)
		case "unit":
			return oneOf(r, member, units, &b.Unit)
		case "allocated":
			return r.amount(member, &allocated.Unit, &allocated.Amount)
		case "tenant_id":
			return r.text(member, 1, maxIDLength, &b.Tenant)
		}
		return r.budgetSetting(member, &limit, &b)
	})
	if err != nil {
		return 0, nil, err
	}
	for _, a := range [...]gen.Amount{allocated, limit} {
		if a.Unit != "" && a.Unit != b.Unit {
			return 0, nil, unitsDiffer(b.Unit, a.Unit)
		}
	}
	if b.Tenant, err = x.actingFor(b.Tenant); err != nil {
		return 0, nil, err
	}
	b.Allocated, b.OverdraftLimit = allocated.Amount, limit.Amount
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Budget, *ledger.Denial) { return l.AddBudget(now, b) })
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusCreated, newBudgetBody(&out), nil
}

// budgetSetting reads what create and change of a budget have in common.
func (r *bodyReader) budgetSetting(member string, limit *gen.Amount, b *ledger.Budget) error {
	switch member {
	case "overdraft_limit":
		return r.amount(member, &limit.Unit, &limit.Amount)
	case "commit_overage_policy":
		return oneOf(r, member, overagePolicies, &b.Overage)
	}
	return r.anyObject(&b.Metadata)
}

func unitsDiffer(budget, other gen.UnitEnum) *problem {
	return &problem{
		status: http.StatusBadRequest, code: gen.ErrorCodeUnitMismatch, message: "all amounts of a budget are in its unit",
		details: map[string]any{"requested_unit": other, "expected_units": []gen.UnitEnum{budget}},
	}
}

// actingFor is the tenant of an admin request: the key's own, or the one that
// the holder of the admin key names.
func (x *exchange) actingFor(named string) (string, error) {
	if x.admin {
		if named == "" {
			return "", invalidRequest("tenant_id is required with the admin key")
		}
		return named, nil
	}
	return x.entry.Tenant, x.ownTenant(named)
}

// budgetQuery reads the scope and unit that name a budget.
func (x *exchange) budgetQuery() (scope string, unit gen.UnitEnum, err error) {
	values, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return "", "", err
	}
	scope, _ = values.first("scope")
	text, _ := values.first("unit")
	unit = gen.UnitEnum(text)
	if scope == "" || !slices.Contains(units, unit) {
		return "", "", invalidRequest("scope and unit are required in the query")
	}
	return scope, unit, nil
}

func listBudgets(x *exchange) (int, any, error) {
	tenant := x.r.URL.Query().Get("tenant_id")
	if !x.admin {
		if err := x.ownTenant(tenant); err != nil {
			return 0, nil, err
		}
		tenant = x.entry.Tenant
	}
	all, _ := step(x, func(l *ledger.Ledger, now int64) ([]ledger.Budget, *ledger.Denial) {
		return l.Budgets(now, tenant), nil
	})
	id := func(b *ledger.Budget) string { return b.Tenant + "\x00" + b.Scope + "\x00" + string(b.Unit) }
	return adminPage(x, "ledgers", all, id, func(b *ledger.Budget) any { return newBudgetBody(b) })
}

func lookupBudget(x *exchange) (int, any, error) {
	scope, unit, err := x.budgetQuery()
	if err != nil {
		return 0, nil, err
	}
	return x.budgetAnswer(func(l *ledger.Ledger, now int64) (ledger.Budget, *ledger.Denial) {
		return l.Budget(now, x.entry.Tenant, scope, unit)
	})
}

func (x *exchange) budgetAnswer(f func(*ledger.Ledger, int64) (ledger.Budget, *ledger.Denial)) (int, any, error) {
	out, d := step(x, f)
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, newBudgetBody(&out), nil
}

func changeBudget(x *exchange) (int, any, error) {
	scope, unit, err := x.budgetQuery()
	if err != nil {
		return 0, nil, err
	}
	var limit gen.Amount
	var settings ledger.Budget
	err = decode(x.entry.Body, &budgetChangeShape, func(r *bodyReader, member string) error {
		return r.budgetSetting(member, &limit, &settings)
	})
	if err != nil {
		return 0, nil, err
	}
	if limit.Unit != "" && limit.Unit != unit {
		return 0, nil, unitsDiffer(unit, limit.Unit)
	}
	return x.budgetAnswer(func(l *ledger.Ledger, now int64) (ledger.Budget, *ledger.Denial) {
		return l.ChangeBudget(now, scope, unit, func(b *ledger.Budget) *ledger.Denial {
			if limit.Unit != "" {
				b.OverdraftLimit = limit.Amount
			}
			if settings.Overage != "" {
				b.Overage = settings.Overage
			}
			if settings.Metadata != nil {
				b.Metadata = settings.Metadata
			}
			b.Capped = false // judged anew: only debt beyond the limit counts
			return nil
		})
	})
}

func freezeBudget(x *exchange) (int, any, error) {
	return x.setFrozen(ledger.BudgetActive, ledger.BudgetFrozen)
}

func unfreezeBudget(x *exchange) (int, any, error) {
	return x.setFrozen(ledger.BudgetFrozen, ledger.BudgetActive)
}

func (x *exchange) setFrozen(from, to ledger.BudgetStatus) (int, any, error) {
	scope, unit, err := x.budgetQuery()
	if err != nil {
		return 0, nil, err
	}
	if len(x.entry.Body) > 0 {
		err := decode(x.entry.Body, &freezeShape, func(r *bodyReader, member string) error {
			var reason string
			return r.text(member, 0, math.MaxInt, &reason)
		})
		if err != nil {
			return 0, nil, err
		}
	}
	return x.budgetAnswer(func(l *ledger.Ledger, now int64) (ledger.Budget, *ledger.Denial) {
		return l.ChangeBudget(now, scope, unit, func(b *ledger.Budget) *ledger.Denial { return b.Switch(from, to) })
	})
}

// fundBody answers a funding operation.
type fundBody struct {
	Operation         ledger.Funding   `json:"operation"`
	PreviousAllocated *gen.Amount      `json:"previous_allocated"`
	NewAllocated      *gen.Amount      `json:"new_allocated"`
	PreviousRemaining gen.SignedAmount `json:"previous_remaining"`
	NewRemaining      gen.SignedAmount `json:"new_remaining"`
	PreviousDebt      *gen.Amount      `json:"previous_debt"`
	NewDebt           *gen.Amount      `json:"new_debt"`
	PreviousSpent     *gen.Amount      `json:"previous_spent"`
	NewSpent          *gen.Amount      `json:"new_spent"`
	Timestamp         time.Time        `json:"timestamp"`
}

var fundings = []ledger.Funding{ledger.Credit, ledger.Debit, ledger.Reset, ledger.ResetSpent, ledger.RepayDebt}

func fundBudget(x *exchange) (int, any, error) {
	scope, unit, err := x.budgetQuery()
	if err != nil {
		return 0, nil, err
	}
	tenant, err := x.actingFor(x.r.URL.Query().Get("tenant_id"))
	if err != nil {
		return 0, nil, err
	}
	q := ledger.Fund{Scope: scope, Unit: unit}
	var sum, spent gen.Amount
	err = decode(x.entry.Body, &fundShape, func(r *bodyReader, member string) error {
		switch member {
		case "operation":
			return oneOf(r, member, fundings, &q.Operation)
		case "amount":
			return r.amount(member, &sum.Unit, &sum.Amount)
		case "spent":
			return r.amount(member, &spent.Unit, &spent.Amount)
		case "reason":
			var reason string
			return r.text(member, 0, math.MaxInt, &reason)
		}
		return r.key(&q.Key)
	})
	if err != nil {
		return 0, nil, err
	}
	for _, a := range [...]gen.Amount{sum, spent} {
		if a.Unit != "" && a.Unit != unit {
			return 0, nil, unitsDiffer(unit, a.Unit)
		}
	}
	q.Amount, q.Spent = sum.Amount, spent.Amount
	out, d := step(x, func(l *ledger.Ledger, now int64) (ledger.Funded, *ledger.Denial) { return l.Fund(now, tenant, &q) })
	if d != nil {
		return 0, nil, denied(d)
	}
	return http.StatusOK, &fundBody{
		Operation:         out.Operation,
		PreviousAllocated: amount(unit, out.Before.Allocated), NewAllocated: amount(unit, out.After.Allocated),
		PreviousRemaining: gen.SignedAmount{Unit: unit, Amount: out.Before.Remaining()},
		NewRemaining:      gen.SignedAmount{Unit: unit, Amount: out.After.Remaining()},
		PreviousDebt:      amount(unit, out.Before.Debt), NewDebt: amount(unit, out.After.Debt),
		PreviousSpent: amount(unit, out.Before.Spent), NewSpent: amount(unit, out.After.Spent),
		Timestamp: timestamp(out.At),
	}, nil
}
