package suite

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func newT() *T {
	return &T{
		check: &Check{ID: "a.b", Level: Must, Needs: []target.Kind{target.Funded}},
		env:   Env{Prefix: "cf0", A: target.Tenant{ID: "acme", APIKey: "key"}},
		open:  map[string]string{},
	}
}

var funded = &target.Budget{
	Subject: map[string]string{"tenant": "acme", "workspace": "w"}, Unit: "TOKENS", Allocated: 1000, Tenant: target.Tenant{ID: "acme", APIKey: "key"},
}

func payload(t *testing.T, r *Request) string {
	t.Helper()
	b, err := r.Payload()
	require.NoError(t, err)
	return string(b)
}

func TestRequestIsNeverChangedByWhatIsMadeOfIt(t *testing.T) {
	r := newT().Create(funded, 5)
	before, header := payload(t, r), r.Header.Clone()
	for _, changed := range []*Request{
		r.With("estimate.amount", 7), r.With("metadata.deep.er", 1), r.Without("subject.tenant"), r.Raw("x"),
		r.WithHeader("X", "y"), r.WithoutKey(), r.WithKey("other"), r.AsAdmin("root"), r.As(target.Tenant{APIKey: "b"}),
		r.WithQuery("a", "b"), r.WithMethod("PUT"), r.WithPath("/x"), r.Throttle(),
	} {
		assert.NotEqual(t, r, changed)
		assert.Equal(t, before, payload(t, r))
		assert.Equal(t, header, r.Header)
		assert.Empty(t, r.Query)
	}
}

func TestMembersAreSetAndLeftOutByPath(t *testing.T) {
	r := &Request{}
	assert.Equal(t, `{"a":{"b":1}}`, payload(t, r.With("a.b", 1)))
	assert.Equal(t, `{"a":{"b":1,"c":null}}`, payload(t, r.With("a.b", 1).With("a.c", nil)))
	assert.Equal(t, `{"a":{"c":1e3}}`, payload(t, r.With("a", "text").With("a.c", JSON("1e3"))))
	assert.Equal(t, `{"a":{}}`, payload(t, r.With("a.b", 1).Without("a.b")))
	assert.Equal(t, `{"a":{"b":1}}`, payload(t, r.With("a.b", 1).Without("a.x").Without("x.y").Without("x")))
	assert.Equal(t, `not json`, payload(t, r.With("a", 1).Raw("not json")))
	assert.Empty(t, payload(t, r))
}

func TestAnotherMethodOrPathIsNoOperation(t *testing.T) {
	r := newT().Create(funded, 5)
	assert.Equal(t, Create, r.Op)
	assert.Empty(t, r.WithMethod("PUT").Op)
	assert.Empty(t, r.WithPath("/v2").Op)
}

func TestBuildersMakeTheRequestsOfTheContract(t *testing.T) {
	tt := newT()
	res := &Reservation{ID: "r/1?", Tenant: funded.Tenant, Budget: funded}
	for name, c := range map[string]struct {
		r            *Request
		method, path string
		op           Op
		members      []string
	}{
		"decide":   {tt.Decide(funded, 1), http.MethodPost, "/v1/decide", Decide, []string{"idempotency_key", "subject", "action", "estimate"}},
		"create":   {tt.Create(funded, 1), http.MethodPost, "/v1/reservations", Create, []string{"idempotency_key", "subject", "action", "estimate"}},
		"event":    {tt.Event(funded, 1), http.MethodPost, "/v1/events", Event, []string{"idempotency_key", "subject", "action", "actual"}},
		"commit":   {tt.Commit(res, 1), http.MethodPost, "/v1/reservations/r%2F1%3F/commit", Commit, []string{"idempotency_key", "actual"}},
		"release":  {tt.Release(res), http.MethodPost, "/v1/reservations/r%2F1%3F/release", Release, []string{"idempotency_key"}},
		"extend":   {tt.Extend(res, 1), http.MethodPost, "/v1/reservations/r%2F1%3F/extend", Extend, []string{"idempotency_key", "extend_by_ms"}},
		"get":      {tt.Get(res), http.MethodGet, "/v1/reservations/r%2F1%3F", Get, nil},
		"list":     {tt.List(funded.Tenant), http.MethodGet, "/v1/reservations", List, nil},
		"balances": {tt.Balances(funded), http.MethodGet, "/v1/balances", Balances, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.method, c.r.Method)
			assert.Equal(t, c.path, c.r.Path)
			assert.Equal(t, c.op, c.r.Op)
			assert.Equal(t, "key", c.r.Header.Get(HeaderKey))
			var members []string
			for m := range c.r.Body {
				members = append(members, m)
			}
			assert.ElementsMatch(t, c.members, members)
			if c.method == http.MethodPost {
				assert.NotEmpty(t, c.r.Key())
			}
		})
	}
	assert.Empty(t, tt.Evidence("e").Header.Get(HeaderKey))
	assert.Empty(t, tt.JWKS().Header.Get(HeaderKey))
	assert.Equal(t, "w", tt.Balances(funded).Query.Get("workspace"))
}

func TestSubjectIsUniqueBelowTheScopeOfTheBudget(t *testing.T) {
	tt := newT()
	one, two := tt.Subject(funded), tt.Subject(funded)
	assert.Equal(t, "acme", one["tenant"])
	assert.Equal(t, "w", one["workspace"])
	assert.NotEqual(t, one["agent"], two["agent"])

	onAgent := &target.Budget{Subject: map[string]string{"tenant": "acme", "agent": "x"}}
	assert.Equal(t, "x", tt.Subject(onAgent)["agent"])
	assert.NotEmpty(t, tt.Subject(onAgent)["toolset"])

	onToolset := &target.Budget{Subject: map[string]string{"tenant": "acme", "agent": "x", "toolset": "y"}}
	assert.Equal(t, map[string]any{"tenant": "acme", "agent": "x", "toolset": "y"}, tt.Subject(onToolset))
}

func TestScopesSkipLevelsThatAreNotThere(t *testing.T) {
	assert.Equal(t, []string{"tenant:acme", "tenant:acme/app:a", "tenant:acme/app:a/agent:x"},
		Scopes(map[string]any{"agent": "X", "tenant": "acme", "app": "a", "dimensions": map[string]string{"k": "v"}}))
}
