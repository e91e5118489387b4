package lease

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scenario is one entry of testdata/heartbeat.json, whose "about" explains the format.
type scenario struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	TTLMs     int64    `json:"ttl_ms"`
	TimeoutMs *float64 `json:"timeout_ms"`
	Create    struct {
		RemainingTTLMs int64    `json:"remaining_ttl_ms"`
		RTTMs          *float64 `json:"rtt_ms"`
	} `json:"create"`
	Replies []scenarioReply `json:"replies"`
	Expect  struct {
		Attempts    []scenarioAttempt `json:"attempts"`
		SkippedAtMs []float64         `json:"skipped_at_ms"`
		End         string            `json:"end"`
	} `json:"expect"`
}

type scenarioReply struct {
	OK         *int64   `json:"ok"`
	Grant      *int64   `json:"grant"`
	RTTMs      *float64 `json:"rtt_ms"`
	Fail       string   `json:"fail"`
	AfterMs    float64  `json:"after_ms"`
	RetryAfter *string  `json:"retry_after"`
}

type scenarioAttempt struct {
	AtMs float64 `json:"at_ms"`
	Key  string  `json:"key"`
}

func (sc scenario) fallback() bool { return sc.Path == "fallback" }

func loadScenarios(t *testing.T) []scenario {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "heartbeat.json"))
	require.NoError(t, err)
	var file struct{ Scenarios []scenario }
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Scenarios)
	return file.Scenarios
}

// atMs is an exact number of milliseconds; the scenarios use fractions that a float holds.
func atMs(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

func (r scenarioReply) failure(at time.Duration) failure {
	f := failure{at: at}
	switch r.Fail {
	case "503", "transport":
		f.class = failedTransient
	case "ambiguous":
		f.class = failedAmbiguous
	case "429":
		f.class = failedThrottled
	case "rejected":
		f.class = failedRejected
	case "permanent":
		f.class = failedPermanent
	default:
		panic("unknown failure " + r.Fail)
	}
	if r.RetryAfter != nil {
		seconds, err := strconv.ParseUint(*r.RetryAfter, 10, 31)
		f.retryAfter, f.hasRetryAfter = time.Duration(seconds)*time.Second, err == nil
	}
	return f
}

// outcome is what a schedule did with a scenario.
type outcome struct {
	attempts []scenarioAttempt
	skipped  []float64
	end      string
}

// play drives a schedule through a scenario. Everything in it starts at origin, which no schedule may depend on.
func play(sc scenario, origin time.Duration, permanent StopReason) outcome {
	p := params{ttl: sc.TTLMs}
	switch {
	case sc.fallback():
	case sc.TimeoutMs == nil:
		p.fixedTimeout = unbounded
	default:
		p.fixedTimeout = atMs(*sc.TimeoutMs)
	}
	s := newSchedule(p)
	expiry := int64(1_700_000_000_000)
	answer := success{create: true, sent: origin, received: origin, timed: true, expiresAt: &expiry}
	if !sc.fallback() {
		answer.remaining = &sc.Create.RemainingTTLMs
		if answer.timed = sc.Create.RTTMs != nil; answer.timed {
			answer.sent = origin - atMs(*sc.Create.RTTMs)
		}
	}
	out := outcome{skipped: []float64{}}
	now, d := origin, s.succeed(answer)
	for reply := 0; ; {
		if d.action == actionStop {
			out.end = d.reason.String()
			return out
		}
		if reply == len(sc.Replies) {
			out.end = "script_end"
			return out
		}
		now += d.delay
		if d = s.dispatch(now); d.action == actionSkip {
			out.skipped = append(out.skipped, float64(now-origin)/1e6)
			continue
		} else if d.action == actionStop {
			continue
		}
		key := map[keyRule]string{keyFresh: "new", keySame: "same"}[d.key]
		out.attempts = append(out.attempts, scenarioAttempt{AtMs: float64(now-origin) / 1e6, Key: key})

		r := sc.Replies[reply]
		reply++
		if r.Fail != "" {
			now += atMs(r.AfterMs)
			f := r.failure(now)
			f.reason = permanent
			d = s.fail(f)
			continue
		}
		answer = success{sent: now, timed: r.RTTMs != nil, remaining: r.OK}
		if r.RTTMs != nil {
			now += atMs(*r.RTTMs)
		}
		answer.received = now
		if r.Grant != nil {
			expiry += *r.Grant
		}
		after := expiry
		answer.expiresAt = &after
		d = s.succeed(answer)
	}
}

func TestScheduleKeepsEveryScenario(t *testing.T) {
	permanents := []StopReason{StopExpired, StopFinalized, StopMaxExtensions, StopTenantClosed, StopNotFound}
	for _, sc := range loadScenarios(t) {
		t.Run(sc.Name, func(t *testing.T) {
			for _, origin := range []time.Duration{0, time.Hour + 1, -time.Minute - 1} {
				for _, permanent := range permanents {
					want := sc.Expect.End
					if want == "permanent" {
						want = permanent.String()
					}
					got := play(sc, origin, permanent)
					require.Equal(t, sc.Expect.Attempts, got.attempts, "origin %v", origin)
					if sc.fallback() {
						require.Equal(t, sc.Expect.SkippedAtMs, got.skipped, "origin %v", origin)
					} else {
						require.Empty(t, got.skipped)
					}
					require.Equal(t, want, got.end, "origin %v", origin)
				}
			}
		})
	}
}

func TestScenarioFileIsComplete(t *testing.T) {
	seen := map[string]bool{}
	primary, fallback := 0, 0
	for _, sc := range loadScenarios(t) {
		assert.NotEmpty(t, sc.Expect.Attempts, sc.Name)
		assert.NotEmpty(t, sc.Expect.End, sc.Name)
		assert.False(t, seen[sc.Name], "two scenarios named %q", sc.Name)
		seen[sc.Name] = true
		if sc.fallback() {
			fallback++
		} else {
			primary++
		}
	}
	assert.Equal(t, "25 primary, 6 fallback", fmt.Sprintf("%d primary, %d fallback", primary, fallback))
}
