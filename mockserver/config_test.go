package mockserver_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestTheTemplateIsAConfigurationWithTheDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mock.yaml")
	require.NoError(t, os.WriteFile(path, []byte(mockserver.ConfigTemplate), 0o600))
	s, err := mockserver.Open(mockserver.WithConfigFile(path))
	require.NoError(t, err)
	w := &world{s, t, mockserver.DefaultAPIKey}
	r := w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"demo"}`, 1)).ok()
	assert.EqualValues(t, 60_000, r.int("remaining_ttl_ms"))
	b, err := s.Balance(mockserver.DefaultScope, usd)
	require.NoError(t, err)
	assert.Equal(t, mockserver.DefaultAllocated, b.Allocated)
	assert.Equal(t, "ALLOW_WITH_CAPS", w.call("POST", "/v1/decide", spendBody("d", "estimate", `{"tenant":"demo","agent":"bot"}`, 1)).ok().str("decision"))

	// Its commented settings are settings as well.
	var all []string
	for line := range strings.Lines(mockserver.ConfigTemplate) {
		if setting, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "# "); ok && strings.Contains(setting, ": ") && strings.HasPrefix(line, "      # max_") {
			line = "      " + setting
		}
		all = append(all, line)
	}
	text := strings.Join(all, "")
	at := strings.LastIndex(text, "# faults:")
	text = text[:strings.LastIndex(text, "faults: []")] + strings.ReplaceAll(text[at:], "\n# ", "\n")[len("# "):]
	s, err = mockserver.Open(mockserver.WithConfig([]byte(text)))
	require.NoError(t, err, text)
	w = &world{s, t, mockserver.DefaultAPIKey}
	assert.Len(t, w.call("GET", "/_mock/faults", "").ok().at("faults"), 7)
}

func TestConfigurationInFull(t *testing.T) {
	s, err := mockserver.Open(mockserver.WithConfig([]byte(`
admin_key: root
journal_size: 2
max_body_bytes: 300
clock: {virtual: true, start: 2027-01-15T08:00:00Z}
tenants:
  - id: acme
    keys: [acme-key]
    policy: {default_ttl: 5000, max_ttl: 10s, max_grant: 1s, max_lead: 7s, max_extensions: 0, overage: REJECT, legacy: true}
    budgets:
      - {scope: "tenant:acme", allocated: 100, spent: 10, debt: 5, overdraft_limit: 9, caps: {max_tokens: 3}}
      - {scope: "tenant:acme", unit: TOKENS, status: FROZEN}
  - {id: gone, status: CLOSED, keys: [gone-key], budgets: [{scope: "tenant:gone", allocated: 5}]}
faults:
  - {operation: createReservation, nth: 2, status: 503}
