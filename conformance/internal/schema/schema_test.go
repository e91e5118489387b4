package schema

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

const extended = `{"status":"ACTIVE","expires_at_ms":60000,"remaining_ttl_ms":1000,"balances":[
	{"scope":"tenant:acme","scope_path":"tenant:acme","remaining":{"unit":"TOKENS","amount":-5},"debt":{"unit":"TOKENS","amount":5}},
	{"scope":"tenant:acme","scope_path":"tenant:acme","remaining":{"unit":"TOKENS","amount":7}}]}`

func answer(op suite.Op, status int, body string) *suite.Answer {
	a := &suite.Answer{Request: &suite.Request{Op: op}, Status: status, Body: []byte(body), Header: http.Header{}}
	a.Header.Set("Content-Type", "application/json;charset=UTF-8")
	a.Header.Set(suite.HeaderTrace, strings.Repeat("0a", 16))
	a.Decode()
	return a
}

func validator(t *testing.T) *Validator {
	t.Helper()
	v, err := New()
	require.NoError(t, err)
	return v
}

func TestAnswersThatKeepTheContract(t *testing.T) {
	v := validator(t)
	for name, a := range map[string]*suite.Answer{
		"extend":                     answer(suite.Extend, 200, extended),
		"integers in other spelling": answer(suite.Extend, 200, `{"status":"ACTIVE","expires_at_ms":6e4,"remaining_ttl_ms":1000.0}`),
		"the largest integer":        answer(suite.Extend, 200, `{"status":"ACTIVE","expires_at_ms":9223372036854775807}`),
		"declared error":             answer(suite.Extend, 404, `{"error":"NOT_FOUND","message":"","request_id":"r"}`),
		"undeclared error":           answer(suite.Extend, 418, `{"error":"INTERNAL_ERROR","message":"","request_id":"r"}`),
		"event":                      answer(suite.Event, 201, `{"status":"APPLIED","event_id":"e"}`),
		"deny_detail on create":      answer(suite.Create, 200, `{"decision":"DENY","affected_scopes":[],"reason_code":"BUDGET_EXCEEDED","deny_detail":{"scope":"x"}}`),
		"deny_detail on decide":      answer(suite.Decide, 200, `{"decision":"DENY","deny_detail":{"any":[1]}}`),
		"unknown reason code":        answer(suite.Decide, 200, `{"decision":"DENY","reason_code":"MOON_PHASE"}`),
		"anything in metadata":       answer(suite.Get, 200, strings.Replace(detail, `"metadata":{}`, `"metadata":{"n":18446744073709551616,"x":null}`, 1)),
		"null where it is allowed":   answer(suite.JWKS, 200, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"x","kid":"k","cycles_nbf_ms":0,"cycles_exp_ms":null}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			judged, wrong := v.Answer(a)
			assert.True(t, judged)
			assert.Empty(t, wrong)
		})
	}
}

const detail = `{"reservation_id":"r","status":"ACTIVE","subject":{"tenant":"acme"},"action":{"kind":"k","name":"n"},
	"reserved":{"unit":"TOKENS","amount":1},"created_at_ms":0,"expires_at_ms":1,"scope_path":"tenant:acme","affected_scopes":["tenant:acme"],"metadata":{}}`

