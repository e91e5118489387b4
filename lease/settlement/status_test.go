package settlement_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

func TestStatusCountsWhatAnOperatorWantsToKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		rejected, pending := w.reserve(1), w.reserve(2)
		w.leave("old.json", w.record(w.reserve(4), "old", "commit", time.Now().Add(-48*time.Hour)))
		w.leave("broken.json", "{")
		s := w.settler(settlement.WithoutBackground())
		w.wire.set(always(409, refusal(gen.ErrorCodeReservationFinalized)))
		w.unsettled(s, rejected)
		w.wire.set(down)
		w.unsettled(s, pending)

		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, settlement.Status{
			Dir: w.dir(), Pending: 2, OldestAge: 48 * time.Hour, Quarantined: 1, DeadLetters: 1,
		}, status)
	})
}

func TestStatusOfAJournalThatWasTakenAwayIsAnError(t *testing.T) {
	w := newWorld(t)
	s := w.settler(settlement.WithoutBackground())
	require.NoError(t, os.RemoveAll(w.base))
	_, err := s.Status()
	assert.ErrorAs(t, err, new(*settlement.JournalError))
}

func TestListShowsTheJournalsOfAllIdentitiesOrOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.leave("left.json", setFloor(t, w.record(spend, "key", "event", time.UnixMilli(1700000000000)), time.UnixMilli(1700000009000)))
		other := filepath.Join(w.base, "68c905017df7dbfc")
		require.NoError(t, os.Mkdir(other, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(other, "x.corrupt"), nil, 0o600))

		want := settlement.Entry{
			Path: filepath.Join(w.dir(), "left.json"), State: "pending",
			ReservationID: spend.ReservationID, BaseURL: memoryURL, IdempotencyKey: "key", Mode: "event",
			Actual:     &spend.Commit.Actual,
			RecordedAt: time.UnixMilli(1700000000000), NotBefore: time.UnixMilli(1700000009000),
		}
		all, err := settlement.List(w.base)
		require.NoError(t, err)
		assert.ElementsMatch(t, []settlement.Entry{want, {Path: filepath.Join(other, "x.corrupt"), State: "quarantined"}}, all)
		one, err := settlement.List(w.dir())
		require.NoError(t, err)
		assert.Equal(t, []settlement.Entry{want}, one)

		_, err = settlement.List(filepath.Join(w.base, "missing"))
		assert.ErrorAs(t, err, new(*settlement.JournalError))
	})
}
