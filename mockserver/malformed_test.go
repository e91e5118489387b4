package mockserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestBodiesThatAreRefused(t *testing.T) {
	valid := reserveBody("k", 1)
	with := func(member string) string { return reserveBody("k", 1, member) }
	subject := func(s string) string { return spendBody("k", "estimate", s, 1) }
	for name, body := range map[string]string{
		"empty":                       "",
		"white space":                 "  ",
		"null":                        "null",
		"an array":                    "[" + valid + "]",
		"a string":                    `"x"`,
		"truncated":                   valid[:len(valid)-3],
		"trailing comma":              strings.TrimSuffix(valid, "}") + ",}",
		"single quotes":               strings.ReplaceAll(valid, `"`, `'`),
		"a second document":           valid + "{}",
		"trailing bytes":              valid + "x",
		"a member twice":              with(`"idempotency_key":"k"`),
		"a member twice, escaped":     with(`"idempotency_\u006bey":"k"`),
		"a nested member twice":       subject(`{"tenant":"acme","tenant":"acme"}`),
		"twice within metadata":       with(`"metadata":{"a":1,"a":1}`),
		"unknown member":              with(`"policy_keys":[]`),
		"unknown member that is null": with(`"observe_mode":null`),
		"unknown member of subject":   subject(`{"tenant":"acme","team":"x"}`),
		"case of a member":            strings.Replace(valid, "idempotency_key", "Idempotency_Key", 1),
		"NUL":                         strings.Replace(valid, `"k"`, "\"k\x00\"", 1),
		"invalid UTF-8":               strings.Replace(valid, `"k"`, "\"k\xff\"", 1),
		"half a surrogate":            strings.Replace(valid, `"k"`, `"\ud800"`, 1),
		"deep":                        with(`"metadata":{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`),
		"no key":                      strings.Replace(valid, `"idempotency_key":"k",`, "", 1),
		"key is null":                 strings.Replace(valid, `"k"`, "null", 1),
		"key is a number":             strings.Replace(valid, `"k"`, "123", 1),
		"key is empty":                reserveBody("", 1),
		"key is too long":             reserveBody(strings.Repeat("é", 257), 1),
		"no subject":                  strings.Replace(valid, `"subject":{"tenant":"acme"},`, "", 1),
		"subject is empty":            subject(`{}`),
		"subject of dimensions only":  subject(`{"dimensions":{"a":"b"}}`),
		"subject of nulls":            subject(`{"tenant":null}`),
		"blank level":                 subject(`{"tenant":"acme","agent":""}`),
		"level with a delimiter":      subject(`{"tenant":"acme","agent":"a/b"}`),
		"level too long":              subject(`{"tenant":"acme","agent":"` + strings.Repeat("a", 129) + `"}`),
		"level is a number":           subject(`{"tenant":"acme","agent":1}`),
		"17 dimensions":               subject(`{"tenant":"acme","dimensions":{` + numbered(17) + `}}`),
		"dimension is a number":       subject(`{"tenant":"acme","dimensions":{"a":1}}`),
		"dimension too long":          subject(`{"tenant":"acme","dimensions":{"a":"` + strings.Repeat("x", 257) + `"}}`),
		"action without a name":       strings.Replace(valid, `,"name":"m"`, "", 1),
		"action kind too long":        strings.Replace(valid, "llm.completion", strings.Repeat("k", 65), 1),
		"11 tags":                     strings.Replace(valid, `"name":"m"`, `"name":"m","tags":[`+strings.TrimSuffix(strings.Repeat(`"t",`, 11), ",")+`]`, 1),
		"tag too long":                strings.Replace(valid, `"name":"m"`, `"name":"m","tags":["`+strings.Repeat("t", 65)+`"]`, 1),
		"amount negative":             reserveBody("k", -1),
		"amount is text":              strings.Replace(valid, `"amount":1`, `"amount":"1"`, 1),
		"amount with a fraction":      strings.Replace(valid, `"amount":1`, `"amount":1.5`, 1),
		"amount 2^63":                 strings.Replace(valid, `"amount":1`, `"amount":9223372036854775808`, 1),
		"amount 1e400":                strings.Replace(valid, `"amount":1`, `"amount":1e400`, 1),
		"amount true":                 strings.Replace(valid, `"amount":1`, `"amount":true`, 1),
		"unit unknown":                strings.Replace(valid, "USD_MICROCENTS", "usd_microcents", 1),
		"unit ordinal":                strings.Replace(valid, `"USD_MICROCENTS"`, "0", 1),
		"ttl too short":               with(`"ttl_ms":999`),
		"ttl too long":                with(`"ttl_ms":86400001`),
		"ttl is text":                 with(`"ttl_ms":"60000"`),
		"grace too long":              with(`"grace_period_ms":60001`),
		"grace negative":              with(`"grace_period_ms":-1`),
		"policy unknown":              with(`"overage_policy":"ALLOW"`),
		"dry run is text":             with(`"dry_run":"true"`),
		"dry run is a number":         with(`"dry_run":1`),
		"metadata is an array":        with(`"metadata":[]`),
		"metadata is text":            with(`"metadata":"x"`),
	} {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			w.call("POST", "/v1/reservations", body, "Content-Type", "application/json").fails(400, gen.ErrorCodeInvalidRequest)
			assert.Zero(t, w.balance("tenant:acme").Reserved)
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":"v",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestBodiesThatAreTaken(t *testing.T) {
	valid := reserveBody("k", 1)
	with := func(member string) string { return reserveBody("k", 1, member) }
	for name, body := range map[string]string{
		"amount 1e0":            strings.Replace(valid, `"amount":1`, `"amount":1e0`, 1),
		"amount 1.0":            strings.Replace(valid, `"amount":1`, `"amount":1.0`, 1),
		"amount 0":              reserveBody("k", 0),
		"longest key":           reserveBody(strings.Repeat("é", 256), 1),
		"key of white space":    reserveBody("  ", 1),
		"optional nulls":        with(`"ttl_ms":null,"grace_period_ms":null,"overage_policy":null,"dry_run":null,"metadata":null`),
		"16 dimensions":         spendBody("k", "estimate", `{"tenant":"acme","dimensions":{`+numbered(16)+`}}`, 1),
		"odd metadata":          with(`"metadata":{"":{"policy_keys":[null,1e400]}}`),
		"blank action":          strings.Replace(valid, "llm.completion", "", 1),
		"white space around it": "\n\t " + valid + " \r\n",
		"shortest ttl":          with(`"ttl_ms":1000`),
		"no grace":              with(`"grace_period_ms":0`),
	} {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			r := w.call("POST", "/v1/reservations", body).ok()
			w.get(r.str("reservation_id")).ok()
		})
	}
	w := acme(t, plenty)
	for _, media := range []string{"application/json; charset=utf-8", "application/vnd.cycles+json", "Application/JSON"} {
		w.call("POST", "/v1/reservations", reserveBody(media, 1), "Content-Type", media).ok()
	}
}

