package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

// answerRow is one answer and what it means, whatever was asked.
type answerRow struct {
	status int
	body   string
	header []string
	want   client.Outcome
}

var html = []string{"Content-Type", "text/html"}

var refusals = []answerRow{
	{300, "", nil, client.Unrecognized},
	{301, "", []string{"Location", "http://elsewhere.test/"}, client.Unrecognized},
	{302, "<html>", html, client.Unrecognized},
	{303, "", nil, client.Unrecognized},
	{304, "", nil, client.Unrecognized},
	{307, errorBody("RESERVATION_EXPIRED"), nil, client.Unrecognized},
	{308, "", []string{"Location", "/elsewhere"}, client.Unrecognized},
	{400, errorBody("INVALID_REQUEST"), nil, client.Rejected},
	{400, errorBody("UNIT_MISMATCH"), nil, client.Rejected},
	{400, "<html>", html, client.Unrecognized},
	{400, "", nil, client.Unrecognized},
	{400, `"INVALID_REQUEST"`, nil, client.Unrecognized},
	{400, `["INVALID_REQUEST"]`, nil, client.Unrecognized},
	{400, `{"message":"codeless"}`, nil, client.Unrecognized},
	{400, errorBody("SOMETHING_NEW"), nil, client.Unrecognized},
	{400, errorBody("invalid_request"), nil, client.Unrecognized},
	{400, errorBody("LIMIT_EXCEEDED"), nil, client.Unrecognized},
	{400, errorBody("LIMIT_EXCEEDED"), []string{"Retry-After", "3"}, client.Unrecognized},
	{400, errorBody("INTERNAL_ERROR"), nil, client.Unrecognized},
	{400, errorBody("RESERVATION_EXPIRED"), nil, client.Expired},
	{400, errorBody("IDEMPOTENCY_MISMATCH"), nil, client.Mismatch},
	{401, errorBody("UNAUTHORIZED"), nil, client.Unauthorized},
	{401, "", nil, client.Unauthorized},
	{401, "<html>", html, client.Unauthorized},
	{401, errorBody("SOMETHING_NEW"), nil, client.Unauthorized},
	{403, errorBody("FORBIDDEN"), nil, client.Unauthorized},
	{403, "<html>", html, client.Unauthorized},
	{403, errorBody("NOT_FOUND"), nil, client.Unauthorized},
	{404, errorBody("NOT_FOUND"), nil, client.Rejected},
	{404, "", nil, client.Unrecognized},
	{404, "<html>", html, client.Unrecognized},
	{405, "", nil, client.Unrecognized},
	{408, "", nil, client.Unrecognized},
	{409, errorBody("BUDGET_EXCEEDED"), nil, client.Rejected},
	{409, errorBody("BUDGET_EXCEEDED"), []string{"Retry-After", "3"}, client.Rejected},
	{409, errorBody("BUDGET_FROZEN"), nil, client.Rejected},
	{409, errorBody("BUDGET_CLOSED"), nil, client.Rejected},
	{409, errorBody("OVERDRAFT_LIMIT_EXCEEDED"), nil, client.Rejected},
	{409, errorBody("DEBT_OUTSTANDING"), nil, client.Rejected},
	{409, errorBody("MAX_EXTENSIONS_EXCEEDED"), nil, client.Rejected},
	{409, errorBody("TENANT_CLOSED"), nil, client.Rejected},
	{409, errorBody("RESERVATION_FINALIZED"), nil, client.Finalized},
	{409, errorBody("IDEMPOTENCY_MISMATCH"), nil, client.Mismatch},
	{409, errorBody("RESERVATION_EXPIRED"), nil, client.Expired},
	{409, errorBody("INTERNAL_ERROR"), nil, client.Unrecognized},
	{409, "{}", nil, client.Unrecognized},
	{410, errorBody("RESERVATION_EXPIRED"), nil, client.Expired},
	{410, "", nil, client.Expired},
	{410, "<html>", html, client.Expired},
	{410, errorBody("RESERVATION_EXPIRED")[:30], nil, client.Expired},
	{422, errorBody("INVALID_REQUEST"), nil, client.Rejected},
	{429, errorBody("LIMIT_EXCEEDED"), []string{"Retry-After", "3"}, client.Throttled},
	{429, "", nil, client.Throttled},
	{429, "<html>", html, client.Throttled},
	{429, errorBody("BUDGET_EXCEEDED"), nil, client.Throttled},
	{429, errorBody("RESERVATION_EXPIRED"), nil, client.Throttled},
	{429, errorBody("LIMIT_EXCEEDED"), []string{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}, client.Throttled},
	{500, errorBody("INTERNAL_ERROR"), nil, client.Transient},
	{500, "<html>", html, client.Transient},
	{500, errorBody("RESERVATION_EXPIRED"), nil, client.Transient},
	{502, "", nil, client.Transient},
	{503, "<html>", append([]string{"Retry-After", "3"}, html...), client.Transient},
	{504, "", nil, client.Transient},
	{599, "", nil, client.Transient},
	{600, errorBody("NOT_FOUND"), nil, client.Unrecognized},
}

