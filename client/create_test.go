package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

var errReset = syscall.ECONNRESET

// An open create is repeated once, at once, with the same key and the same
// bytes; everything else is returned as it is.
func TestCreateRecovery(t *testing.T) {
	type step = func(*http.Request) (*http.Response, error)
	ok := replying(200, createOK)
	for _, tc := range []struct {
		name     string
		steps    []step
		attempts int
		want     client.Outcome
	}{
		{"answered", []step{ok}, 1, client.Success},
		{"denied", []step{replying(409, errorBody("BUDGET_EXCEEDED"))}, 1, client.Rejected},
		{"throttled", []step{replying(429, errorBody("LIMIT_EXCEEDED"), "Retry-After", "1"), ok}, 1, client.Throttled},
		{"redirected", []step{replying(307, ""), ok}, 1, client.Unrecognized},
		{"a proxy's 404", []step{replying(404, "<html>"), ok}, 1, client.Unrecognized},
		{"not authorized", []step{replying(401, errorBody("UNAUTHORIZED")), ok}, 1, client.Unauthorized},
		{"reset, then answered", []step{failing(errReset), ok}, 2, client.Success},
		{"timeout, then answered", []step{hanging, ok}, 2, client.Success},
		{"503, then answered", []step{replying(503, ""), ok}, 2, client.Success},
		{"503 with Retry-After, then answered", []step{replying(503, "", "Retry-After", "60"), ok}, 2, client.Success},
		{"202, then answered", []step{replying(202, createOK), ok}, 2, client.Success},
		{"malformed 200, then answered", []step{replying(200, "{}"), ok}, 2, client.Success},
		{"unknown decision, then answered", []step{replying(200, `{"decision":"MAYBE","affected_scopes":[]}`), ok}, 2, client.Success},
		{"reset twice", []step{failing(errReset), failing(errReset), ok}, 2, client.Transient},
		{"503 twice", []step{replying(503, ""), replying(503, ""), ok}, 2, client.Transient},
		{"ambiguous twice", []step{replying(200, "null"), replying(200, "null"), ok}, 2, client.Ambiguous},
		{"reset, then denied", []step{failing(errReset), replying(409, errorBody("BUDGET_EXCEEDED"))}, 2, client.Rejected},
		{"reset, then throttled", []step{failing(errReset), replying(429, "", "Retry-After", "1"), ok}, 2, client.Throttled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := inTurn(tc.steps...)
				var meta client.Meta
				answer, err := newClient(t, server).CreateReservation(t.Context(), createRequest, client.WithMeta(&meta))
				require.Equal(t, tc.want, client.OutcomeOf(err), "%v", err)
				attempts := server.attempts()
				require.Len(t, attempts, tc.attempts)
				assert.Equal(t, tc.attempts, meta.Attempts)
				if tc.attempts == 2 {
					assert.Equal(t, attempts[0].body, attempts[1].body, "the same bytes")
					wait := attempts[1].at.Sub(attempts[0].at)
					if tc.name == "timeout, then answered" {
						wait -= client.DefaultRequestTimeout
					}
					assert.Zero(t, wait, "at once")
				}
				var body gen.ReservationCreateRequest
				require.NoError(t, json.Unmarshal([]byte(attempts[0].body), &body))
				assert.Equal(t, meta.IdempotencyKey, body.IdempotencyKey)
				if tc.want == client.Success {
					assert.Equal(t, "r-1", *answer.ReservationID)
					assert.Equal(t, attempts[len(attempts)-1].at, meta.Sent, "timing of the attempt that answered")
				} else {
					assert.Nil(t, answer)
					assert.Equal(t, meta.IdempotencyKey, keyOf(err), "the key is the way back")
				}
			})
		})
	}
}

func keyOf(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.IdempotencyKey
	}
	if e, ok := errors.AsType[*client.ResponseError](err); ok {
		return e.IdempotencyKey
	}
	if e, ok := errors.AsType[*client.TransportError](err); ok {
		return e.IdempotencyKey
	}
	return ""
}

func TestCreateWithoutRetrySendsOneAttempt(t *testing.T) {
	server := always(503, "")
	_, err := newClient(t, server).CreateReservation(t.Context(), createRequest, client.WithoutRetry())
	assert.Equal(t, client.Transient, client.OutcomeOf(err))
	assert.Len(t, server.attempts(), 1)
}

func TestAllowWithoutIDIsHandedOver(t *testing.T) {
	answer, err := newClient(t, always(200, `{"decision":"ALLOW","affected_scopes":[]}`)).
		CreateReservation(t.Context(), createRequest)
	require.NoError(t, err)
	assert.Nil(t, answer.ReservationID)
	assert.Equal(t, gen.DecisionEnumAllow, answer.Decision)
}