func TestBodiesOfTheOtherOperationsThatAreRefused(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10)
	for path, bodies := range map[string][]string{
		"/v1/reservations/" + id + "/commit": {
			`{"idempotency_key":"c"}`, commitBody("c", -1), commitBody("c", 1, `"metrics":{"tokens_input":-1}`),
			commitBody("c", 1, `"metrics":{"unknown":1}`), commitBody("c", 1, `"metrics":{"custom":[]}`),
			commitBody("c", 1, `"metrics":{"model_version":"`+strings.Repeat("v", 129)+`"}`),
		},
		"/v1/reservations/" + id + "/release": {
			`{}`, `{"idempotency_key":"r","reason":"` + strings.Repeat("r", 257) + `"}`, `{"idempotency_key":"r","reason":1}`,
		},
		"/v1/reservations/" + id + "/extend": {
			extendBody("x", 0), extendBody("x", 86_400_001), extendBody("x", -1), `{"idempotency_key":"x"}`,
			`{"idempotency_key":"x","extend_by_ms":1.5}`, `{"idempotency_key":"x","extend_by_ms":1,"metadata":1}`,
		},
		"/v1/events": {
			spendBody("e", "actual", `{"tenant":"acme"}`, 1, `"client_time_ms":-1`), spendBody("e", "estimate", `{"tenant":"acme"}`, 1),
			spendBody("e", "actual", `{"tenant":"acme"}`, 1, `"overage_policy":null,"dry_run":true`),
		},
		"/v1/decide": {spendBody("d", "actual", `{"tenant":"acme"}`, 1), reserveBody("d", 1, `"ttl_ms":1000`)},
	} {
		for _, body := range bodies {
			w.call("POST", path, body).fails(400, gen.ErrorCodeInvalidRequest)
		}
	}
	b := w.balance("tenant:acme")
	assert.EqualValues(t, 10, b.Reserved)
	assert.EqualValues(t, 0, b.Spent)
	w.commit(id, "c", 1).ok()
}

