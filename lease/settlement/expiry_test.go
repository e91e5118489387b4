package settlement_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestExpiredReservationIsSettledByAnEventWithTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		workspace := "prod"
		spend := w.reserve(42)
		spend.Created.Subject = gen.Subject{Workspace: &workspace, Dimensions: map[string]string{"run": "7"}}
		in := int64(12)
		spend.Commit.Metrics = &gen.StandardMetrics{TokensInput: &in}
		spend.Commit.Metadata = map[string]any{"note": "n", "recovery_reason": "the caller's", "actual_source": "estimate"}
		time.Sleep(ttl + grace + time.Millisecond)

		result, err := w.begin(w.settler(), spend).Settle(t.Context())
		require.NoError(t, err)
		assert.Len(t, spend.Commit.Metadata, 3, "the caller's map is not written to")
		assert.Equal(t, settlement.RecoveredByEvent, result.Disposition)
		assert.NotEmpty(t, result.Event.EventID)
		assert.Nil(t, result.Commit)
		assert.Equal(t, 2, result.Attempts)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())

		commit, event := w.wire.bodies("/commit"), w.wire.bodies("/v1/events")
		require.Len(t, commit, 1)
		require.Len(t, event, 1)
		key := result.IdempotencyKey
		sameJSON(t, []byte(`{"idempotency_key":"`+key+`","subject":{"tenant":"demo","workspace":"prod","dimensions":{"run":"7"}},
			"action":{"kind":"llm.completion","name":"model"},"actual":{"unit":"USD_MICROCENTS","amount":42},
			"metrics":{"tokens_input":12},"metadata":{"note":"n","actual_source":"estimate",
			"recovered_reservation_id":"`+spend.ReservationID+`","recovery_reason":"commit_after_reservation_expired"}}`), []byte(event[0]))
		var sent gen.CommitRequest
		require.NoError(t, json.Unmarshal([]byte(commit[0]), &sent))
		assert.Equal(t, key, sent.IdempotencyKey)
		assert.NotContains(t, commit[0], "recovered_reservation_id")
	})
}

func TestEventTellsNoMetricsThatTheCommitDidNotHave(t *testing.T) {
	w := newWorld(t)
	w.wire.set(down)
	spend := w.reserve(42)
	w.unsettled(w.settler(), spend)
	event := w.onDisk(spend.ReservationID)["event_fallback_body"].(map[string]any)
	assert.NotContains(t, event, "metrics")
	assert.NotContains(t, event, "overage_policy")
	assert.NotContains(t, event, "client_time_ms")
	assert.NotContains(t, w.onDisk(spend.ReservationID)["commit_body"], "metadata")
}

func TestModeSwitchIsOnDiskBeforeTheEventIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		var seen []any
		w.wire.watch(func(r *http.Request) { seen = append(seen, r.URL.Path, w.onDisk(spend.ReservationID)["mode"]) })
		_, err := w.begin(w.settler(), spend).Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []any{"/v1/reservations/" + spend.ReservationID + "/commit", "commit", "/v1/events", "event"}, seen)
	})
}

// The process dies between the switch and the event, or between the event and
// its answer: the next one sends the event, and only that.
func TestEventThatWasBegunIsGoneOnWithAfterARestart(t *testing.T) {
	for name, lost := range map[string]bool{"never arrived": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				spend := w.reserve(42)
				time.Sleep(ttl + grace + time.Millisecond)
				fault := mockserver.Fault{Operation: mockserver.CreateEvent, Kind: mockserver.FaultReset}
				if lost {
					fault.Kind = mockserver.FaultResponseLost
				}
				w.srv.Inject(fault)
				first := w.settler(settlement.WithoutBackground())
				result, err := w.begin(first, spend).Settle(t.Context())
				require.Error(t, err)
				assert.Equal(t, settlement.Pending, result.Disposition)
				stop(t, first)

				w.settler()
				time.Sleep(time.Second)
				assert.Len(t, w.wire.bodies("/commit"), 1)
				events := w.wire.bodies("/v1/events")
				require.Len(t, events, 2)
				sameJSON(t, []byte(events[0]), []byte(events[1]))
				assert.EqualValues(t, 42, w.spent())
				assert.Empty(t, w.files())
			})
		})
	}
}

func TestReservationThatExpiresWhileTheCommitIsRetriedBecomesAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(500, ""))
		x := w.unsettled(w.settler(), spend)
		time.Sleep(5 * time.Minute)
		w.wire.set(nil)
		time.Sleep(31 * time.Second)
		assert.Equal(t, settlement.RecoveredByEvent, x.Result().Disposition)
		assert.EqualValues(t, 42, w.spent())
	})
}

