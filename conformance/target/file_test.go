package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "target.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

const everything = `
implementation: {name: my-server, version: "1.0"}
base_url: https://${HOST}/cycles
tenants:
  a: {id: acme, api_key: "${KEY_A}"}
  b: {id: other, api_key: "k-${KEY_B}-x"}
admin_key: root
evidence: true
fixtures:
  - kind: nested
    id: nested-7
    tenant: {id: third, api_key: k3}
    limit: 3
    budgets:
      - {subject: {tenant: third, workspace: w}, unit: TOKENS, allocated: 9223372036854775807, overdraft_limit: 5}
      - {subject: {tenant: third, workspace: w, app: a}, unit: TOKENS}
`

func TestFileGivesTheWholeTarget(t *testing.T) {
	f, err := ReadFile(file(t, everything), env(map[string]string{"HOST": "host:1", "KEY_A": `q"uo'te: #x`, "KEY_B": "${KEY_A}"}))
	require.NoError(t, err)
	tgt, err := f.Target(nil)
	require.NoError(t, err)
	assert.Equal(t, Target{
		Name: "my-server", Version: "1.0", BaseURL: "https://host:1/cycles",
		A: Tenant{ID: "acme", APIKey: `q"uo'te: #x`}, B: Tenant{ID: "other", APIKey: "k-${KEY_A}-x"}, AdminKey: "root", Evidence: true,
		Fixtures: []*Fixture{{
			Kind: Nested, ID: "nested-7", Tenant: Tenant{ID: "third", APIKey: "k3"}, Limit: 3,
			Budgets: []*Budget{
				{Subject: map[string]string{"tenant": "third", "workspace": "w"}, Unit: "TOKENS", Allocated: 1<<63 - 1, OverdraftLimit: 5},
				{Subject: map[string]string{"tenant": "third", "workspace": "w", "app": "a"}, Unit: "TOKENS"},
			},
		}},
	}, tgt)
}

func TestFileThatCannotBeMeant(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"unknown member":     {"base_ulr: x", "base_ulr"},
		"unset variable":     {"\nbase_url: ${NOWHERE}", "line 2: the environment variable NOWHERE is not set"},
		"open variable":      {"base_url: ${X", "${ without }"},
		"not YAML":           {"a: [", "target.yaml"},
		"a list":             {"- a", "cannot unmarshal"},
		"a number too big":   {"fixtures: [{kind: ledger, limit: 9223372036854775808}]", "cannot unmarshal !!int"},
		"unknown provision":  {"provision: {kind: magic}", `no kind "magic"`},
		"admin without key":  {"provision: {kind: admin}", "needs a key"},
		"exec without a cmd": {"provision: {kind: exec}", "needs a command"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ReadFile(file(t, c.text), env(nil))
			if err == nil {
				_, err = f.Target(nil)
			}
			assert.ErrorContains(t, err, c.says)
		})
	}
	_, err := ReadFile(filepath.Join(t.TempDir(), "none"), env(nil))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestEmptyFileIsAnEmptyTarget(t *testing.T) {
	f, err := ReadFile(file(t, "# nothing\n"), env(nil))
	require.NoError(t, err)
	tgt, err := f.Target(nil)
	require.NoError(t, err)
	assert.Equal(t, Target{}, tgt)
}

func TestProvisionersOfAFile(t *testing.T) {
	for text, want := range map[string]Provisioner{
		"": nil,
		"base_url: http://h\nprovision: {kind: static}":                               nil,
		"base_url: http://h\nadmin_key: k\nprovision: {kind: admin}":                  &Admin{BaseURL: "http://h", RuntimeURL: "http://h", Key: "k"},
		"base_url: http://h\nprovision: {kind: admin, url: 'http://a', key: other}":   &Admin{BaseURL: "http://a", RuntimeURL: "http://h", Key: "other"},
		"base_url: http://h\nprovision: {kind: exec, command: [make-them, --really]}": &Exec{Command: []string{"make-them", "--really"}},
	} {
		f, err := ReadFile(file(t, text), env(nil))
		require.NoError(t, err)
		tgt, err := f.Target(nil)
		require.NoError(t, err)
		assert.Equal(t, want, tgt.Provisioner, text)
	}
}
