package client_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

func TestEveryCodeHasASentinel(t *testing.T) {
	sentinels := map[gen.ErrorCode]error{
		gen.ErrorCodeInvalidRequest:         client.ErrInvalidRequest,
		gen.ErrorCodeUnauthorized:           client.ErrUnauthorized,
		gen.ErrorCodeForbidden:              client.ErrForbidden,
		gen.ErrorCodeNotFound:               client.ErrNotFound,
		gen.ErrorCodeBudgetExceeded:         client.ErrBudgetExceeded,
		gen.ErrorCodeBudgetFrozen:           client.ErrBudgetFrozen,
		gen.ErrorCodeBudgetClosed:           client.ErrBudgetClosed,
		gen.ErrorCodeReservationExpired:     client.ErrReservationExpired,
		gen.ErrorCodeReservationFinalized:   client.ErrReservationFinalized,
		gen.ErrorCodeIdempotencyMismatch:    client.ErrIdempotencyMismatch,
		gen.ErrorCodeUnitMismatch:           client.ErrUnitMismatch,
		gen.ErrorCodeOverdraftLimitExceeded: client.ErrOverdraftLimitExceeded,
		gen.ErrorCodeDebtOutstanding:        client.ErrDebtOutstanding,
		gen.ErrorCodeMaxExtensionsExceeded:  client.ErrMaxExtensionsExceeded,
		gen.ErrorCodeLimitExceeded:          client.ErrLimitExceeded,
		gen.ErrorCodeTenantClosed:           client.ErrTenantClosed,
		gen.ErrorCodeInternalError:          client.ErrInternalError,
	}
	require.Len(t, sentinels, 17)
	for code := range sentinels {
		_, err := newClient(t, always(409, errorBody(string(code)))).ExtendReservation(t.Context(), "r-1", extendRequest)
		for other, sentinel := range sentinels {
			assert.Equal(t, code == other, errors.Is(err, sentinel), "%s is %s", code, other)
		}
	}
	_, err := newClient(t, always(409, "")).ExtendReservation(t.Context(), "r-1", extendRequest)
	for _, sentinel := range sentinels {
		assert.NotErrorIs(t, err, sentinel, "an error without a code is none of them")
	}
}

func TestAnErrorCarriesWhatTheServerSaid(t *testing.T) {
	const body = `{"error":"UNIT_MISMATCH","message":"wrong unit","request_id":"req-body","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
		"details":{"scope":"tenant:acme","limit":9007199254740993},"unknown":[1],
		"cycles_evidence":{"evidence_id":"` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `","cycles_evidence_url":"https://e.test/v1/evidence/x"}}`
	_, err := newClient(t, always(400, body, "X-Request-Id", "")).CommitReservation(t.Context(), "r-1", commitRequest)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, client.OpCommitReservation, refused.Op)
	assert.Equal(t, 400, refused.Status)
	assert.Equal(t, gen.ErrorCodeUnitMismatch, refused.Code)
	assert.Equal(t, "wrong unit", refused.Message)
	assert.Equal(t, "req-body", refused.RequestID, "from the body when the header is missing")
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", refused.TraceID)
	assert.Equal(t, "9007199254740993", fmt.Sprint(refused.Details["limit"]), "no digit is lost")
	require.NotNil(t, refused.Evidence)
	assert.Equal(t, "r-1", refused.ReservationID)
	assert.Equal(t, 1, refused.Attempts)
	for _, part := range []string{"commitReservation", "400", "UNIT_MISMATCH", "wrong unit", "r-1", refused.IdempotencyKey, "req-body", "TOKENS"} {
		assert.Contains(t, err.Error(), part)
	}
}

