package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

const (
	decideOK     = `{"decision":"ALLOW","affected_scopes":["tenant:acme"]}`
	eventOK      = `{"status":"APPLIED","event_id":"e-1"}`
	listOK       = `{"reservations":[],"has_more":false}`
	evidenceID   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	evidencePath = "/v1/evidence/" + evidenceID
	jwksOK       = `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","x":"AAAA","kid":"k1","cycles_nbf_ms":1,"cycles_exp_ms":null,"status":"active"}]}`
)

var evidenceOK = `{"schema_version":"cycles-evidence/v0.1","artifact_type":"commit","server_id":"https://c.test/v1","signer_did":"ab",` +
	`"issued_at_ms":1700000000000,"payload":{"commit":{"n":9007199254740993}},"evidence_id":"` + evidenceID + `","signature":"` +
	strings.Repeat("0f", 64) + `","later":[1]}`

var (
	decideRequest = gen.DecisionRequest{Subject: createRequest.Subject, Action: createRequest.Action, Estimate: createRequest.Estimate}
	eventRequest  = gen.EventCreateRequest{Subject: createRequest.Subject, Action: createRequest.Action, Actual: createRequest.Estimate}
)

// calls are the eleven operations with a request that every client may send.
var calls = []struct {
	op      client.Op
	method  string
	path    string
	status  int
	success string
	body    bool
	strict  bool
	send    func(context.Context, *client.Client, ...client.CallOption) (any, error)
}{
	{client.OpDecide, "POST", "/v1/decide", 200, decideOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.Decide(ctx, decideRequest, o...)
	}},
	{client.OpCreateReservation, "POST", "/v1/reservations", 200, createOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.CreateReservation(ctx, createRequest, o...)
	}},
	{client.OpListReservations, "GET", "/v1/reservations", 200, listOK, false, false, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.ListReservations(ctx, gen.ListReservationsParams{}, o...)
	}},
	{client.OpGetReservation, "GET", "/v1/reservations/r-1", 200, detailOK, false, false, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.GetReservation(ctx, "r-1", o...)
	}},
	{client.OpCommitReservation, "POST", "/v1/reservations/r-1/commit", 200, commitOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.CommitReservation(ctx, "r-1", commitRequest, o...)
	}},
	{client.OpReleaseReservation, "POST", "/v1/reservations/r-1/release", 200, releaseOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.ReleaseReservation(ctx, "r-1", gen.ReleaseRequest{}, o...)
	}},
	{client.OpExtendReservation, "POST", "/v1/reservations/r-1/extend", 200, extendOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.ExtendReservation(ctx, "r-1", extendRequest, o...)
	}},
	{client.OpGetBalances, "GET", "/v1/balances", 200, balancesOK, false, false, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.GetBalances(ctx, balanceParams, o...)
	}},
	{client.OpCreateEvent, "POST", "/v1/events", 201, eventOK, true, true, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.CreateEvent(ctx, eventRequest, o...)
	}},
	{client.OpGetEvidence, "GET", evidencePath, 200, evidenceOK, false, false, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.GetEvidence(ctx, evidenceID, o...)
	}},
	{client.OpGetEvidenceJWKS, "GET", "/v1/.well-known/cycles-jwks.json", 200, jwksOK, false, false, func(ctx context.Context, c *client.Client, o ...client.CallOption) (any, error) {
		return c.GetEvidenceJWKS(ctx, o...)
	}},
}

const detailOK = `{"reservation_id":"r-1","status":"ACTIVE","subject":{"tenant":"acme"},"action":{"kind":"llm.completion","name":"m"},` +
	`"reserved":{"unit":"TOKENS","amount":10},"created_at_ms":1,"expires_at_ms":2,"scope_path":"tenant:acme","affected_scopes":["tenant:acme"]}`

