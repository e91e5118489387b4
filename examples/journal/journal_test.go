package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// pendingJournal is a journal of the environment with one spend that could not
// be settled, since the server failed.
func pendingJournal(t *testing.T) (srv *mockserver.Server, dir, id string) {
	t.Helper()
	srv = mockserver.Start(t)
	dir = t.TempDir()
	for name, value := range map[string]string{
		"CYCLES_BASE_URL": srv.URL(), "CYCLES_API_KEY": mockserver.DefaultAPIKey, "CYCLES_TENANT": mockserver.DefaultTenant,
		"CYCLES_JOURNAL_DIR": dir, "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	c, err := client.FromEnv()
	require.NoError(t, err)
	s, err := settlement.New(c, settlement.WithoutBackground(), settlement.WithFlushTimeout(0))
	require.NoError(t, err)
	unit := gen.UnitEnumUSDMicrocents
	req := gen.ReservationCreateRequest{
		Action: gen.Action{Kind: "k", Name: "n"}, Estimate: gen.Amount{Unit: unit, Amount: 100},
	}
	created, err := c.CreateReservation(t.Context(), req)
	require.NoError(t, err)
	srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Status: 503})
	x, err := s.Begin(settlement.Spend{ReservationID: *created.ReservationID, Created: req, Commit: gen.CommitRequest{Actual: gen.Amount{Unit: unit, Amount: 42}}})
	require.NoError(t, err)
	_, err = x.Settle(t.Context())
	require.Error(t, err)
	require.ErrorAs(t, s.Close(context.Background()), new(*settlement.LeftError))
	return srv, dir, *created.ReservationID
}

func call(t *testing.T, args ...string) (exit int, out, complaints string) {
	t.Helper()
	var o, c bytes.Buffer
	exit = run(t.Context(), args, &o, &c)
	return exit, o.String(), c.String()
}

func TestPendingSpendIsListedAndFlushed(t *testing.T) {
	srv, dir, id := pendingJournal(t)
	exit, out, _ := call(t, "list")
	assert.Equal(t, exitPending, exit)
	assert.Contains(t, out, id)
	assert.Contains(t, out, "42 USD_MICROCENTS")

	exit, out, _ = call(t, "list", "-json", "-dir", dir)
	assert.Equal(t, exitPending, exit)
	var e settlement.Entry
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	assert.Equal(t, id, e.ReservationID)
	assert.NotContains(t, out, mockserver.DefaultAPIKey)

	exit, out, _ = call(t, "flush")
	assert.Equal(t, exitSettled, exit)
	assert.Contains(t, out, `committed  "`+id+`"`)
	assert.Contains(t, out, "0 pending, 0 dead letters, 0 quarantined")
	b, err := srv.Balance(mockserver.DefaultScope, gen.UnitEnumUSDMicrocents)
	require.NoError(t, err)
	assert.EqualValues(t, 42, b.Spent)

	exit, out, _ = call(t, "list")
	assert.Equal(t, exitSettled, exit)
	assert.Equal(t, "nothing\n", out)
}

func TestFlushThatSettlesNothingLeavesTheRecordAndSaysSo(t *testing.T) {
	srv, dir, _ := pendingJournal(t)
	srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Status: 503, Count: -1})
	exit, out, _ := call(t, "flush", "-timeout", "50ms", "-dir", dir)
	assert.Equal(t, exitPending, exit)
	assert.Contains(t, out, "1 pending")
}

func TestDeadLetterIsListedWithItsReason(t *testing.T) {
	srv, _, id := pendingJournal(t)
	require.NoError(t, srv.SetTenantStatus(mockserver.DefaultTenant, mockserver.TenantClosed))
	exit, out, _ := call(t, "flush")
	assert.Equal(t, exitSettled, exit, "nothing is pending any more")
	assert.Contains(t, out, `rejected  "`+id+`"`)
	assert.Contains(t, out, "1 dead letters")
	_, out, _ = call(t, "list")
	assert.Contains(t, out, "TENANT_CLOSED")
}

func TestCommandsThatCannotWork(t *testing.T) {
	t.Setenv("CYCLES_BASE_URL", "")
	missing := filepath.Join(t.TempDir(), "missing")
	for name, args := range map[string][]string{
		"nothing": nil, "unknown": {"settle"}, "unknown flag": {"list", "-x"}, "too much": {"list", "here"},
		"no directory": {"list", "-dir", missing}, "no environment": {"flush"}, "neither": {"list"},
	} {
		exit, out, complaints := call(t, args...)
		assert.Equal(t, exitFailed, exit, name)
		assert.Empty(t, out, name)
		assert.NotEmpty(t, complaints, name)
	}
}
