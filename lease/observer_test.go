package lease

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// faulty fails the second extend, and refuses the fourth for good.
func faulty() *wire {
	var w *wire
	w = scripted(60_000, onExtend(&w, func(n int, c *wireCall) *http.Response {
		time.Sleep(40 * time.Millisecond)
		switch n {
		case 2:
			return reply(503, "")
		case 4:
			return replyRefused(409, gen.ErrorCodeTenantClosed)
		}
		return replyExtended(60_000)
	}))
	return w
}

func TestObserverIsToldEachStepWithItsFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := faulty()
		seen := &steps{}
		m := manage(t, w, WithExtendTimeout(7*time.Second), WithObserver(seen))
		l := acquire(t, m, 60_000)
		start := time.Now()
		<-l.Lost()
		l.Stop()
		synctest.Wait()
		var story []string
		for _, e := range seen.events {
			line := fmt.Sprintf("%v %s #%d", e.Time.Sub(start), e.Step, e.Attempt)
			switch e.Step {
			case StepScheduled:
				line += fmt.Sprintf(" in %v same=%t reserve %v", e.Delay, e.SameKey, e.RetryReserve)
			case StepAttempt:
				line += fmt.Sprintf(" same=%t timeout %v", e.SameKey, e.Timeout)
			case StepSuccess:
				line += fmt.Sprintf(" rtt %v lead %v -> %v remaining %d", e.RTT, e.LeadBefore, e.Lead, *e.RemainingTTLMs)
			case StepFailure:
				line += fmt.Sprintf(" %s after %v, %s, window %v", e.Outcome, e.RTT, e.Disposition, e.RetryWindow)
			case StepStopped:
				line += fmt.Sprintf(" %s, %s", e.Reason, e.Disposition)
			}
			story = append(story, line)
		}
		assert.Equal(t, []string{
			"0s kept #0",
			"0s scheduled #0 in 45s same=false reserve 15s",
			"45s attempt #1 same=false timeout 7s",
			"45.04s success #1 rtt 40ms lead 14.96s -> 59.96s remaining 60000",
			"45.04s scheduled #1 in 44.96s same=false reserve 15s",
			"1m30s attempt #2 same=false timeout 7s",
			"1m30.04s failure #2 transient after 40ms, retry-same-key, window 6.96s",
			"1m30.04s scheduled #2 in 3.74s same=true reserve 15s",
			"1m33.78s attempt #3 same=true timeout 7s",
			"1m33.82s success #3 rtt 40ms lead 11.18s -> 59.96s remaining 60000",
			"1m33.82s scheduled #3 in 44.96s same=false reserve 15s",
			"2m18.78s attempt #4 same=false timeout 7s",
			"2m18.82s failure #4 rejected after 40ms, gone, window 0s",
			"2m18.82s stopped #4 tenant-closed, gone",
			"2m18.82s lost #4",
			"2m18.82s finished #4",
		}, story)
		for _, e := range seen.of(StepAttempt) {
			assert.Equal(t, w.sent("extend")[e.Attempt-1].key(), e.IdempotencyKey)
			assert.Equal(t, "rsv", e.ReservationID)
		}
		assert.Equal(t, time.UnixMilli(epochMs), seen.of(StepSuccess)[0].ExpiresAt)
		assert.True(t, seen.of(StepSuccess)[0].Timed)
		assert.ErrorIs(t, seen.of(StepStopped)[0].Err, client.ErrTenantClosed)
		stats := m.Stats()
		assert.Equal(t, uint64(4), stats.Attempts)
		assert.Equal(t, uint64(2), stats.Succeeded)
		assert.Equal(t, uint64(2), stats.Failed)
		assert.Equal(t, uint64(1), stats.Lost)
		assert.Zero(t, stats.Active)
		assert.Zero(t, stats.EventsDropped)
	})
}

func TestASlowObserverDelaysNoBeatAndItsOverflowIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		release := make(chan struct{})
		var taken atomic.Int64
		m := manage(t, w, WithExtendTimeout(7*time.Second), WithObserver(ObserverFunc(func(Event) {
			<-release
			taken.Add(1)
		})))
		start := time.Now()
		const leases = 400
		for i := range leases {
			acquireAs(t, m, w, strconv.Itoa(i))
		}
		time.Sleep(5 * time.Minute)
		assert.Len(t, w.sent("extend"), leases*6)
		for _, c := range w.sent("extend") {
			assert.Zero(t, c.at.Sub(start)%(45*time.Second), "the cadence does not depend on the observer")
		}
		events := uint64(leases * (2 + 3*6))
		dropped := m.Stats().EventsDropped
		assert.Positive(t, dropped)
		close(release)
		synctest.Wait()
		assert.Equal(t, events, uint64(taken.Load())+dropped, "each event was taken or counted")
		assert.LessOrEqual(t, taken.Load(), int64(2*EventQueueSize), "the queue is bounded")
	})
}