`)))
	require.NoError(t, err)
	w := &world{s, t, "acme-key"}
	assert.Equal(t, epoch.UTC(), s.Now().UTC())
	r := w.reserve("k", 1).ok()
	assert.Equal(t, at(5000), r.int("expires_at_ms"))
	assert.Nil(t, r.at("remaining_ttl_ms"))
	assert.EqualValues(t, 3, r.int("caps.max_tokens"))
	w.leaves("tenant:acme", left{remaining: 84, spent: 10, debt: 5})
	assert.Equal(t, 503, w.reserve("k2", 1).status)
	assert.Equal(t, 413, w.reserve(strings.Repeat("k", 200), 1).status)
	assert.Equal(t, "TENANT_CLOSED", w.as("gone-key").call("POST", "/v1/events", spendBody("e", "actual", `{"tenant":"gone"}`, 1)).str("error"))
	assert.Len(t, w.Requests(), 2)
	w.call("GET", "/v1/admin/tenants", "", "X-Admin-API-Key", "root").ok()
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"tenants:\n  - id: acme\n    key: [x]\n":                     `line 3: there is no setting "key"`,
		"clock:\n  virtual: perhaps\n":                               "line 2",
		"tenants:\n  - id: acme\n    policy:\n      max_ttl: soon\n": "line 4: a duration",
		"tenants: [\n":                    "line",
		"a: 1\n":                          `there is no setting "a"`,
		"tenants: []\n---\ntenants: []\n": "second document",
		"tenants: [{id: a}, {id: a}]":     "tenant a exists",
		"tenants: [{id: 'a b'}]":          `tenant id "a b"`,
		"tenants: [{id: a, keys: [k]}, {id: b, keys: [k]}]":                 "in use already",
		"tenants: [{id: a, keys: ['']}]":                                    "blank",
		"tenants: [{id: a, status: OPEN}]":                                  `no tenant status "OPEN"`,
		"tenants: [{id: a, policy: {max_ttl: 1us}}]":                        "MaxTTL has to be a whole number of milliseconds",
		"tenants: [{id: a, policy: {max_extensions: -2}}]":                  "MaxExtensions",
		"tenants: [{id: a, policy: {overage: MAYBE}}]":                      `no overage policy "MAYBE"`,
		"tenants: [{id: a, budgets: [{scope: 'tenant:b'}]}]":                "not of tenant a",
		"tenants: [{id: a, budgets: [{scope: 'x'}]}]":                       `scope "x"`,
		"tenants: [{id: a, budgets: [{scope: 'tenant:a', unit: EUR}]}]":     `unknown unit "EUR"`,
		"tenants: [{id: a, budgets: [{scope: 'tenant:a', allocated: -1}]}]": "at least 0",
		"tenants: [{id: a, budgets: [{scope: 'tenant:a', status: ICY}]}]":   `no budget status "ICY"`,
		"tenants: [{id: a, policies: [{pattern: 'tenant'}]}]":               "pattern",
		"faults: [{kind: explode}]":                                         `no kind "explode"`,
		"faults: [{operation: extend, status: 500}]":                        `no operation "extend"`,
		"faults: [{kind: status}]":                                          "status",
		"journal_size: -1":                                                  "journal must be at least 0, not -1",
		"max_body_bytes: -1":                                                "largest body must be at least 0",
		"clock: {virtual: true, start: 1969-01-01T00:00:00Z}":               "1970",
	} {
		_, err := mockserver.Open(mockserver.WithConfig([]byte(text)))
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
		assert.NotContains(t, err.Error(), "Doc", "no Go type in the message")
	}
	_, err := mockserver.Open(mockserver.WithConfigFile("no-such-file.yaml"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Panics(t, func() { mockserver.New(mockserver.WithConfig([]byte("a: 1"))) })
}

func TestOptionsThatAreRefused(t *testing.T) {
	for want, opt := range map[string]mockserver.Option{
		"option must not be nil":                    nil,
		"WithLogger must not be given nil":          mockserver.WithLogger(nil),
		"WithClock must not be given nil":           mockserver.WithClock(nil),
		"journal must be at least 0, not -1":        mockserver.WithJournalSize(-1),
		"at least 0 and below 2^63-1 bytes, not -1": mockserver.WithMaxBody(-1),
		"bytes, not 9223372036854775807":            mockserver.WithMaxBody(math.MaxInt64),
		"between the years 1970 and 9999":           mockserver.WithVirtualTime(time.Time{}),
		`no operation "renew"`:                      mockserver.WithFault(mockserver.Fault{Operation: "renew", Status: 500}),
	} {
		_, err := mockserver.Open(opt)
		require.ErrorContains(t, err, want)
		assert.PanicsWithError(t, err.Error(), func() { mockserver.New(opt) })
	}
	_, err := mockserver.Open(nil, mockserver.WithLogger(nil))
	assert.ErrorContains(t, err, "option must not be nil\nmockserver: WithLogger", "all of them at once")
}

func TestDefaultsAndWithoutThem(t *testing.T) {
	w := newWorld(t)
	w.call("GET", "/v1/balances?tenant=demo", "").ok()
	// A budget alone is one of the default tenant.
	w = newWorld(t, mockserver.WithBudget(mockserver.Budget{Scope: "tenant:demo/agent:x", Allocated: 7}))
	assert.EqualValues(t, 7, w.call("GET", "/v1/balances?tenant=demo", "").ok().int("balances.0.allocated.amount"))
	w = newWorld(t, mockserver.WithoutDefaults())
	assert.Equal(t, 401, w.call("GET", "/v1/balances?tenant=demo", "").status)
	assert.Panics(t, func() { mockserver.New(mockserver.WithVirtualTime(time.Time{})) })
}

func TestClockOfTheCaller(t *testing.T) {
	now := epoch
	s := mockserver.New(mockserver.WithClock(func() time.Time { return now }))
	w := &world{s, t, mockserver.DefaultAPIKey}
	id := w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"demo"}`, 5)).ok().str("reservation_id")
	now = now.Add(-time.Hour) // a clock that was set back holds time, and revives nothing
	assert.EqualValues(t, 60_000, w.call("POST", "/v1/reservations", spendBody("k", "estimate", `{"tenant":"demo"}`, 5)).ok().int("remaining_ttl_ms"))
	now = epoch.Add(66 * time.Second)
	assert.Equal(t, 410, w.get(id).status)
	assert.Panics(t, func() { s.Advance(time.Second) })
}