func TestRecordWithoutAnEventIsKeptWhenItsReservationIsOver(t *testing.T) {
	for name, event := range map[string]string{"absent": `null`, "empty": `{}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				spend := w.reserve(42)
				time.Sleep(ttl + grace + time.Millisecond)
				w.leave("left.json", `{"version":1,"reservation_id":"`+spend.ReservationID+`","base_url":"`+memoryURL+`",
					"commit_body":{"idempotency_key":"k","actual":{"unit":"USD_MICROCENTS","amount":42}},"event_fallback_body":`+event+`}`)
				s := w.settler()
				time.Sleep(time.Hour)
				assert.Empty(t, w.wire.bodies("/v1/events"))
				assert.NotNil(t, w.onDisk(spend.ReservationID))
				assert.Less(t, len(w.wire.times()), 100, "not asked again and again")
				var left *settlement.LeftError
				require.ErrorAs(t, w.flush(s, time.Second), &left)
				assert.Equal(t, 1, left.Kept)
			})
		})
	}
}

// Servers forget the key of an event after seven days. Sent again then it would
// be charged again.
func TestEventOlderThanItsKeyIsParked(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		age  time.Duration
		sent bool
	}{
		"fresh":                         {time.Hour, true},
		"a minute below seven days":     {week - time.Minute, true},
		"could arrive after seven days": {week - 2*time.Second, false},
		"seven days":                    {week, false},
		"a year":                        {52 * week, false},
		"from the future":               {-time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.leave("left.json", w.record(w.reserve(42), "key", "event", time.Now().Add(-c.age)))
				var n notes
				s := w.settler(n.option())
				time.Sleep(time.Second)
				if c.sent {
					assert.Equal(t, []settlement.Disposition{settlement.RecoveredByEvent}, n.dispositions())
					assert.EqualValues(t, 42, w.spent())
					return
				}
				assert.Empty(t, w.wire.times())
				assert.Equal(t, []settlement.Disposition{settlement.Parked}, n.dispositions())
				assert.ErrorIs(t, n.results()[0].Err, settlement.ErrKeyForgotten)
				status, err := s.Status()
				require.NoError(t, err)
				assert.Equal(t, 1, status.DeadLetters)
				list, err := settlement.List(w.base)
				require.NoError(t, err)
				assert.True(t, strings.HasPrefix(list[0].Reason, "parked: "), list[0].Reason)
			})
		})
	}
}

func TestEventWithoutATimeIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.leave("left.json", strings.Replace(w.record(spend, "key", "event", time.Now()), `"recorded_at_ms":`, `"some_other_ms":`, 1))
		w.settler()
		time.Sleep(time.Second)
		assert.Empty(t, w.wire.times())
		assert.Equal(t, map[string]int{".dead": 1}, w.files())
	})
}

// The age counts from the switch, which is before the first event: retrying must
// not make a record look younger.
func TestEventThatIsRetriedForAWeekIsParkedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, mockserver.WithJournalSize(0))
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		w.wire.set(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/events" {
				// It arrives each time, and the answer never does.
				_, _ = w.srv.Transport().RoundTrip(r)
				return nil, errDown
			}
			return nil, nil
		})
		var n notes
		c := w.client(client.WithRetry(client.RetryPolicy{InitialDelay: time.Hour, MaxDelay: time.Hour}))
		x := w.unsettled(w.settlerOf(c, n.option(), settlement.WithRescan(time.Hour)), spend)
		time.Sleep(7*24*time.Hour - time.Hour)
		assert.Equal(t, settlement.Pending, x.Result().Disposition)
		last := w.wire.times()
		time.Sleep(3 * time.Hour)
		assert.Equal(t, settlement.Parked, x.Result().Disposition)
		assert.LessOrEqual(t, len(w.wire.times())-len(last), 2)
		assert.EqualValues(t, 42, w.spent(), "the server took it once")
	})
}

// The commit's failures say nothing about the event: it starts with the shortest
// wait again.
func TestEventStartsItsWaitsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(500, ""))
		x := w.unsettled(w.settler(), spend)
		time.Sleep(10 * time.Minute)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CreateEvent, Status: 503})
		w.wire.set(nil)
		time.Sleep(31 * time.Second)
		at := w.wire.times()
		require.True(t, x.Result().Settled())
		assert.LessOrEqual(t, at[len(at)-1].Sub(at[len(at)-2]), 500*time.Millisecond)
	})
}

// A commit is as good after a month as on the first day: only the time since the
// switch counts for the event.
func TestOldCommitBecomesAnEventWhichIsYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		w.leave("left.json", w.record(spend, "key", "commit", time.Now().AddDate(0, -1, 0)))
		w.settler()
		time.Sleep(time.Second)
		assert.Len(t, w.wire.bodies("/v1/events"), 1)
		assert.EqualValues(t, 42, w.spent())
	})
}