func TestErrorBodiesThatAreNotWhatTheyShouldBe(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		code gen.ErrorCode
	}{
		"html":                    {"<html>", ""},
		"empty":                   {"", ""},
		"null":                    {"null", ""},
		"string":                  {`"NOT_FOUND"`, ""},
		"array":                   {`[{"error":"NOT_FOUND"}]`, ""},
		"codeless object":         {`{"message":"no"}`, ""},
		"number for a code":       {`{"error":404}`, ""},
		"object for a code":       {`{"error":{"code":"NOT_FOUND"}}`, ""},
		"null for a code":         {`{"error":null}`, ""},
		"wrong-case member":       {`{"Error":"NOT_FOUND"}`, ""},
		"truncated":               {`{"error":"NOT_FOUND"`, ""},
		"trailing bytes":          {errorBody("NOT_FOUND") + "}", ""},
		"invalid UTF-8":           {"{\"error\":\"NOT_FOUND\",\"message\":\"\xff\"}", ""},
		"unknown code":            {errorBody("QUOTA_OF_0_1_27"), "QUOTA_OF_0_1_27"},
		"code alone":              {`{"error":"NOT_FOUND"}`, "NOT_FOUND"},
		"other members mistyped":  {`{"error":"NOT_FOUND","message":1,"request_id":[],"details":"x","trace_id":false}`, "NOT_FOUND"},
		"evidence that is broken": {`{"error":"NOT_FOUND","cycles_evidence":{"evidence_id":"x"}}`, "NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, always(404, tc.body, "X-Cycles-Trace-Id", "4bf92f3577b34da6a3ce929d0e0e4736")).
				ExtendReservation(t.Context(), "r-1", extendRequest)
			var refused *client.Error
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, tc.code, refused.Code)
			assert.Equal(t, 404, refused.Status)
			assert.Equal(t, "req-1", refused.RequestID)
			assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", refused.TraceID)
			assert.Nil(t, refused.Evidence)
			want := client.Unrecognized
			if tc.code == "NOT_FOUND" {
				want = client.Rejected
			}
			assert.Equal(t, want, client.OutcomeOf(err))
		})
	}
}

func TestRetryAfterIsDeltaSecondsOrNothing(t *testing.T) {
	extend := func(header ...string) *client.Error {
		_, err := newClient(t, always(429, "", header...)).ExtendReservation(t.Context(), "r-1", extendRequest)
		var refused *client.Error
		require.ErrorAs(t, err, &refused)
		return refused
	}
	for value, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, "007": 7 * time.Second, "86400": 24 * time.Hour,
		"9223372036": 9223372036 * time.Second,
	} {
		got, ok := extend("Retry-After", value).RetryAfter()
		assert.True(t, ok, value)
		assert.Equal(t, want, got, value)
	}
	for _, value := range []string{
		"", "-1", "+5", "1.5", "1e3", "0x10", "5 ", "five", "1_000", "9223372037", "9223372036854775808", "18446744074",
		"99999999999999999999999999", "Wed, 21 Oct 2015 07:28:00 GMT", "1, 2", "٣",
	} {
		header := http.Header{"Retry-After": {value}}
		r := serve(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: header, Body: http.NoBody}, nil
		})
		_, err := newClient(t, r).ExtendReservation(t.Context(), "r-1", extendRequest)
		var refused *client.Error
		require.ErrorAs(t, err, &refused)
		got, ok := refused.RetryAfter()
		assert.False(t, ok, "%q", value)
		assert.Zero(t, got, "%q", value)
	}
	_, ok := extend().RetryAfter()
	assert.False(t, ok, "absent")
	_, ok = extend("Retry-After", "3", "Retry-After", "3").RetryAfter()
	assert.False(t, ok, "repeated")
}