func TestObserverSeesOneLeaseInOrderAndNeverTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := scripted(60_000, func(*wireCall) (*http.Response, bool) {
			time.Sleep(time.Millisecond)
			return nil, false
		})
		var inside atomic.Int32
		last := map[string]Event{}
		m := manage(t, w)
		m.cfg.observers = append(m.cfg.observers, ObserverFunc(func(e Event) {
			assert.Equal(t, int32(1), inside.Add(1))
			time.Sleep(time.Microsecond)
			before := last[e.ReservationID]
			assert.False(t, e.Time.Before(before.Time))
			assert.GreaterOrEqual(t, e.Attempt, before.Attempt)
			if e.Step == StepSuccess {
				assert.Equal(t, StepAttempt, before.Step)
			}
			last[e.ReservationID] = e
			m.Stats() // no lock is held
			inside.Add(-1)
		}))
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { acquireAs(t, m, w, strconv.Itoa(i)) })
		}
		wg.Wait()
		time.Sleep(10 * time.Minute)
		require.NoError(t, m.Close(t.Context()))
		assert.Len(t, last, 50)
		for _, e := range last {
			assert.Equal(t, StepFinished, e.Step)
		}
	})
}

func TestSlogObserverWritesWhatAPersonNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		m := manage(t, faulty(), WithExtendTimeout(7*time.Second), WithLogger(logger), WithExtensionBudget(10))
		l := acquire(t, m, 60_000)
		<-l.Lost()
		l.Stop()
		synctest.Wait()
		levels := map[string]int{}
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			var entry map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &entry))
			levels[fmt.Sprint(entry["level"], " ", entry["msg"])]++
			assert.Equal(t, "rsv", entry["reservation_id"])
			assert.Contains(t, entry, "lead")
			assert.Contains(t, entry, "extensions_left")
		}
		assert.Equal(t, map[string]int{
			"INFO lease kept": 1, "DEBUG lease scheduled": 4, "DEBUG lease attempt": 4, "DEBUG lease success": 2,
			"WARN lease failure": 2, "WARN lease stopped": 1, "ERROR lease lost": 1, "INFO lease finished": 1,
		}, levels)
		for _, want := range []string{`"disposition":"retry-same-key"`, `"delay":3740000000`, `"reason":"tenant-closed"`, `"outcome":"transient"`, `TENANT_CLOSED`} {
			assert.Contains(t, out.String(), want)
		}
		assert.NotContains(t, out.String(), "cyc_live_test", "never the API key")
	})
	t.Run("a level that is off costs nothing and writes nothing", func(t *testing.T) {
		var out bytes.Buffer
		o := NewSlogObserver(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})))
		o.Observe(Event{Step: StepAttempt})
		o.Observe(Event{Step: StepStopped})
		assert.Empty(t, out.String())
		o.Observe(Event{Step: StepLost, ReservationID: "rsv"})
		assert.Contains(t, out.String(), "rsv")
	})
}

// ledgerOfMetrics is a Meter that keeps sums.
type ledgerOfMetrics struct {
	counters   map[string]float64
	histograms map[string]Spread
}

func (l *ledgerOfMetrics) Add(name string, n float64, label string) { l.counters[name+"/"+label] += n }

func (l *ledgerOfMetrics) Record(name string, seconds float64) {
	s := l.histograms[name]
	s.add(time.Duration(seconds * float64(time.Second)))
	l.histograms[name] = s
}

func TestMeterObserverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := &ledgerOfMetrics{map[string]float64{}, map[string]Spread{}}
		m := manage(t, faulty(), WithExtendTimeout(7*time.Second), WithObserver(NewMeterObserver(meter)))
		l := acquire(t, m, 60_000)
		<-l.Lost()
		l.Stop()
		require.NoError(t, m.Close(t.Context()))
		assert.Equal(t, map[string]float64{
			"lease_kept_total/": 1, "lease_extends_total/success": 2, "lease_extends_total/transient": 1, "lease_extends_total/rejected": 1,
			"lease_stopped_total/tenant-closed": 1, "lease_lost_total/tenant-closed": 1, "lease_finished_total/": 1,
		}, meter.counters)
		assert.Equal(t, uint64(4), meter.histograms["lease_extend_seconds"].Count)
		assert.Equal(t, 40*time.Millisecond, meter.histograms["lease_extend_seconds"].Mean())
		assert.Equal(t, uint64(4), meter.histograms["lease_queue_seconds"].Count)
		assert.Equal(t, uint64(4), meter.histograms["lease_lateness_seconds"].Count)
		assert.Equal(t, 14960*time.Millisecond, meter.histograms["lease_lead_seconds"].Max)
	})
	t.Run("the rarer steps", func(t *testing.T) {
		meter := &ledgerOfMetrics{map[string]float64{}, map[string]Spread{}}
		o := NewMeterObserver(meter)
		o.Observe(Event{Step: StepSkipped})
		o.Observe(Event{Step: StepUnproven})
		o.Observe(Event{Step: StepWarning, Warning: WarnClock})
		o.Observe(Event{Step: StepScheduled})
		assert.Equal(t, map[string]float64{
			"lease_extends_skipped_total/": 1, "lease_unproven_total/": 1, "lease_warnings_total/clocks-disagree": 1,
		}, meter.counters)
	})
}

