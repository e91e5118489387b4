package lease

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
)

// throughManager says whether a scenario can happen to a manager: it always
// knows its timeout, and its client always times.
func (sc scenario) throughManager() bool {
	if sc.fallback() {
		return true
	}
	if sc.TimeoutMs == nil || sc.Create.RTTMs == nil {
		return false
	}
	for _, r := range sc.Replies {
		if r.OK != nil && r.RTTMs == nil {
			return false
		}
	}
	return true
}

// respond plays a scenario's reply to an extend.
func (r scenarioReply) respond(c *wireCall, expiry *int64) *http.Response {
	if r.Fail == "" {
		time.Sleep(atMs(*r.RTTMs))
		if r.OK != nil {
			return replyExtended(*r.OK)
		}
		*expiry += *r.Grant
		return replyExtendedLegacy(*expiry)
	}
	if r.Fail == "transport" && r.AfterMs > 0 {
		return c.hang()
	}
	time.Sleep(atMs(r.AfterMs))
	var resp *http.Response
	switch r.Fail {
	case "503":
		resp = reply(503, `not json`)
	case "ambiguous":
		resp = reply(202, `{}`)
	case "429":
		resp = replyRefused(429, gen.ErrorCodeLimitExceeded)
	case "rejected":
		resp = replyRefused(400, gen.ErrorCodeInvalidRequest)
	case "permanent":
		resp = replyRefused(409, gen.ErrorCodeMaxExtensionsExceeded)
	}
	if r.RetryAfter != nil {
		resp.Header.Set("Retry-After", *r.RetryAfter)
	}
	return resp
}

func TestManagerKeepsEveryScenario(t *testing.T) {
	played := 0
	for _, sc := range loadScenarios(t) {
		if !sc.throughManager() {
			continue
		}
		played++
		t.Run(sc.Name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { playThroughManager(t, sc) }) })
	}
	assert.Equal(t, 28, played)
}

func playThroughManager(t *testing.T, sc scenario) {
	expiry := epochMs
	over := make(chan struct{})
	var w *wire
	w = &wire{handle: func(c *wireCall) *http.Response {
		if c.op == "create" {
			if sc.fallback() {
				return replyCreatedLegacy("rsv")
			}
			time.Sleep(atMs(*sc.Create.RTTMs))
			return replyCreated("rsv", sc.Create.RemainingTTLMs)
		}
		n := len(w.sent("extend"))
		if n > len(sc.Replies) {
			close(over)
			return c.hang()
		}
		return sc.Replies[n-1].respond(c, &expiry)
	}}
	var opts []Option
	if sc.TimeoutMs != nil {
		opts = append(opts, WithExtendTimeout(atMs(*sc.TimeoutMs)))
	}
	var skipped []float64
	var origin time.Time
	sinceOrigin := func(at time.Time) float64 { return float64(at.Sub(origin)) / 1e6 }
	opts = append(opts, WithObserver(ObserverFunc(func(e Event) {
		if e.Step == StepSkipped {
			skipped = append(skipped, sinceOrigin(e.Time))
		}
	})))
	m := manage(t, w, opts...)
	ttl := int64(60_000)
	if sc.TTLMs != 0 {
		ttl = sc.TTLMs
	}
	l := acquire(t, m, ttl)
	origin = time.Now() // the create was answered at this very instant

	// A script that ended leaves a lease that goes on: wait for its next beat, or
	// an hour when that is further off.
	select {
	case <-over:
	case <-l.Done():
	case <-time.After(time.Hour):
	}
	sent := w.sent("extend")
	end := "script_end"
	if err := l.Err(); err != nil {
		end = err.(*StopError).Reason.String()
		require.Len(t, sent, len(sc.Expect.Attempts))
	}
	sent = sent[:min(len(sent), len(sc.Expect.Attempts))]
	l.Stop()
	synctest.Wait()

	if sc.Expect.End == "permanent" {
		sc.Expect.End = StopMaxExtensions.String()
	}
	assert.Equal(t, sc.Expect.End, end)
	var attempts []scenarioAttempt
	for i, c := range sent {
		key := "new"
		if i > 0 && c.key() == sent[i-1].key() {
			key = "same"
			assert.Equal(t, sent[i-1].raw, c.raw, "same key, same bytes")
		}
		for _, before := range sent[:max(0, i-1)] {
			if key == "new" {
				assert.NotEqual(t, before.key(), c.key(), "an old key came back")
			}
		}
		attempts = append(attempts, scenarioAttempt{AtMs: sinceOrigin(c.at), Key: key})
		assert.Equal(t, "rsv", c.id)
		assert.EqualValues(t, ttl, c.body["extend_by_ms"], "extends by the ttl that was asked for")
	}
	assert.Equal(t, sc.Expect.Attempts, attempts)
	if sc.fallback() {
		if skipped == nil {
			skipped = []float64{}
		}
		assert.Equal(t, sc.Expect.SkippedAtMs, skipped[:min(len(skipped), len(sc.Expect.SkippedAtMs))])
	}
}