// A server that echoes keys, and every way to print.
func TestKeysNeverShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := `{"error":"UNAUTHORIZED","message":"bad key ` + apiKey + `","request_id":"` + adminKey + `","details":{"key":"` + apiKey + `"}}`
		// The same with every dash in another way of JSON's.
		escaped := strings.ReplaceAll(`{"error":"`+adminKey+`","message":"`+apiKey+`","details":{"`+apiKey+`":["`+adminKey+`",{"x":"`+apiKey+`"}]}}`, "-", `\u002d`)
		var log bytes.Buffer
		print := func(v any) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%e", "%c", "%w"} {
				text := fmt.Sprintf(verb, v)
				log.WriteString(text + "\n")
				for _, key := range []string{apiKey, adminKey} {
					assert.NotContains(t, strings.ToLower(text), hex.EncodeToString([]byte(key)), verb)
				}
			}
		}
		for _, server := range []*recorder{
			always(401, echo), always(503, echo), always(200, echo), always(200, "<html>"+apiKey+adminKey, "Content-Type", "text/"+apiKey),
			always(401, `{}`, "X-Request-Id", apiKey, "X-Cycles-Tenant", adminKey, "X-Cycles-Trace-Id", apiKey),
			always(401, escaped), always(200, strings.Repeat(" ", 512-len(apiKey)/2)+apiKey),
			inTurn(failing(io.ErrUnexpectedEOF)), inTurn(hanging),
		} {
			c := newClient(t, server, client.WithAdminKey(adminKey), client.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			var meta client.Meta
			_, err := c.CommitReservation(t.Context(), "r-1", commitRequest, client.WithMeta(&meta))
			require.Error(t, err)
			for ; err != nil; err = errors.Unwrap(err) {
				print(err)
				if e, ok := err.(*client.ResponseError); ok {
					log.Write(e.Excerpt())
				}
				if e, ok := err.(*client.Error); ok {
					print(*e)
				}
			}
			_, err = c.CreateReservation(t.Context(), createRequest)
			print(err)
			_, err = c.ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{}, client.AsAdmin())
			print(err)
			print(meta)
			print(c)
			print(*c)
			print(struct{ inner *client.Client }{c})
			print(struct{ inner client.Client }{*c})
			print(c.JournalIdentity())
			print(struct{ inner client.JournalIdentity }{c.JournalIdentity()})
			print([]any{client.WithAPIKey(apiKey), client.WithAdminKey(adminKey), client.AsAdmin()})
			slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "client", c, "err", err)
		}
		for _, bad := range []string{apiKey + "\n", apiKey + " " + adminKey, apiKey + "é"} {
			_, err := client.New(baseURL, client.WithAPIKey(bad))
			require.Error(t, err)
			print(err)
			_, err = client.New(baseURL, client.WithAdminKey(bad))
			require.Error(t, err)
			print(err)
		}
		_, err := client.New("http://user:" + apiKey + "@cycles.test:port")
		require.Error(t, err)
		print(err)
		assert.NotContains(t, log.String(), apiKey)
		assert.NotContains(t, log.String(), adminKey)
		assert.NotContains(t, log.String(), apiKey[:len(apiKey)/2], "not a part either")
		assert.Contains(t, log.String(), "will retry", "the log is on")
	})
}

func TestACallOptionThatIsNilIsRefused(t *testing.T) {
	server := always(200, `{}`)
	c := newClient(t, server)
	_, err := c.GetReservation(t.Context(), "r-1", nil)
	var refused *client.RequestError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, client.RequestError{Op: client.OpGetReservation, Field: "call option", Limit: "other than nil"}, *refused)
	_, err = c.CommitReservation(t.Context(), "r-1", commitRequest, client.WithoutRetry(), nil)
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, client.Invalid, client.OutcomeOf(err))
	assert.Empty(t, server.attempts())
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	for url, part := range map[string]string{
		"":                          "empty",
		"cycles.test":               "http",
		"/v1":                       "http",
		"//cycles.test":             "http",
		"ftp://cycles.test":         "http",
		"http://":                   "host",
		"http://:8080":              "host",
		"http:cycles.test":          "host",
		"http://user@cycles.test":   "credentials",
		"http://u:pw@cycles.test":   "credentials",
		"http://cycles.test?x=1":    "query",
		"http://cycles.test?":       "query",
		"http://cycles.test#x":      "fragment",
		"http://cycles.test#":       "fragment",
		"http://cycles.test:port":   "valid",
		" http://cycles.test":       "valid",
		"http://cycles.test/\x7f":   "valid",
		"http://[::1":               "valid",
		"http://cycles.test/%zz/v1": "valid",
	} {
		_, err := client.New(url, client.WithAPIKey(apiKey))
		var config *client.ConfigError
		require.ErrorAs(t, err, &config, "%q", url)
		assert.Equal(t, "base URL", config.Setting)
		assert.Contains(t, config.Reason, part, "%q", url)
	}
	for setting, opt := range map[string]client.Option{
		"WithAPIKey":                 client.WithAPIKey(""),
		"WithAdminKey":               client.WithAdminKey(""),
		"WithHTTPClient":             client.WithHTTPClient(nil),
		"WithRequestTimeout":         client.WithRequestTimeout(0),
		"WithClock":                  client.WithClock(nil),
		"WithLogger":                 client.WithLogger(nil),
		"WithUserAgent":              client.WithUserAgent("a\nb"),
		"WithUnknownFields":          client.WithUnknownFields(7),
		"WithTraceContext":           client.WithTraceContext(nil),
		"WithRetry: MaxAttempts":     client.WithRetry(client.RetryPolicy{MaxAttempts: -1}),
		"WithRetry: InitialDelay":    client.WithRetry(client.RetryPolicy{InitialDelay: -1}),
		"WithRetry: MaxDelay":        client.WithRetry(client.RetryPolicy{MaxDelay: -1}),
		"WithRetry: MaxRetryAfter":   client.WithRetry(client.RetryPolicy{MaxRetryAfter: -1}),
		"WithRetry: Multiplier":      client.WithRetry(client.RetryPolicy{Multiplier: math.NaN()}),
		"WithSubject: subject.agent": client.WithSubject(gen.Subject{Agent: ptr(strings.Repeat("x", 129))}),
		"option":                     nil,
	} {
		_, err := client.New(baseURL, opt)
		var config *client.ConfigError
		require.ErrorAs(t, err, &config, setting)
		assert.Equal(t, setting, config.Setting)
		assert.Contains(t, err.Error(), setting)
		assert.Equal(t, client.Invalid, client.OutcomeOf(err))
	}
}