func TestCreateAcceptsTheDenyDetailOfALaterEdition(t *testing.T) {
	const body = `{"decision":"DENY","affected_scopes":["tenant:acme"],"reason_code":"ACTION_QUOTA_EXCEEDED","deny_detail":{"rule":{"id":"q1"},"limit":3}}`
	answer, err := newClient(t, always(200, body)).CreateReservation(t.Context(), createRequest)
	require.NoError(t, err)
	assert.Equal(t, "ACTION_QUOTA_EXCEEDED", *answer.ReasonCode, "an unknown reason decodes as itself")

	_, err = newClient(t, always(200, `{"decision":"DENY","affected_scopes":[],"deny_detail":{"a":1,"a":2}}`)).
		CreateReservation(t.Context(), createRequest, client.WithoutRetry())
	assert.Equal(t, client.Ambiguous, client.OutcomeOf(err), "JSON rules hold inside it")
}

func TestAnEmptyKeyIsFilledWithAFreshUUID(t *testing.T) {
	server := always(200, createOK)
	c := newClient(t, server)
	keys := map[string]bool{}
	for range 3 {
		req := createRequest
		var meta client.Meta
		_, err := c.CreateReservation(t.Context(), req, client.WithMeta(&meta))
		require.NoError(t, err)
		assert.Empty(t, req.IdempotencyKey, "the caller's request is not written to")
		assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), meta.IdempotencyKey)
		keys[meta.IdempotencyKey] = true
	}
	assert.Len(t, keys, 3)

	req := createRequest
	req.IdempotencyKey = "mine"
	var meta client.Meta
	_, err := c.CreateReservation(t.Context(), req, client.WithMeta(&meta))
	require.NoError(t, err)
	assert.Equal(t, "mine", meta.IdempotencyKey)
	assert.Contains(t, server.attempts()[3].body, `"idempotency_key":"mine"`)
}

// A request whose maps the caller changes while a retry waits goes out as it
// was.
func TestTheBodyIsFrozenBeforeTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := commitRequest
		req.Metadata = map[string]any{"step": 1}
		server := inTurn(func(*http.Request) (*http.Response, error) {
			req.Metadata["step"] = 2
			return reply(503, ""), nil
		}, replying(200, commitOK))
		_, err := newClient(t, server, client.WithRetry(client.RetryPolicy{InitialDelay: time.Second})).
			CommitReservation(t.Context(), "r-1", req)
		require.NoError(t, err)
		attempts := server.attempts()
		require.Len(t, attempts, 2)
		assert.Contains(t, attempts[0].body, `"step":1`)
		assert.Equal(t, attempts[0].body, attempts[1].body)
	})
}

func TestTheUnitSentIsNamedWhenTheBudgetIsNotFound(t *testing.T) {
	_, err := newClient(t, always(404, errorBody("NOT_FOUND"))).CreateReservation(t.Context(), createRequest)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, gen.UnitEnumTokens, refused.Unit)
	assert.Contains(t, err.Error(), "unit sent: TOKENS")
}

func TestSubjectDefaultsFillWhatTheRequestLeavesOut(t *testing.T) {
	server := always(200, createOK)
	defaults := gen.Subject{Tenant: ptr("acme"), App: ptr("shop"), Dimensions: map[string]string{"team": "a", "cost": "1"}}
	c := newClient(t, server, client.WithSubject(defaults))
	*defaults.Tenant = "changed later"

	req := createRequest
	req.Subject = gen.Subject{App: ptr("other"), Agent: ptr("bot"), Dimensions: map[string]string{"team": "b"}}
	_, err := c.CreateReservation(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"team": "b"}, req.Subject.Dimensions, "the caller's request is not written to")
	assert.Nil(t, req.Subject.Tenant)

	var sent gen.ReservationCreateRequest
	require.NoError(t, json.Unmarshal([]byte(server.attempts()[0].body), &sent))
	assert.Equal(t, gen.Subject{
		Tenant: ptr("acme"), App: ptr("other"), Agent: ptr("bot"),
		Dimensions: map[string]string{"team": "b", "cost": "1"},
	}, sent.Subject)

	_, err = c.CreateReservation(t.Context(), createRequest)
	require.NoError(t, err)
	assert.Contains(t, server.attempts()[1].body, `"dimensions":{"cost":"1","team":"a"}`, "the defaults are not written to either")
}
