package client_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// Each row breaks one limit of an otherwise good request; nothing may be sent
// and the error names the member and the limit.
func TestRequestsBeyondTheLimitsAreNotSent(t *testing.T) {
	type create = gen.ReservationCreateRequest
	long := func(n int) string { return strings.Repeat("é", n) }
	creates := map[string]struct {
		change       func(*create)
		field, limit string
	}{
		"key too long":         {func(r *create) { r.IdempotencyKey = long(257) }, "idempotency_key", "1..256"},
		"key not UTF-8":        {func(r *create) { r.IdempotencyKey = "a\xff" }, "idempotency_key", "1..256"},
		"no subject":           {func(r *create) { r.Subject = gen.Subject{} }, "subject", "at least one"},
		"only dimensions":      {func(r *create) { r.Subject = gen.Subject{Dimensions: map[string]string{"a": "b"}} }, "subject", "at least one"},
		"empty level":          {func(r *create) { r.Subject.App = ptr("") }, "subject.app", "1..128"},
		"level too long":       {func(r *create) { r.Subject.Agent = ptr(strings.Repeat("x", 129)) }, "subject.agent", "1..128"},
		"unfilled expression":  {func(r *create) { r.Subject.Tenant = ptr("#{tenant}") }, "subject.tenant", "a-z"},
		"delimiter in a level": {func(r *create) { r.Subject.Toolset = ptr("a/b") }, "subject.toolset", "a-z"},
		"space in a level":     {func(r *create) { r.Subject.Workflow = ptr("a b") }, "subject.workflow", "a-z"},
		"letter beyond ASCII":  {func(r *create) { r.Subject.Workspace = ptr("é") }, "subject.workspace", "a-z"},
		"17 dimensions": {func(r *create) {
			r.Subject.Dimensions = map[string]string{}
			for c := 'a'; c < 'a'+17; c++ {
				r.Subject.Dimensions[string(c)] = ""
			}
		}, "subject.dimensions", "16"},
		"dimension too long":   {func(r *create) { r.Subject.Dimensions = map[string]string{"team": long(257)} }, "subject.dimensions.team", "0..256"},
		"no kind":              {func(r *create) { r.Action.Kind = "" }, "action.kind", "1..64"},
		"kind too long":        {func(r *create) { r.Action.Kind = long(65) }, "action.kind", "1..64"},
		"no name":              {func(r *create) { r.Action.Name = "" }, "action.name", "1..256"},
		"name too long":        {func(r *create) { r.Action.Name = long(257) }, "action.name", "1..256"},
		"11 tags":              {func(r *create) { r.Action.Tags = make([]string, 11) }, "action.tags", "10"},
		"tag too long":         {func(r *create) { r.Action.Tags = []string{"a", long(65)} }, "action.tags[1]", "0..64"},
		"negative estimate":    {func(r *create) { r.Estimate.Amount = -1 }, "estimate.amount", "at least 0"},
		"no unit":              {func(r *create) { r.Estimate.Unit = "" }, "estimate.unit", "TOKENS"},
		"unit in lower case":   {func(r *create) { r.Estimate.Unit = "tokens" }, "estimate.unit", "TOKENS"},
		"ttl too short":        {func(r *create) { r.TTLMs = ptr(int64(999)) }, "ttl_ms", "1000..86400000"},
		"ttl too long":         {func(r *create) { r.TTLMs = ptr(int64(86_400_001)) }, "ttl_ms", "1000..86400000"},
		"grace negative":       {func(r *create) { r.GracePeriodMs = ptr(int64(-1)) }, "grace_period_ms", "0..60000"},
		"grace too long":       {func(r *create) { r.GracePeriodMs = ptr(int64(60_001)) }, "grace_period_ms", "0..60000"},
		"unknown policy":       {func(r *create) { r.OveragePolicy = ptr(gen.CommitOveragePolicy("ALLOW")) }, "overage_policy", "REJECT"},
		"metadata of channels": {func(r *create) { r.Metadata = map[string]any{"c": make(chan int)} }, "metadata", "JSON"},
		"metadata not finite":  {func(r *create) { r.Metadata = map[string]any{"c": math.NaN()} }, "metadata", "JSON"},
	}
	server := always(200, createOK)
	c := newClient(t, server)
	refused := func(name string, err error, op client.Op, field, limit string) {
		t.Helper()
		var broken *client.RequestError
		require.ErrorAs(t, err, &broken, name)
		assert.Equal(t, op, broken.Op, name)
		assert.Equal(t, field, broken.Field, name)
		assert.Contains(t, broken.Limit, limit, name)
		assert.Contains(t, err.Error(), field, name)
		assert.Equal(t, client.Invalid, client.OutcomeOf(err), name)
	}
	for name, tc := range creates {
		req := createRequest
		tc.change(&req)
		var meta client.Meta
		_, err := c.CreateReservation(t.Context(), req, client.WithMeta(&meta))
		refused(name, err, client.OpCreateReservation, tc.field, tc.limit)
		assert.Zero(t, meta.Attempts)
	}

	_, err := c.Decide(t.Context(), gen.DecisionRequest{Subject: createRequest.Subject, Action: createRequest.Action})
	refused("decide", err, client.OpDecide, "estimate.unit", "TOKENS")
	for field, change := range map[string]func(*gen.EventCreateRequest){
		"actual.amount":         func(r *gen.EventCreateRequest) { r.Actual.Amount = math.MinInt64 },
		"client_time_ms":        func(r *gen.EventCreateRequest) { r.ClientTimeMs = ptr(int64(-1)) },
		"metrics.tokens_input":  func(r *gen.EventCreateRequest) { r.Metrics = &gen.StandardMetrics{TokensInput: ptr(int64(-1))} },
		"metrics.tokens_output": func(r *gen.EventCreateRequest) { r.Metrics = &gen.StandardMetrics{TokensOutput: ptr(int64(-1))} },
		"metrics.latency_ms":    func(r *gen.EventCreateRequest) { r.Metrics = &gen.StandardMetrics{LatencyMs: ptr(int64(-1))} },
		"metrics.model_version": func(r *gen.EventCreateRequest) { r.Metrics = &gen.StandardMetrics{ModelVersion: ptr(long(129))} },
		"overage_policy":        func(r *gen.EventCreateRequest) { r.OveragePolicy = ptr(gen.CommitOveragePolicy("")) },
		"subject.app":           func(r *gen.EventCreateRequest) { r.Subject.App = ptr("a:b") },
		"action.kind":           func(r *gen.EventCreateRequest) { r.Action = gen.Action{} },
	} {
		req := eventRequest
		change(&req)
		_, err := c.CreateEvent(t.Context(), req)
		refused(field, err, client.OpCreateEvent, field, "")
	}
	_, err = c.CommitReservation(t.Context(), "r-1", gen.CommitRequest{Actual: gen.Amount{Unit: gen.UnitEnumTokens, Amount: -1}})
	refused("commit", err, client.OpCommitReservation, "actual.amount", "at least 0")
	_, err = c.ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{Reason: ptr(long(257))})
	refused("release", err, client.OpReleaseReservation, "reason", "0..256")
	for _, ms := range []int64{0, -1, 86_400_001, math.MaxInt64} {
		_, err = c.ExtendReservation(t.Context(), "r-1", gen.ReservationExtendRequest{ExtendByMs: ms})
		refused("extend", err, client.OpExtendReservation, "extend_by_ms", "1..86400000")
	}
	_, err = c.GetBalances(t.Context(), gen.GetBalancesParams{})
	refused("balances", err, client.OpGetBalances, "tenant, workspace, app, workflow, agent or toolset", "given")
	_, err = c.GetBalances(t.Context(), gen.GetBalancesParams{Tenant: ptr("acme"), Limit: ptr(int64(201))})
	refused("balances", err, client.OpGetBalances, "limit", "1..200")

	now, before := time.Now(), time.Now().Add(-time.Hour)
	for field, params := range map[string]gen.ListReservationsParams{
		"idempotency_key": {IdempotencyKey: ptr("")},
		"status":          {Status: ptr(gen.ReservationStatus("active"))},
		"sort_by":         {SortBy: ptr(gen.ListReservationsParamsSortBy("bogus"))},
		"sort_dir":        {SortDir: ptr(gen.SortDirection("up"))},
		"from":            {From: &now, To: &before},
		"expires_from":    {ExpiresFrom: &now, ExpiresTo: &before},
		"finalized_from":  {FinalizedFrom: &now, FinalizedTo: &before},
		"limit":           {Limit: ptr(int64(0))},
	} {
		_, err = c.ListReservations(t.Context(), params)
		refused("list", err, client.OpListReservations, field, "")
	}
	assert.Empty(t, server.attempts(), "nothing was sent")
}

