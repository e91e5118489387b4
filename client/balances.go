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
// subject filter; without one the levels of WithSubject are used. A page has 1
// to 200 balances, 50 unless limit says otherwise. remaining may be negative.
func (c *Client) GetBalances(ctx context.Context, params gen.GetBalancesParams, opts ...CallOption) (*gen.BalanceResponse, error) {
	x := begin(c, &getBalances, opts)
	if !filtersSubject(params) {
		s := c.cfg.subject
		params.Tenant, params.Workspace, params.App = s.Tenant, s.Workspace, s.App
		params.Workflow, params.Agent, params.Toolset = s.Workflow, s.Agent, s.Toolset
	}
	x.require(filtersSubject(params), "tenant, workspace, app, workflow, agent or toolset", "given")
	x.number("limit", params.Limit, 1, maxPage)
	return x.send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewGetBalancesRequest(c.server, &params)
	})
}

// Balances walks over all balances that match params, from its cursor on or
// from the beginning. WithMeta on it describes the last page fetched.
func (c *Client) Balances(ctx context.Context, params gen.GetBalancesParams, opts ...CallOption) (*Page[gen.Balance], error) {
	for _, text := range []**string{&params.Tenant, &params.Workspace, &params.App, &params.Workflow, &params.Agent, &params.Toolset, &params.Cursor} {
		pin(text)
	}
	pin(&params.IncludeChildren)
	pin(&params.Limit)
	return ask[gen.Balance](func(ctx context.Context, cursor *string) ([]gen.Balance, *string, *bool, error) {
		following := params
		following.Cursor = cursor
		answer, err := c.GetBalances(ctx, following, opts...)
		if err != nil {
			return nil, nil, nil, err
		}
		return answer.Balances, answer.NextCursor, answer.HasMore, nil
	}).page(ctx, OpGetBalances, params.Cursor)
}

func filtersSubject(p gen.GetBalancesParams) bool {
	return p.Tenant != nil || p.Workspace != nil || p.App != nil || p.Workflow != nil || p.Agent != nil || p.Toolset != nil
}