func TestABaseURLMayHaveAPathAndATrailingSlash(t *testing.T) {
	for url, want := range map[string]string{
		"http://cycles.test":             "/v1/reservations/r-1/extend",
		"http://cycles.test/":            "/v1/reservations/r-1/extend",
		"https://cycles.test//":          "/v1/reservations/r-1/extend",
		"http://cycles.test/budget":      "/budget/v1/reservations/r-1/extend",
		"http://cycles.test/a%2Fb/c/":    "/a%2Fb/c/v1/reservations/r-1/extend",
		"HTTP://cycles.test:8080/budget": "/budget/v1/reservations/r-1/extend",
	} {
		server := always(200, extendOK)
		c, err := client.New(url, client.WithAPIKey(apiKey), client.WithHTTPClient(&http.Client{Transport: server}))
		require.NoError(t, err)
		_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest)
		require.NoError(t, err)
		assert.Equal(t, want, server.attempts()[0].path, url)
		assert.Equal(t, url, c.BaseURL(), "as configured")
	}
}

func TestIDsThatWouldLeaveTheRouteAreRefused(t *testing.T) {
	server := always(200, extendOK)
	c := newClient(t, server)
	for _, id := range []string{"", ".", "..", strings.Repeat("x", 129), strings.Repeat("é", 129), "a\xff"} {
		for _, call := range []func() error{
			func() error { _, err := c.GetReservation(t.Context(), id); return err },
			func() error { _, err := c.ExtendReservation(t.Context(), id, extendRequest); return err },
			func() error { _, err := c.CommitReservation(t.Context(), id, commitRequest); return err },
			func() error { _, err := c.ReleaseReservation(t.Context(), id, gen.ReleaseRequest{}); return err },
		} {
			var refused *client.RequestError
			require.ErrorAs(t, call(), &refused, "%q", id)
			assert.Equal(t, "reservation_id", refused.Field)
		}
	}
	assert.Empty(t, server.attempts(), "nothing was sent")
	_, err := c.ExtendReservation(t.Context(), strings.Repeat("é", 128), extendRequest)
	assert.NoError(t, err, "the limit counts characters")
}

func TestACallWithoutItsKeyIsNotSent(t *testing.T) {
	server := always(200, extendOK)
	c, err := client.New(baseURL, client.WithHTTPClient(&http.Client{Transport: server}))
	require.NoError(t, err)
	_, err = c.ExtendReservation(t.Context(), "r-1", extendRequest)
	var refused *client.RequestError
	require.ErrorAs(t, err, &refused)
	_, err = c.GetReservation(t.Context(), "r-1", client.AsAdmin())
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "AsAdmin", refused.Field)
	_, err = newClient(t, server, client.WithAdminKey(adminKey)).ExtendReservation(t.Context(), "r-1", extendRequest, client.AsAdmin())
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "AsAdmin", refused.Field)
	assert.Empty(t, server.attempts())
}

func TestTheAdminKeyGoesAlone(t *testing.T) {
	server := always(200, releaseOK)
	c := newClient(t, server, client.WithAdminKey(adminKey))
	_, err := c.ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{Reason: ptr("stuck")}, client.AsAdmin())
	require.NoError(t, err)
	_, err = c.ReleaseReservation(t.Context(), "r-1", gen.ReleaseRequest{})
	require.NoError(t, err)
	got := server.attempts()
	assert.Equal(t, []string{adminKey}, got[0].header["X-Admin-Api-Key"])
	assert.NotContains(t, got[0].header, "X-Cycles-Api-Key")
	assert.Equal(t, []string{apiKey}, got[1].header["X-Cycles-Api-Key"])
	assert.NotContains(t, got[1].header, "X-Admin-Api-Key")
}
