package mockserver

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

func getBalances(x *exchange) (int, any, error) {
	q, err := x.balanceQuery()
	if err != nil {
		return 0, nil, err
	}
	type page struct {
		balances []ledger.Balance
		more     bool
	}
	p, d := step(x, func(l *ledger.Ledger, now int64) (p page, d *ledger.Denial) {
		p.balances, p.more, d = l.Balances(now, x.entry.Tenant, q)
		return p, d
	})
	if d != nil {
		return 0, nil, denied(d)
	}
	body := &gen.BalanceResponse{Balances: balanceBodies(p.balances), HasMore: &p.more}
	if p.more {
		last := p.balances[len(p.balances)-1]
		cursor := encodeCursor(balanceCursor{last.Scope, last.Unit})
		body.NextCursor = &cursor
	}
	return http.StatusOK, body, nil
}

// balanceCursor is the last budget of a page.
type balanceCursor struct {
	Scope string       `json:"s"`
	Unit  gen.UnitEnum `json:"u"`
}

func (x *exchange) balanceQuery() (*ledger.BalanceQuery, error) {
	values, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	q := &ledger.BalanceQuery{}
	if q.Limit, err = values.limit(); err != nil {
		return nil, err
	}
	if _, err := values.boolean("include_children"); err != nil {
		return nil, err
	}
	given := false
	for i, name := range ledger.Levels {
		v, ok := values.first(name)
		given = given || ok
		q.Level[i] = v
	}
	if !given {
		return nil, invalidRequest("at least one of tenant, workspace, app, workflow, agent, toolset is required")
	}
	if err := x.ownTenant(q.Level[0]); err != nil {
		return nil, err
	}
	q.Level[0] = "" // it can only be the key's own tenant, to which the answer is bound anyway
	if cursor, ok := values.first("cursor"); ok && cursor != "" {
		var c balanceCursor
		if err := decodeCursor(cursor, &c); err != nil {
			return nil, err
		}
		q.After = &ledger.BalancePosition{Scope: c.Scope, Unit: c.Unit}
	}
	return q, nil
}

// ownTenant refuses the name of another tenant in a query.
func (x *exchange) ownTenant(named string) error {
	if named != "" && named != x.entry.Tenant {
		return &problem{status: http.StatusForbidden, code: gen.ErrorCodeForbidden, message: ledger.OtherTenant("tenant", named, x.entry.Tenant)}
	}
	return nil
}