// The limits themselves are inside, and they count characters, not bytes.
func TestRequestsAtTheLimitsAreSent(t *testing.T) {
	server := always(200, createOK)
	req := createRequest
	req.IdempotencyKey = strings.Repeat("é", 256)
	req.Subject.Agent = ptr(strings.Repeat("x", 128))
	req.Subject.Dimensions = map[string]string{}
	for c := 'a'; c < 'a'+16; c++ {
		req.Subject.Dimensions[string(c)] = strings.Repeat("🚀", 256)
	}
	req.Action = gen.Action{Kind: strings.Repeat("é", 64), Name: strings.Repeat("🚀", 256), Tags: make([]string, 10)}
	req.Action.Tags[9] = strings.Repeat("é", 64)
	req.Estimate.Amount = math.MaxInt64
	req.TTLMs, req.GracePeriodMs = ptr(int64(86_400_000)), ptr(int64(0))
	_, err := newClient(t, server).CreateReservation(t.Context(), req)
	require.NoError(t, err)
	assert.Contains(t, server.attempts()[0].body, `"grace_period_ms":0`, "zero is sent, absence is not")
	assert.NotContains(t, server.attempts()[0].body, "dry_run")

	req.TTLMs, req.GracePeriodMs, req.Estimate.Amount = ptr(int64(1000)), ptr(int64(60_000)), 0
	_, err = newClient(t, server).CreateReservation(t.Context(), req)
	require.NoError(t, err)
	_, err = newClient(t, always(200, releaseOK)).ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{Reason: ptr(strings.Repeat("🚀", 256))})
	require.NoError(t, err)
	for _, ms := range []int64{1, 86_400_000} {
		_, err = newClient(t, always(200, extendOK)).ExtendReservation(t.Context(), "r-1", gen.ReservationExtendRequest{ExtendByMs: ms})
		require.NoError(t, err)
	}
}

func TestBalancesUseTheDefaultSubjectOnlyWhenNoneIsAskedFor(t *testing.T) {
	server := always(200, balancesOK)
	c := newClient(t, server, client.WithSubject(gen.Subject{Tenant: ptr("acme"), App: ptr("shop")}))
	_, err := c.GetBalances(t.Context(), gen.GetBalancesParams{})
	require.NoError(t, err)
	assert.Equal(t, "app=shop&tenant=acme", sortedQuery(server.attempts()[0].query))
	_, err = c.GetBalances(t.Context(), gen.GetBalancesParams{Agent: ptr("bot"), IncludeChildren: ptr(false)})
	require.NoError(t, err)
	assert.Equal(t, "agent=bot&include_children=false", sortedQuery(server.attempts()[1].query))
}