func TestQueriesThatAreRefused(t *testing.T) {
	w := acme(t, plenty)
	for _, query := range []string{
		"reservations?limit=0", "reservations?limit=201", "reservations?limit=abc", "reservations?limit=1.0", "reservations?limit=99999999999999999999",
		"reservations?status=", "reservations?status=active", "reservations?sort_by=", "reservations?sort_by=bogus", "reservations?sort_dir=up",
		"reservations?from=2026-01-01", "reservations?from=yesterday", "reservations?expires_to=2026-01-01T00:00:00",
		"reservations?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
		"reservations?finalized_from=2026-01-02T00:00:00Z&finalized_to=2026-01-01T00:00:00Z",
		"reservations?cursor=garbage", "reservations?cursor=e30", "reservations?cursor=%00", "reservations?sort_by=status&cursor=eyJpIjoieCJ9",
		"reservations?idempotency_key=", "reservations?idempotency_key=" + strings.Repeat("k", 257), "reservations?tenant=%ff", "reservations?a=%zz",
		"balances", "balances?limit=5", "balances?tenant=acme&limit=abc", "balances?tenant=acme&include_children=maybe",
		"balances?tenant=acme&cursor=garbage", "balances?tenant=acme&cursor=eyJpIjoieCJ9",
	} {
		w.call("GET", "/v1/"+query, "").fails(400, gen.ErrorCodeInvalidRequest)
	}
}

func TestABodyLargerThanTheServerReads(t *testing.T) {
	overBoth(t, func(t *testing.T, w *world, c *http.Client) {
		resp, err := post(t, w, c, "/v1/reservations", strings.Repeat("x", 20<<20))
		require.NoError(t, err)
		w.read(resp).fails(413, gen.ErrorCodeInvalidRequest)
	})
	w := newWorld(t, mockserver.WithMaxBody(500))
	body := spendBody("k", "estimate", `{"tenant":"demo"}`, 1)
	w.call("POST", "/v1/reservations", body+strings.Repeat(" ", 500-len(body))).ok()
	w.call("POST", "/v1/reservations", body+strings.Repeat(" ", 501-len(body))).fails(413, gen.ErrorCodeInvalidRequest)
}

func TestTenThousandHeadersDoNoHarm(t *testing.T) {
	w := acme(t, plenty)
	var header []string
	for i := range 10_000 {
		header = append(header, fmt.Sprintf("X-H-%d", i), "v")
	}
	w.call("GET", "/v1/balances?tenant=acme", "", header...).ok()
	s := mockserver.Start(t)
	req, err := http.NewRequest("GET", s.URL()+"/v1/balances?tenant=demo", nil)
	require.NoError(t, err)
	req.Header.Set("X-Cycles-API-Key", mockserver.DefaultAPIKey)
	for i := range 10_000 {
		req.Header.Set(fmt.Sprintf("X-H-%d", i), strings.Repeat("v", 200))
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err == nil { // net/http may also close the connection
		assert.Less(t, resp.StatusCode, 500)
		require.NoError(t, resp.Body.Close())
	}
}