// positives are the answers of the 2xx range for an operation.
func positives(status int, success string) []answerRow {
	other := 200
	if status == 200 {
		other = 201
	}
	return []answerRow{
		{status, success, nil, client.Success},
		{status, "\t\r\n " + success + " \n", nil, client.Success},
		{status, success, []string{"Content-Type", "Application/JSON ; charset=utf-8"}, client.Success},
		{status, success, []string{"X-RateLimit-Reset", "soon", "X-Cycles-Trace-Id", "ZZ", "Retry-After", "x"}, client.Success},
		{other, success, nil, client.Ambiguous},
		{202, success, nil, client.Ambiguous},
		{204, "", nil, client.Ambiguous},
		{206, success, nil, client.Ambiguous},
		{299, success, nil, client.Ambiguous},
		{status, success, html, client.Ambiguous},
		{status, success, []string{"Content-Type", "application/jsonp"}, client.Ambiguous},
		{status, success, []string{"Content-Type", ""}, client.Ambiguous},
		{status, "<html>", html, client.Ambiguous},
		{status, "", nil, client.Ambiguous},
		{status, "{}", nil, client.Ambiguous},
		{status, "null", nil, client.Ambiguous},
		{status, "[]", nil, client.Ambiguous},
		{status, `""`, nil, client.Ambiguous},
		{status, success[:len(success)-1], nil, client.Ambiguous},
		{status, success + ",", nil, client.Ambiguous},
		{status, success + success, nil, client.Ambiguous},
		{status, "[" + success + "]", nil, client.Ambiguous},
		{status, strings.ToUpper(success), nil, client.Ambiguous},
		{status, strings.Replace(success, `"`, `'`, 2), nil, client.Ambiguous},
		{status, strings.Replace(success, "{", "{\"\xff\":1,", 1), nil, client.Ambiguous},
		{status, strings.Replace(success, "{", `{"\ud800":1,`, 1), nil, client.Ambiguous},
		{status, errorBody("NOT_FOUND"), nil, client.Ambiguous},
	}
}

func TestOutcomeOfEveryAnswerToEveryOperation(t *testing.T) {
	rows := 0
	for _, call := range calls {
		for i, row := range append(positives(call.status, call.success), refusals...) {
			rows++
			name := fmt.Sprintf("%s row %d: %d %.40q %q", call.op, i, row.status, row.body, row.header)
			server := always(row.status, row.body, row.header...)
			var meta client.Meta
			_, err := call.send(t.Context(), newClient(t, server), client.WithoutRetry(), client.WithMeta(&meta))

			require.Equal(t, row.want, client.OutcomeOf(err), "%s: %v", name, err)
			if err != nil {
				require.Equal(t, row.want, client.OutcomeOf(fmt.Errorf("wrapped: %w", err)), name)
			}
			require.Equal(t, row.status, meta.Status, name)
			require.Equal(t, "req-1", meta.RequestID, name)
			require.Equal(t, 1, meta.Attempts, name)
			require.Len(t, server.attempts(), 1, name)
			if refused, ok := errors.AsType[*client.Error](err); ok {
				require.GreaterOrEqual(t, row.status, 300, name)
				require.Equal(t, row.status, refused.Status, name)
				require.Equal(t, call.op, refused.Op, name)
				require.Equal(t, "req-1", refused.RequestID, name)
				require.Equal(t, meta.IdempotencyKey, refused.IdempotencyKey, name)
				require.Equal(t, strings.Contains(call.path, "r-1"), refused.ReservationID == "r-1", name)
				_, stated := refused.RetryAfter()
				require.Equal(t, strings.Contains(strings.Join(row.header, " "), "Retry-After 3"), stated, name)
			} else if err != nil {
				unproved, ok := errors.AsType[*client.ResponseError](err)
				require.True(t, ok, "%s: %T", name, err)
				require.Less(t, row.status, 300, name)
				require.Equal(t, row.status, unproved.Status, name)
				require.Equal(t, call.op, unproved.Op, name)
				require.Equal(t, meta.IdempotencyKey, unproved.IdempotencyKey, name)
			}
		}
	}
	assert.GreaterOrEqual(t, rows, 300)
}

func TestOutcomeOfErrorsThatAreNoAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want client.Outcome
	}{
		"nil":                  {nil, client.Success},
		"context canceled":     {context.Canceled, client.Canceled},
		"deadline":             {fmt.Errorf("x: %w", context.DeadlineExceeded), client.Canceled},
		"somebody else's":      {io.ErrUnexpectedEOF, client.Transient},
		"not sent":             {&client.RequestError{}, client.Invalid},
		"transport":            {&client.TransportError{}, client.Transient},
		"timeout":              {&client.TransportError{Timeout: true}, client.Transient},
		"canceled":             {&client.TransportError{Canceled: true}, client.Canceled},
		"bad answer":           {&client.ResponseError{Status: 200}, client.Ambiguous},
		"a refusal inside one": {&client.TransportError{Canceled: true, Err: &client.Error{Status: 410}}, client.Canceled},
	} {
		assert.Equal(t, tc.want, client.OutcomeOf(tc.err), name)
	}
	assert.Equal(t, "success", client.Success.String())
	assert.Equal(t, "invalid", client.Invalid.String())
	assert.Equal(t, "unknown", client.Outcome(99).String())
	assert.Equal(t, "unknown", client.Outcome(-1).String())
}

// A failing transport is the same to every operation.
func TestATransportThatFailsIsTransientForEveryOperation(t *testing.T) {
	for _, call := range calls {
		for name, fail := range map[string]func(*http.Request) (*http.Response, error){
			"reset": failing(errReset), "EOF": failing(io.EOF), "cut": failing(io.ErrUnexpectedEOF),
			"someone's context": failing(context.Canceled),
		} {
			_, err := call.send(t.Context(), newClient(t, inTurn(fail)), client.WithoutRetry())
			var broken *client.TransportError
			require.ErrorAs(t, err, &broken)
			assert.Equal(t, client.Transient, client.OutcomeOf(err), "%s %s", call.op, name)
			assert.Equal(t, call.op, broken.Op)
			assert.Equal(t, 1, broken.Attempts)
			assert.False(t, broken.Timeout)
		}
	}
}