func TestAnswersThatBreakTheContract(t *testing.T) {
	v := validator(t)
	in := func(old, new string) string { return strings.Replace(extended, old, new, 1) }
	for name, c := range map[string]struct {
		answer      *suite.Answer
		where, what string
	}{
		"empty object":         {answer(suite.Extend, 200, `{}`), "extendReservation 200 expires_at_ms", `"expires_at_ms" is missing`},
		"unknown member":       {answer(suite.Extend, 200, in(`"status"`, `"extra":1,"status"`)), "extendReservation 200 body", `"extra" is unsupported`},
		"member in other case": {answer(suite.Extend, 200, in(`"status"`, `"Status"`)), "extendReservation 200 body", `"Status" is unsupported`},
		"wrong enum":           {answer(suite.Extend, 200, in(`"ACTIVE"`, `"EXPIRED"`)), "extendReservation 200 status", "is not one of the values"},
		"null for an optional": {answer(suite.Extend, 200, in(`1000`, `null`)), "extendReservation 200 remaining_ttl_ms", "not nullable"},
		"negative":             {answer(suite.Extend, 200, in(`1000`, `-1`)), "extendReservation 200 remaining_ttl_ms", "must be at least 0"},
		"fraction":             {answer(suite.Extend, 200, in(`1000`, `0.5`)), "extendReservation 200 remaining_ttl_ms", "integer"},
		"2^63":                 {answer(suite.Extend, 200, in(`60000`, `9223372036854775808`)), "extendReservation 200 expires_at_ms", "is not an integer of 64 bits"},
		"2^63 in an element":   {answer(suite.Extend, 200, in(`-5`, `-9223372036854775809`)), "extendReservation 200 balances[].remaining.amount", "is not an integer of 64 bits"},
		"string for a number":  {answer(suite.Extend, 200, in(`1000`, `"1000"`)), "extendReservation 200 remaining_ttl_ms", "integer"},
		"wrong in an element":  {answer(suite.Extend, 200, in(`"amount":7`, `"amount":"7"`)), "extendReservation 200 balances[].remaining.amount", "integer"},
		"member twice":         {answer(suite.Extend, 200, in(`"status"`, `"status":"ACTIVE","status"`)), "extendReservation 200 body", "member named twice"},
		"trailing bytes":       {answer(suite.Extend, 200, extended+`{}`), "extendReservation 200 body", "bytes after the document"},
		"not UTF-8":            {answer(suite.Extend, 200, in("ACTIVE", "\xff")), "extendReservation 200 body", "invalid UTF-8"},
		"no body":              {answer(suite.Extend, 200, ""), "extendReservation 200 body", "not JSON"},
		"null":                 {answer(suite.Extend, 200, "null"), "extendReservation 200 body", "is null"},
		"null with space":      {answer(suite.Extend, 200, " null\n"), "extendReservation 200 body", "is null"},
		"array":                {answer(suite.Extend, 200, "[]"), "extendReservation 200 body", "object"},
		"undeclared success":   {answer(suite.Event, 200, `{"status":"APPLIED","event_id":"e"}`), "createEvent 200 status", "is not one that the operation has"},
		"redirect":             {answer(suite.Extend, 302, `{}`), "extendReservation 302 status", "is not one that the operation has"},
		"unknown error code":   {answer(suite.Extend, 404, `{"error":"GONE","message":"","request_id":"r"}`), "extendReservation 404 error", "is not one of the values"},
		"undeclared error":     {answer(suite.Extend, 418, `{"oops":true}`), "extendReservation 418 error", "is missing"},
		"wrong constant":       {answer(suite.JWKS, 200, `{"keys":[{"kty":"RSA","crv":"Ed25519","x":"x","kid":"k","cycles_nbf_ms":0}]}`), "getEvidenceJwks 200 keys[].kty", "is not one of the values"},
		"deny_detail elsewhere": {
			answer(suite.Extend, 200, in(`"status"`, `"deny_detail":{},"status"`)), "extendReservation 200 body", `"deny_detail" is unsupported`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			judged, wrong := v.Answer(c.answer)
			assert.True(t, judged)
			for _, w := range wrong {
				if w.Where == c.where && strings.Contains(w.What, c.what) {
					return
				}
			}
			t.Errorf("no finding %q %q among %v", c.where, c.what, wrong)
		})
	}
}

