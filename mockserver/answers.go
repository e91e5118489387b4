package mockserver

import (
	"encoding/json"
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

func amount(unit gen.UnitEnum, n int64) *gen.Amount { return &gen.Amount{Unit: unit, Amount: n} }

// balanceBodies shows balances. What is optional is there when it says
// something: a debt, a limit above 0, a scope over its limit.
func balanceBodies(in []ledger.Balance) []gen.Balance {
	out := make([]gen.Balance, len(in))
	for i := range in {
		b := &in[i]
		out[i] = gen.Balance{
			Scope:     ledger.Leaf(b.Scope),
			ScopePath: b.Scope,
			Remaining: gen.SignedAmount{Unit: b.Unit, Amount: b.Remaining()},
			Reserved:  amount(b.Unit, b.Reserved),
			Spent:     amount(b.Unit, b.Spent),
			Allocated: amount(b.Unit, b.Allocated),
		}
		if b.Debt > 0 {
			out[i].Debt = amount(b.Unit, b.Debt)
		}
		if b.OverdraftLimit > 0 {
			out[i].OverdraftLimit = amount(b.Unit, b.OverdraftLimit)
		}
		if b.OverLimit {
			out[i].IsOverLimit = &b.OverLimit
		}
	}
	return out
}

func subjectBody(s *ledger.Subject) (gen.Subject, error) {
	level := func(i int) *string {
		if s.Level[i] == "" {
			return nil
		}
		return &s.Level[i]
	}
	out := gen.Subject{
		Tenant: level(0), Workspace: level(1), App: level(2), Workflow: level(3), Agent: level(4), Toolset: level(5),
	}
	if s.Dimensions != nil {
		if err := json.Unmarshal(s.Dimensions, &out.Dimensions); err != nil {
			return gen.Subject{}, fmt.Errorf("stored dimensions: %w", err)
		}
	}
	return out, nil
}

// object decodes a stored object without losing a digit.
func object(raw json.RawMessage) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	scan := strictjson.New(raw)
	v, err := scan.Any()
	if err != nil {
		return nil, fmt.Errorf("stored metadata: %w", err)
	}
	return v.(map[string]any), nil
}

func detailBody(r *ledger.Reservation) (*gen.ReservationDetail, error) {
	subject, err := subjectBody(&r.Subject)
	if err != nil {
		return nil, err
	}
	out := &gen.ReservationDetail{
		ReservationID:  r.ID,
		Status:         r.Status,
		IdempotencyKey: &r.Key,
		Subject:        subject,
		Action:         r.Action,
		Reserved:       *amount(r.Unit, r.Estimate),
		CreatedAtMs:    r.CreatedAt,
		ExpiresAtMs:    r.ExpiresAt,
		ScopePath:      r.Path,
		AffectedScopes: ledger.Scopes(r.Path),
	}
	if r.FinalizedAt != 0 {
		out.FinalizedAtMs = &r.FinalizedAt
	}
	if r.Status == gen.ReservationStatusCommitted {
		out.Committed = amount(r.Unit, r.Committed)
	}
	if out.Metadata, err = object(r.Metadata); err != nil {
		return nil, err
	}
	out.CommittedMetadata, err = object(r.CommittedMetadata)
	return out, err
}