func TestEveryOperationGoesToItsRouteWithTheRightKey(t *testing.T) {
	require.Len(t, calls, 11)
	for _, call := range calls {
		t.Run(string(call.op), func(t *testing.T) {
			server := always(call.status, call.success)
			var meta client.Meta
			answer, err := call.send(t.Context(), newClient(t, server, client.WithUserAgent("agent/1")), client.WithMeta(&meta))
			require.NoError(t, err)
			assert.NotNil(t, answer)
			got := server.attempts()[0]
			assert.Equal(t, call.method, got.method)
			assert.Equal(t, call.path, got.path)
			assert.Equal(t, []string{"application/json"}, got.header["Accept"])
			assert.Equal(t, []string{"agent/1"}, got.header["User-Agent"])
			assert.NotContains(t, got.header, "X-Idempotency-Key")
			assert.NotContains(t, got.header, "Traceparent")
			public := call.op == client.OpGetEvidence || call.op == client.OpGetEvidenceJWKS
			assert.Equal(t, !public, got.header.Get("X-Cycles-API-Key") == apiKey)
			assert.Equal(t, public, got.header["X-Cycles-Api-Key"] == nil)
			if call.body {
				assert.Contains(t, got.body, `"idempotency_key":"`+meta.IdempotencyKey+`"`)
				assert.Len(t, meta.IdempotencyKey, 36)
			} else {
				assert.Empty(t, got.body)
				assert.Empty(t, meta.IdempotencyKey)
				assert.NotContains(t, got.header, "Content-Type")
			}
		})
	}
}

func TestThePublicRoutesNeedNoKeyAtAll(t *testing.T) {
	for _, call := range calls {
		server := always(call.status, call.success)
		c, err := client.New(baseURL, client.WithHTTPClient(&http.Client{Transport: server}))
		require.NoError(t, err)
		_, err = call.send(t.Context(), c)
		public := call.op == client.OpGetEvidence || call.op == client.OpGetEvidenceJWKS
		assert.Equal(t, public, err == nil, call.op)
		assert.Equal(t, public, len(server.attempts()) == 1, call.op)
	}
}

func TestAsAdminIsForListGetAndRelease(t *testing.T) {
	for _, call := range calls {
		server := always(call.status, call.success)
		c := newClient(t, server, client.WithAdminKey(adminKey), client.WithSubject(gen.Subject{Tenant: ptr("acme")}))
		_, err := call.send(t.Context(), c, client.AsAdmin())
		switch call.op {
		case client.OpListReservations, client.OpGetReservation, client.OpReleaseReservation:
			require.NoError(t, err, call.op)
			header := server.attempts()[0].header
			assert.Equal(t, adminKey, header.Get("X-Admin-API-Key"))
			assert.NotContains(t, header, "X-Cycles-Api-Key", "never beside the tenant key")
		default:
			assert.Equal(t, client.Invalid, client.OutcomeOf(err), call.op)
			assert.Empty(t, server.attempts(), call.op)
		}
	}
	c := newClient(t, always(200, listOK), client.WithAdminKey(adminKey))
	_, err := c.ListReservations(t.Context(), gen.ListReservationsParams{}, client.AsAdmin())
	var refused *client.RequestError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "tenant", refused.Field, "an operator has no tenant to list by")
}

// What the reference server sends: null for what it does not have.
func TestReadsTakeTheNullsOfTheReferenceServer(t *testing.T) {
	const row = `{"reservation_id":"r-1","status":"ACTIVE","idempotency_key":"k","subject":{"tenant":"acme","workspace":null,"app":null,` +
		`"workflow":null,"agent":null,"toolset":null,"dimensions":null},"action":{"kind":"llm.completion","name":"m","tags":null},` +
		`"reserved":{"unit":"TOKENS","amount":10},"created_at_ms":1,"expires_at_ms":2,"finalized_at_ms":null,"committed":null,` +
		`"scope_path":"tenant:acme","affected_scopes":["tenant:acme"],"metadata":null,"committed_metadata":null,"evidence":null,"added_in_0_1_27":{"x":null}}`
	c := newClient(t, always(200, `{"reservations":[`+row+`],"next_cursor":null,"has_more":false}`))
	list, err := c.ListReservations(t.Context(), gen.ListReservationsParams{})
	require.NoError(t, err)
	assert.Nil(t, list.NextCursor)
	require.Len(t, list.Reservations, 1)
	assert.Equal(t, gen.Subject{Tenant: ptr("acme")}, list.Reservations[0].Subject)
	assert.Nil(t, list.Reservations[0].Action.Tags)
	assert.Nil(t, list.Reservations[0].Committed)

	detail, err := newClient(t, always(200, row)).GetReservation(t.Context(), "r-1")
	require.NoError(t, err)
	assert.Equal(t, "k", *detail.IdempotencyKey)
	assert.Nil(t, detail.Metadata)

	balances, err := newClient(t, always(200, `{"balances":[{"scope":"tenant:acme","scope_path":"tenant:acme",`+
		`"remaining":{"unit":"TOKENS","amount":-5},"debt":null,"is_over_limit":null}],"next_cursor":null,"has_more":null}`)).
		GetBalances(t.Context(), balanceParams)
	require.NoError(t, err)
	assert.EqualValues(t, -5, balances.Balances[0].Remaining.Amount)
	assert.Nil(t, balances.Balances[0].Debt)
}