func TestTimeLeftUnderAnotherNameIsAFindingOfItsOwn(t *testing.T) {
	v := validator(t)
	const live = `{"decision":"ALLOW","affected_scopes":[],"reservation_id":"r","expires_at_ms":1,"ttl_left":1}`
	for name, c := range map[string]struct {
		answer *suite.Answer
		found  bool
	}{
		"extend":               {answer(suite.Extend, 200, `{"status":"ACTIVE","expires_at_ms":60000,"ttl_left":1000}`), true},
		"create":               {answer(suite.Create, 200, live), true},
		"dry run":              {answer(suite.Create, 200, strings.Replace(live, `"reservation_id":"r",`, "", 1)), false},
		"extra beside the own": {answer(suite.Extend, 200, strings.Replace(extended, `"status"`, `"extra":1,"status"`, 1)), false},
		"left out":             {answer(suite.Extend, 200, `{"status":"ACTIVE","expires_at_ms":60000}`), false},
		"another operation":    {answer(suite.Release, 200, `{"status":"RELEASED","released":{"unit":"TOKENS","amount":1},"ttl_left":1}`), false},
		"an error":             {answer(suite.Extend, 404, `{"error":"NOT_FOUND","message":"","request_id":"r","ttl_left":1}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong := v.Answer(c.answer)
			found := false
			for _, w := range wrong {
				found = found || strings.HasSuffix(w.Where, " 200 remaining_ttl_ms") && strings.HasPrefix(w.What, "is absent")
			}
			assert.Equal(t, c.found, found, wrong)
		})
	}
}

func TestOneFaultIsOneFinding(t *testing.T) {
	v := validator(t)
	for name, body := range map[string]string{
		"fraction":   strings.Replace(extended, `1000`, `1.5`, 1),
		"both items": strings.NewReplacer(`"amount":-5`, `"amount":"x"`).Replace(extended),
	} {
		_, wrong := v.Answer(answer(suite.Extend, 200, body))
		assert.Len(t, wrong, 1, name)
	}
}

func TestHeadersThatBreakTheContract(t *testing.T) {
	v := validator(t)
	for name, c := range map[string]struct{ header, value, what string }{
		"no trace id":         {suite.HeaderTrace, "", "is missing"},
		"trace id upper-case": {suite.HeaderTrace, strings.Repeat("0A", 16), "is not 32 lower-case hex digits"},
		"trace id too long":   {suite.HeaderTrace, strings.Repeat("0a", 17), "is not 32 lower-case hex digits"},
		"no content type":     {"Content-Type", "", "is not application/json"},
		"HTML":                {"Content-Type", "text/html", "is not application/json"},
		"problem":             {"Content-Type", "application/problem+json", "is not application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			a := answer(suite.Extend, 200, extended)
			a.Header.Set(c.header, c.value)
			_, wrong := v.Answer(a)
			assert.Equal(t, []suite.Wrong{{Where: "extendReservation 200 header " + c.header, What: c.what}}, wrong)
		})
	}
}

func TestRequestOutsideTheContractIsNotJudged(t *testing.T) {
	judged, wrong := validator(t).Answer(answer("", 500, "<html>"))
	assert.False(t, judged)
	assert.Empty(t, wrong)
}

func TestEveryOperationIsJudged(t *testing.T) {
	v := validator(t)
	assert.Len(t, v.Ops(), 11)
	for _, op := range v.Ops() {
		judged, wrong := v.Answer(answer(op, 200, `{}`))
		assert.True(t, judged)
		assert.NotEmpty(t, wrong, op)
	}
}

func TestFindingsRepeatNothingThatTheServerSaid(t *testing.T) {
	const secret = "hush-hush"
	body, err := json.Marshal(map[string]any{"error": secret, "message": 1, "request_id": []string{secret}, "trace_id": secret})
	require.NoError(t, err)
	_, wrong := validator(t).Answer(answer(suite.Extend, 404, string(body)))
	require.NotEmpty(t, wrong)
	for _, w := range wrong {
		assert.NotContains(t, w.What, secret)
	}
}
