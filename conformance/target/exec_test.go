package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the command of an exec provisioner.
func TestMain(m *testing.M) {
	if answer, ok := os.LookupEnv("CONFORMANCE_TEST_MAKER"); ok {
		os.Exit(maker(answer))
	}
	os.Exit(m.Run())
}

// maker copies its input to the file named by its first argument, one line for
// each time it is run, and answers what it was told to.
func maker(answer string) int {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 9
	}
	f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 9
	}
	fmt.Fprintf(f, "%s\n", in)
	f.Close()
	if answer == "hang" {
		time.Sleep(time.Hour)
	}
	if answer == "fail" {
		fmt.Fprintln(os.Stderr, "no database")
		return 1
	}
	fmt.Print(answer)
	return 0
}

// making is an Exec that answers so, and the requests it was given.
func making(t *testing.T, answer string) (*Exec, func() []ExecRequest) {
	t.Helper()
	t.Setenv("CONFORMANCE_TEST_MAKER", answer)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second at the end of a process
	log := t.TempDir() + "/requests"
	return &Exec{Command: []string{os.Args[0], log}}, func() []ExecRequest {
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		var requests []ExecRequest
		for line := range bytes.Lines(data) {
			var r ExecRequest
			require.NoError(t, json.Unmarshal(line, &r))
			requests = append(requests, r)
		}
		return requests
	}
}

const made = `{"tenants":{"a":{"id":"acme","api_key":"ka"},"b":{"id":"other","api_key":"kb"}},"admin_key":"root","can":["can-freeze"],
 "fixtures":[{"kind":"ledger","id":"ledger-1","budgets":[{"subject":{"tenant":"acme","workspace":"w"},"unit":"TOKENS","allocated":1000,"overdraft_limit":0}]}]}`

func TestCommandIsAskedForFixturesAndAnswersWhatItMade(t *testing.T) {
	e, requests := making(t, made)
	got, err := e.Provision(t.Context(), Wanted{Run: "cf1", Fixtures: []Want{{Kind: Ledger, ID: "ledger-1"}, {Kind: NestedOverdraft, ID: "n"}, {Kind: MaxExtensions, ID: "m"}}})
	require.NoError(t, err)
	assert.Equal(t, &Provisioned{
		A: Tenant{ID: "acme", APIKey: "ka"}, B: Tenant{ID: "other", APIKey: "kb"}, AdminKey: "root",
		Fixtures: []*Fixture{{Kind: Ledger, ID: "ledger-1", Budgets: []*Budget{{Subject: map[string]string{"tenant": "acme", "workspace": "w"}, Unit: "TOKENS", Allocated: 1000}}}},
	}, got)

	r := requests()
	require.Len(t, r, 1)
	assert.Equal(t, 1, r[0].Version)
	assert.Equal(t, "provision", r[0].Action)
	assert.Equal(t, "cf1", r[0].Run)
	require.Len(t, r[0].Fixtures, 3)
	assert.Equal(t, []ExecBudget{{Allocated: 1000}}, r[0].Fixtures[0].Budgets)
	assert.True(t, r[0].Fixtures[0].Exclusive)
	assert.NotEmpty(t, r[0].Fixtures[0].About)
	assert.Equal(t, []ExecBudget{{Allocated: 150}, {Allocated: 100, OverdraftLimit: 100, Inner: true}}, r[0].Fixtures[1].Budgets)
	assert.Equal(t, int64(2), r[0].Fixtures[2].Limit)
}

func TestCommandIsRunAgainForWhatItCan(t *testing.T) {
	e, requests := making(t, made)
	assert.False(t, e.Can(CanFreeze), "nobody asked yet")
	_, err := e.Provision(t.Context(), Wanted{})
	require.NoError(t, err)
	assert.True(t, e.Can(CanFreeze))
	assert.False(t, e.Can(CanCloseTenant))

	b := &Budget{Subject: map[string]string{"tenant": "acme"}, Unit: "TOKENS", Tenant: Tenant{ID: "acme", APIKey: "hidden"}}
	require.NoError(t, e.FreezeBudget(t.Context(), b))
	require.NoError(t, e.UnfreezeBudget(t.Context(), b))
	require.NoError(t, e.RepayDebt(t.Context(), b, 5))
	require.NoError(t, e.CloseTenant(t.Context(), b.Tenant))
	scope := map[string]string{"tenant": "acme"}
	assert.Equal(t, []ExecRequest{
		{Version: 1, Action: "freeze-budget", Tenant: "acme", Scope: scope, Unit: "TOKENS"},
		{Version: 1, Action: "unfreeze-budget", Tenant: "acme", Scope: scope, Unit: "TOKENS"},
		{Version: 1, Action: "repay-debt", Tenant: "acme", Scope: scope, Unit: "TOKENS", Amount: 5},
		{Version: 1, Action: "close-tenant", Tenant: "acme"},
	}, requests()[1:])
}

func TestCommandThatFailsOrTalksNonsense(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"fails":          {"fail", "exit status 1"},
		"says nothing":   {"", "not the expected JSON"},
		"is no JSON":     {"made it!", "not the expected JSON"},
		"unknown member": {`{"fixture":[]}`, `unknown field "fixture"`},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := making(t, c.answer)
			var said bytes.Buffer
			e.Stderr = &said
			_, err := e.Provision(t.Context(), Wanted{})
			require.ErrorContains(t, err, c.says)
			if c.answer == "fail" {
				assert.Equal(t, "no database\n", said.String())
				assert.Error(t, e.CloseTenant(t.Context(), Tenant{}))
			}
		})
	}
	_, err := (&Exec{}).Provision(t.Context(), Wanted{})
	assert.Error(t, err)
	_, err = (&Exec{Command: []string{t.TempDir() + "/none"}}).Provision(t.Context(), Wanted{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestCommandThatHangsIsStopped(t *testing.T) {
	e, _ := making(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := e.Provision(ctx, Wanted{})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