func TestWarnings(t *testing.T) {
	warnings := func(t *testing.T, w *wire, ttl int64, life time.Duration, opts ...Option) []Warning {
		var of []Warning
		synctest.Test(t, func(t *testing.T) {
			seen := &steps{}
			m := manage(t, w, append(opts, WithObserver(seen))...)
			acquire(t, m, ttl)
			time.Sleep(life)
			synctest.Wait()
			for _, e := range seen.of(StepWarning) {
				of = append(of, e.Warning)
			}
		})
		return of
	}
	assert.Empty(t, warnings(t, steady(60_000), 60_000, time.Hour))
	assert.Equal(t, []Warning{WarnReserve}, warnings(t, steady(60_000), 60_000, time.Minute, WithExtendTimeout(30*time.Second)),
		"said at the acquire")
	assert.Equal(t, []Warning{WarnReserve}, warnings(t, steady(3_000), 3_000, time.Minute), "too short for any timeout")
	assert.Equal(t, []Warning{WarnLastExtension}, warnings(t, steady(60_000), 60_000, time.Hour, WithExtensionBudget(5)))

	var maximumLead *wire
	began := time.Time{}
	maximumLead = &wire{handle: func(c *wireCall) *http.Response {
		if c.op == "create" {
			began = time.Now()
			return replyCreatedLegacy("rsv")
		}
		return replyExtendedLegacy(epochMs + time.Since(began).Milliseconds())
	}}
	assert.Equal(t, []Warning{WarnMaximumLead}, warnings(t, maximumLead, 60_000, time.Hour), "said once")
}

func TestForecastTellsHowLongTheExtensionBudgetLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// An additive server of 60 s that grants 4 extensions.
		began := time.Now()
		var w *wire
		w = &wire{handle: func(c *wireCall) *http.Response {
			n := int64(len(w.sent("extend")))
			remaining := 60_000*(n+1) - time.Since(began).Milliseconds()
			switch {
			case c.op == "create":
				return replyCreated("rsv", 60_000)
			case n > 4:
				return replyRefused(409, gen.ErrorCodeMaxExtensionsExceeded)
			}
			return replyExtended(remaining)
		}}
		m := manage(t, w, WithExtendTimeout(7*time.Second), WithExtensionBudget(4))
		l := acquire(t, m, 60_000)
		f, ok := l.Forecast()
		require.True(t, ok)
		assert.Equal(t, Forecast{ExtensionsLeft: 4, Lasts: 60*time.Second + 4*45*time.Second}, f)
		time.Sleep(46 * time.Second)
		f, _ = l.Forecast()
		assert.Equal(t, Forecast{ExtensionsLeft: 3, Lasts: 74*time.Second + 3*60*time.Second}, f)
		predicted := time.Now().Add(f.Lasts)
		<-l.Lost()
		assert.Equal(t, predicted, time.Now(), "and so it came")
		assert.Equal(t, StopMaxExtensions, stopOf(t, l).Reason)
		f, _ = l.Forecast()
		assert.Equal(t, Forecast{}, f)

		_, ok = acquireAs(t, manage(t, steady(60_000)), w, "x").Forecast()
		assert.False(t, ok, "nobody told a budget")
	})
}

func TestAReplayedExtensionCountsOnceAgainstTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = scripted(60_000, onExtend(&w, func(n int, _ *wireCall) *http.Response {
			if n == 1 {
				return nil // applied, and the answer was lost
			}
			return replyExtended(60_000)
		}))
		l := acquire(t, manage(t, w, WithExtensionBudget(10)), 60_000)
		time.Sleep(time.Minute)
		require.Len(t, w.sent("extend"), 2)
		f, _ := l.Forecast()
		assert.Equal(t, 9, f.ExtensionsLeft)
	})
}

func TestJitterSpreadsLeasesAndOnlyShortens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		m := manage(t, w, WithExtendTimeout(7*time.Second), WithJitter(0.2))
		start := time.Now()
		for i := range 100 {
			acquireAs(t, m, w, strconv.Itoa(i))
		}
		time.Sleep(90 * time.Second)
		beats := map[string][]time.Duration{}
		for _, c := range w.sent("extend") {
			beats[c.id] = append(beats[c.id], c.at.Sub(start))
		}
		first, second := map[time.Duration]bool{}, map[time.Duration]bool{}
		for id, at := range beats {
			require.GreaterOrEqual(t, len(at), 2, id)
			for _, wait := range []time.Duration{at[0], at[1] - at[0]} {
				assert.LessOrEqual(t, wait, 45*time.Second)
				assert.GreaterOrEqual(t, wait, 36*time.Second)
			}
			first[at[0]], second[at[1]-at[0]] = true, true
		}
		assert.Greater(t, len(first), 50)
		assert.Greater(t, len(second), 50)
	})
}
