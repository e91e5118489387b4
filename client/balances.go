package client

import (
	"context"
	"io"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
)

var getBalances = operation[gen.BalanceResponse]{
	op: OpGetBalances, status: http.StatusOK, answer: balanceResponse, lenient: true}

// GetBalances reads one page of balances. The protocol asks for at least one
// subject filter; without one the levels of WithSubject are used.
func (c *Client) GetBalances(ctx context.Context, params gen.GetBalancesParams, opts ...CallOption) (*gen.BalanceResponse, error) {
	x := begin(c, &getBalances, opts)
	if !filtersSubject(params) {
		s := c.cfg.subject
		params.Tenant, params.Workspace, params.App = s.Tenant, s.Workspace, s.App
		params.Workflow, params.Agent, params.Toolset = s.Workflow, s.Agent, s.Toolset
	}
	x.require(filtersSubject(params), "tenant, workspace, app, workflow, agent or toolset", "given")
	x.require(params.Limit == nil || 1 <= *params.Limit && *params.Limit <= maxPage, "limit", "1..200")
	return x.send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewGetBalancesRequest(c.server, &params)
	})
}

func filtersSubject(p gen.GetBalancesParams) bool {
	return p.Tenant != nil || p.Workspace != nil || p.App != nil || p.Workflow != nil || p.Agent != nil || p.Toolset != nil
}
