package settlement_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestTheZeroResultSaysThatNothingIsPending(t *testing.T) {
	var r settlement.Result
	assert.Equal(t, settlement.None, r.Disposition)
	assert.Equal(t, "none", r.Disposition.String())
	assert.False(t, r.Settled())
	assert.Zero(t, r.Shortfall())
	assert.Equal(t, "pending", settlement.Pending.String())
	assert.Equal(t, "handed-over", settlement.HandedOver.String())
	assert.Equal(t, "unknown", (settlement.HandedOver + 1).String())
}

func TestASpendIsPendingFromTheStart(t *testing.T) {
	w := newWorld(t)
	x := w.begin(w.settler(), w.reserve(42))
	assert.Equal(t, settlement.Pending, x.Result().Disposition)
	assert.Equal(t, amount(42), x.Result().Actual)
	assert.Equal(t, amount(42), x.Actual())
	assert.Equal(t, amount(0), x.Result().Shortfall(), "nothing is known to be uncharged")
}

func TestASpendAboveTheBudgetIsChargedInPart(t *testing.T) {
	poor := mockserver.WithBudget(mockserver.Budget{Scope: mockserver.DefaultScope, Allocated: 1200})
	t.Run("as a commit", func(t *testing.T) {
		w := newWorld(t, poor)
		result, err := w.begin(w.settler(), w.reserve(1500)).Settle(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 1200, result.Commit.Charged.Amount)
		assert.Equal(t, amount(1500), result.Actual)
		assert.Equal(t, amount(300), result.Shortfall())
	})
	t.Run("as an event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, poor)
			x := w.begin(w.settler(), w.reserve(1500))
			time.Sleep(ttl + grace + time.Millisecond)
			result, err := x.Settle(t.Context())
			require.NoError(t, err)
			require.Equal(t, settlement.RecoveredByEvent, result.Disposition)
			assert.Equal(t, amount(300), result.Shortfall())
		})
	})
	t.Run("found in the journal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, poor)
			first := w.settler(settlement.WithoutBackground())
			w.wire.set(down)
			w.unsettled(first, w.reserve(1500))
			stop(t, first)
			w.wire.set(nil)
			n := &notes{}
			require.NoError(t, w.flush(w.settler(n.option()), time.Minute))
			told := n.results()
			require.Len(t, told, 1)
			assert.Equal(t, amount(1500), told[0].Actual)
			assert.Equal(t, amount(300), told[0].Shortfall())
		})
	})
	t.Run("not at all in part", func(t *testing.T) {
		w := newWorld(t)
		result, err := w.begin(w.settler(), w.reserve(42)).Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, amount(0), result.Shortfall())
	})
}

func TestAClientThatNobodyMadeIsRefused(t *testing.T) {
	for name, c := range map[string]*client.Client{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			s, err := settlement.New(c)
			require.Nil(t, s)
			require.ErrorAs(t, err, new(*client.ConfigError))
		})
	}
}

func TestSettlersAndSettlementsCanBePrintedWhileTheyWork(t *testing.T) {
	w := newWorld(t)
	s := w.settler()
	spend := w.reserve(42)
	x := w.begin(s, spend)
	var working sync.WaitGroup
	working.Go(func() {
		_, err := x.Settle(t.Context())
		assert.NoError(t, err)
	})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		assert.Equal(t, `settlement of reservation "`+spend.ReservationID+`"`, fmt.Sprintf(verb, x))
		assert.Equal(t, "settler on "+w.client().String(), fmt.Sprintf(verb, s))
	}
	working.Wait()
}