func TestReadsStayReadableWhenAServerIsNewer(t *testing.T) {
	newer := strings.NewReplacer(`"ACTIVE"`, `"PAUSED"`, `"TOKENS"`, `"EUR_MICROCENTS"`).Replace(detailOK)
	detail, err := newClient(t, always(200, newer)).GetReservation(t.Context(), "r-1")
	require.NoError(t, err)
	assert.EqualValues(t, "PAUSED", detail.Status)
	assert.EqualValues(t, "EUR_MICROCENTS", detail.Reserved.Unit)
}

func withDimensions(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"d%d":"v"`, i)
	}
	return strings.Replace(detailOK, `{"tenant":"acme"}`, `{"tenant":"acme","dimensions":{`+strings.Join(entries, ",")+`}}`, 1)
}

func TestReadsTakeAsManyDimensionsAsTheProtocolAllows(t *testing.T) {
	detail, err := newClient(t, always(200, withDimensions(16))).GetReservation(t.Context(), "r-1")
	require.NoError(t, err)
	assert.Len(t, detail.Subject.Dimensions, 16)
}

// Leniency has its limits: what is required, typed or bounded stays so.
func TestReadsThatDoNotHoldTogetherAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"required member missing":    strings.Replace(detailOK, `"scope_path":"tenant:acme",`, "", 1),
		"null for a required member": strings.Replace(detailOK, `"scope_path":"tenant:acme"`, `"scope_path":null`, 1),
		"wrong case":                 strings.Replace(detailOK, `"scope_path"`, `"Scope_Path"`, 1),
		"negative amount":            strings.Replace(detailOK, `"amount":10`, `"amount":-10`, 1),
		"amount as text":             strings.Replace(detailOK, `"amount":10`, `"amount":"10"`, 1),
		"fraction":                   strings.Replace(detailOK, `"created_at_ms":1`, `"created_at_ms":1.5`, 1),
		"member twice":               strings.Replace(detailOK, `"created_at_ms":1`, `"created_at_ms":1,"created_at_ms":1`, 1),
		"unknown member twice":       strings.Replace(detailOK, `"created_at_ms":1`, `"created_at_ms":1,"x":1,"x":1`, 1),
		"no subject level":           strings.Replace(detailOK, `{"tenant":"acme"}`, `{"tenant":null}`, 1),
		"level too long":             strings.Replace(detailOK, `"acme"}`, `"`+strings.Repeat("x", 129)+`"}`, 1),
		"17 dimensions":              withDimensions(17),
		"null in a list":             strings.Replace(detailOK, `["tenant:acme"]`, `[null]`, 1),
		"trailing bytes":             detailOK + "]",
	} {
		require.NotEqual(t, detailOK, body, name)
		_, err := newClient(t, always(200, body)).GetReservation(t.Context(), "r-1", client.WithoutRetry())
		assert.Equal(t, client.Ambiguous, client.OutcomeOf(err), name)
	}
}

func TestUnknownMembersOfProvedAnswersCanBeIgnored(t *testing.T) {
	for _, call := range calls {
		body := strings.Replace(call.success, "{", `{"added":{"a":[1,{"b":null}]},`, 1)
		_, err := call.send(t.Context(), newClient(t, always(call.status, body)), client.WithoutRetry())
		assert.Equal(t, call.strict, err != nil, "%s refuses: %v", call.op, err)
		_, err = call.send(t.Context(), newClient(t, always(call.status, body), client.WithUnknownFields(client.Ignore)), client.WithoutRetry())
		assert.NoError(t, err, call.op)

		twice := strings.Replace(call.success, "{", `{"added":1,"added":2,`, 1)
		_, err = call.send(t.Context(), newClient(t, always(call.status, twice), client.WithUnknownFields(client.Ignore)), client.WithoutRetry())
		assert.Equal(t, client.Ambiguous, client.OutcomeOf(err), "%s: a member that is ignored must still be JSON", call.op)
	}
}

func TestInt64ExtremesSurviveEveryAmount(t *testing.T) {
	most := gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: math.MaxInt64}
	const amount = `{"unit":"USD_MICROCENTS","amount":9223372036854775807}`
	const balances = `[{"scope":"s","scope_path":"s","remaining":{"unit":"USD_MICROCENTS","amount":-9223372036854775808},"reserved":` + amount +
		`,"spent":` + amount + `,"debt":` + amount + `,"allocated":` + amount + `,"overdraft_limit":` + amount + `}]`
	wantBalances := []gen.Balance{{Scope: "s", ScopePath: "s",
		Remaining: gen.SignedAmount{Unit: gen.UnitEnumUSDMicrocents, Amount: math.MinInt64},
		Reserved:  &most, Spent: &most, Debt: &most, Allocated: &most, OverdraftLimit: &most}}

	server := always(200, `{"status":"COMMITTED","charged":`+amount+`,"released":`+amount+`,"balances":`+balances+`}`)
	commit, err := newClient(t, server).CommitReservation(t.Context(), "r-1", gen.CommitRequest{Actual: most})
	require.NoError(t, err)
	assert.Equal(t, most, commit.Charged)
	assert.Equal(t, &most, commit.Released)
	assert.Equal(t, wantBalances, commit.Balances)
	assert.Contains(t, server.attempts()[0].body, `"amount":9223372036854775807`)

	event, err := newClient(t, always(201, `{"status":"APPLIED","event_id":"e","charged":`+amount+`,"balances":`+balances+`}`)).
		CreateEvent(t.Context(), gen.EventCreateRequest{Subject: createRequest.Subject, Action: createRequest.Action, Actual: most})
	require.NoError(t, err)
	assert.Equal(t, &most, event.Charged, "a capped event tells what was applied")

	release, err := newClient(t, always(200, `{"status":"RELEASED","released":`+amount+`}`)).ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{})
	require.NoError(t, err)
	assert.Equal(t, most, release.Released)

	created, err := newClient(t, always(200, `{"decision":"ALLOW","affected_scopes":[],"reserved":`+amount+
		`,"expires_at_ms":9223372036854775807,"remaining_ttl_ms":9223372036854775807,"retry_after_ms":9223372036854775807}`)).
		CreateReservation(t.Context(), gen.ReservationCreateRequest{Subject: createRequest.Subject, Action: createRequest.Action, Estimate: most})
	require.NoError(t, err)
	assert.Equal(t, &most, created.Reserved)
	assert.EqualValues(t, int64(math.MaxInt64), *created.ExpiresAtMs)
	assert.EqualValues(t, int64(math.MaxInt64), *created.RemainingTTLMs)
	assert.EqualValues(t, int64(math.MaxInt64), *created.RetryAfterMs)

	read, err := newClient(t, always(200, `{"balances":`+balances+`}`)).GetBalances(t.Context(), balanceParams)
	require.NoError(t, err)
	assert.Equal(t, wantBalances, read.Balances)

	for _, beyond := range []string{"9223372036854775808", "-9223372036854775809", "1e19"} {
		_, err = newClient(t, always(200, `{"balances":[{"scope":"s","scope_path":"s","remaining":{"unit":"TOKENS","amount":`+beyond+`}}]}`)).
			GetBalances(t.Context(), balanceParams, client.WithoutRetry())
		assert.Equal(t, client.Ambiguous, client.OutcomeOf(err), beyond)
	}
}

func TestMetadataKeepsIntegersAbove2To53(t *testing.T) {
	body := strings.Replace(detailOK, `"scope_path"`, `"metadata":{"n":9007199254740993,"deep":[{"m":123456789012345678901234567890,"f":0.1}]},"scope_path"`, 1)
	detail, err := newClient(t, always(200, body)).GetReservation(t.Context(), "r-1")
	require.NoError(t, err)
	assert.Equal(t, json.Number("9007199254740993"), detail.Metadata["n"])

	server := always(200, commitOK)
	_, err = newClient(t, server).CommitReservation(t.Context(), "r-1", gen.CommitRequest{
		Actual:   commitRequest.Actual,
		Metadata: map[string]any{"copied": detail.Metadata, "own": int64(math.MaxInt64)},
		Metrics:  &gen.StandardMetrics{Custom: map[string]any{"n": uint64(math.MaxUint64)}},
	})
	require.NoError(t, err)
	for _, number := range []string{`"n":9007199254740993`, `"m":123456789012345678901234567890`, `"f":0.1`, `"own":9223372036854775807`, `"n":18446744073709551615`} {
		assert.Contains(t, server.attempts()[0].body, number)
	}
}

func TestEvidenceKeepsTheBytesItCameIn(t *testing.T) {
	body := "\n " + strings.Replace(evidenceOK, `,"later"`, " ,\t"+`"later"`, 1) + "\r\n"
	evidence, err := newClient(t, always(200, body)).GetEvidence(t.Context(), evidenceID)
	require.NoError(t, err)
	assert.Equal(t, body, string(evidence.Raw))
	assert.Equal(t, evidenceID, evidence.EvidenceID)
	assert.Equal(t, gen.CyclesEvidenceEnvelopeArtifactTypeCommit, evidence.ArtifactType)
	assert.Equal(t, []any{json.Number("1")}, evidence.AdditionalProperties["later"], "an open object keeps its members")
	assert.Equal(t, map[string]any{"n": json.Number("9007199254740993")}, evidence.Payload["commit"])

	for _, id := range []string{"", "x", strings.ToUpper(evidenceID), evidenceID[1:], evidenceID + "0", "../" + evidenceID[3:]} {
		server := always(200, body)
		_, err := newClient(t, server).GetEvidence(t.Context(), id)
		var refused *client.RequestError
		require.ErrorAs(t, err, &refused, id)
		assert.Equal(t, "evidence_id", refused.Field)
		assert.Empty(t, server.attempts())
	}
}

func TestAKeySetWithAForeignKeyStaysReadable(t *testing.T) {
	const body = `{"keys":[{"kty":"RSA","crv":"","alg":"RS256","x":"","kid":"k0","cycles_nbf_ms":-1,"n":"AQAB"},` +
		`{"kty":"OKP","crv":"Ed25519","x":"AAAA","kid":"k1","cycles_nbf_ms":1,"cycles_exp_ms":5}],"extra":true}`
	set, err := newClient(t, always(200, body)).GetEvidenceJWKS(t.Context())
	require.NoError(t, err)
	require.Len(t, set.Keys, 2)
	assert.Equal(t, "AQAB", set.Keys[0].AdditionalProperties["n"])
	assert.Nil(t, set.Keys[0].CyclesExpMs)
	assert.EqualValues(t, 5, *set.Keys[1].CyclesExpMs)
	assert.Equal(t, true, set.AdditionalProperties["extra"])
}

func TestDenyIsAnAnswerOfDecide(t *testing.T) {
	answer, err := newClient(t, always(200, `{"decision":"DENY","reason_code":"BUDGET_FROZEN","affected_scopes":["tenant:acme"],"deny_detail":{"x":1}}`)).
		Decide(t.Context(), decideRequest)
	require.NoError(t, err)
	assert.False(t, client.Allowed(answer.Decision))
	assert.Equal(t, "BUDGET_FROZEN", *answer.ReasonCode)
	assert.True(t, client.Allowed(gen.DecisionEnumAllow))
	assert.True(t, client.Allowed(gen.DecisionEnumAllowWithCaps))
	assert.False(t, client.Allowed("MAYBE"))
	assert.False(t, client.Allowed(""))
}

func TestARawBodyGoesOutByteForByte(t *testing.T) {
	raw := json.RawMessage(" {\"actual\" : {\"unit\":\"OF_TOMORROW\",\"amount\":1e0},\n\"idempotency_key\":\"k\\u0065y\",\"later\":[1,2]} ")
	for _, call := range calls {
		server := always(call.status, call.success)
		var meta client.Meta
		_, err := call.send(t.Context(), newClient(t, server), client.WithRawBody(raw), client.WithMeta(&meta))
		if !call.body {
			var refused *client.RequestError
			require.ErrorAs(t, err, &refused, call.op)
			assert.Empty(t, server.attempts())
			continue
		}
		require.NoError(t, err, call.op)
		assert.Equal(t, string(raw), server.attempts()[0].body)
		assert.Equal(t, "key", meta.IdempotencyKey, "read from the body")
	}
	for name, bad := range map[string]string{
		"empty": "", "null": "null", "array": "[]", "no key": "{}", "empty key": `{"idempotency_key":""}`, "number": `{"idempotency_key":1}`,
		"two keys": `{"idempotency_key":"a","idempotency_key":"a"}`, "trailing": `{"idempotency_key":"a"}x`,
		"long key": `{"idempotency_key":"` + strings.Repeat("k", 257) + `"}`,
	} {
		server := always(200, commitOK)
		_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest, client.WithRawBody(json.RawMessage(bad)))
		assert.Equal(t, client.Invalid, client.OutcomeOf(err), name)
		assert.Empty(t, server.attempts(), name)
	}
}

func TestARawBodyIsFrozenToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := json.RawMessage(`{"idempotency_key":"k1"}`)
		server := inTurn(func(*http.Request) (*http.Response, error) {
			copy(raw, `{"idempotency_key":"k2"}`)
			return reply(503, ""), nil
		}, replying(200, commitOK))
		_, err := newClient(t, server).CommitReservation(t.Context(), "r-1", commitRequest, client.WithRawBody(raw))
		require.NoError(t, err)
		assert.Equal(t, server.attempts()[0].body, server.attempts()[1].body)
	})
}

func TestTheTraceContextIsSentWithEachAttempt(t *testing.T) {
	type key struct{}
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
	synctest.Test(t, func(t *testing.T) {
		n := 0
		server := inTurn(replying(503, ""), replying(200, commitOK))
		c := newClient(t, server, client.WithTraceContext(func(ctx context.Context) string {
			n++
			return ctx.Value(key{}).(string) + string(rune('0'+n))
		}))
		_, err := c.CommitReservation(context.WithValue(t.Context(), key{}, parent), "r-1", commitRequest)
		require.NoError(t, err)
		attempts := server.attempts()
		assert.Equal(t, parent+"1", attempts[0].header.Get("traceparent"))
		assert.Equal(t, parent+"2", attempts[1].header.Get("traceparent"))
	})
	for _, bad := range []string{"", "x", "01" + parent[2:] + "1", strings.ToUpper(parent) + "1", parent, parent + "1-extra",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", parent + "\n"} {
		server := always(200, extendOK)
		c := newClient(t, server, client.WithTraceContext(func(context.Context) string { return bad }))
		_, err := c.ExtendReservation(t.Context(), "r-1", extendRequest)
		require.NoError(t, err)
		assert.NotContains(t, server.attempts()[0].header, "Traceparent", "%q", bad)
	}
}

func TestTheZeroAttemptTimeoutIsRefused(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		server := always(200, extendOK)
		_, err := newClient(t, server).ExtendReservation(t.Context(), "r-1", extendRequest, client.WithAttemptTimeout(d))
		assert.Equal(t, client.Invalid, client.OutcomeOf(err))
		assert.Empty(t, server.attempts())
	}
}
