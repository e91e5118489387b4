package mockserver_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

var plenty = mockserver.Budget{Scope: "tenant:acme", Allocated: 1_000_000}

func at(ms int64) int64 { return epoch.UnixMilli() + ms }

func TestLeaseOfACreate(t *testing.T) {
	for name, c := range map[string]struct {
		policy  mockserver.Policy
		ttl     string
		granted int64
	}{
		"asks for nothing":               {mockserver.Policy{}, "", 60_000},
		"asks for a ttl":                 {mockserver.Policy{}, `"ttl_ms":30000`, 30_000},
		"asks for more than an hour":     {mockserver.Policy{}, `"ttl_ms":86400000`, 3_600_000},
		"tenant has a default":           {mockserver.Policy{DefaultTTL: 5 * time.Second}, "", 5_000},
		"tenant has a ceiling":           {mockserver.Policy{MaxTTL: 2 * time.Second}, `"ttl_ms":30000`, 2_000},
		"tenant's default is above it":   {mockserver.Policy{MaxTTL: 2 * time.Second}, "", 2_000},
		"tenant's ceiling is a day":      {mockserver.Policy{MaxTTL: 24 * time.Hour}, `"ttl_ms":86400000`, 86_400_000},
		"maximum lead is below the ttl":  {mockserver.Policy{MaxLead: 6 * time.Second}, `"ttl_ms":30000`, 6_000},
		"ttl with a fraction of nothing": {mockserver.Policy{}, `"ttl_ms":3e4`, 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := acmeWith(t, c.policy, plenty)
			extra := []string{}
			if c.ttl != "" {
				extra = append(extra, c.ttl)
			}
			r := w.reserve("k", 10, extra...).ok()
			assert.Equal(t, c.granted, r.int("remaining_ttl_ms"))
			assert.Equal(t, at(c.granted), r.int("expires_at_ms"))
		})
	}
}

func TestGrantOfAnExtend(t *testing.T) {
	for name, c := range map[string]struct {
		policy  mockserver.Policy
		after   time.Duration
		expires int64 // after the create with a ttl of 10 s
	}{
		"adds to the expiry, not to now":           {mockserver.Policy{}, 4 * time.Second, 20_000},
		"grant clamp":                              {mockserver.Policy{MaxGrant: 3 * time.Second}, 4 * time.Second, 13_000},
		"maximum lead":                             {mockserver.Policy{MaxLead: 12 * time.Second}, 4 * time.Second, 16_000},
		"maximum lead is used up: moves nothing":   {mockserver.Policy{MaxLead: 10 * time.Second}, 0, 10_000},
		"the ttl ceiling does not bind an extend":  {mockserver.Policy{MaxTTL: 10 * time.Second}, 0, 20_000},
		"at the very millisecond of the expiry":    {mockserver.Policy{}, 10 * time.Second, 20_000},
		"grant clamp and maximum lead, lead binds": {mockserver.Policy{MaxGrant: 9 * time.Second, MaxLead: 10 * time.Second}, 4 * time.Second, 14_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := acmeWith(t, c.policy, plenty)
			id := w.held("k", 10, `"ttl_ms":10000`)
			w.Advance(c.after)
			r := w.extend(id, "x", 10_000).ok()
			assert.Equal(t, at(c.expires), r.int("expires_at_ms"))
			assert.Equal(t, c.expires-c.after.Milliseconds(), r.int("remaining_ttl_ms"))
			assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved, "an extend moves no money")
		})
	}
}

func TestMaximumLeadLoweredBelowTheLeadNeverMovesTheExpiryBack(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":60000`)
	require.NoError(t, w.SetPolicy("acme", mockserver.Policy{MaxLead: 5 * time.Second}))
	assert.Equal(t, at(60_000), w.extend(id, "x", 10_000).ok().int("expires_at_ms"))
}

func TestLegacyServerNeverShowsTheRemainingTime(t *testing.T) {
	w := acmeWith(t, mockserver.Policy{Legacy: true}, plenty)
	r := w.reserve("k", 10).ok()
	assert.Nil(t, r.at("remaining_ttl_ms"))
	assert.Equal(t, at(60_000), r.int("expires_at_ms"))
	x := w.extend(r.str("reservation_id"), "x", 1_000).ok()
	assert.Nil(t, x.at("remaining_ttl_ms"))
	assert.Equal(t, at(61_000), x.int("expires_at_ms"))
}

func TestExtensionBudget(t *testing.T) {
	for name, c := range map[string]struct {
		max, allowed int
	}{
		"default":     {0, 10},
		"three":       {3, 3},
		"none at all": {mockserver.NoExtensions, 0},
		"without end": {mockserver.UnlimitedExtensions, 25},
	} {
		t.Run(name, func(t *testing.T) {
			w := acmeWith(t, mockserver.Policy{MaxExtensions: c.max}, plenty)
			id := w.held("k", 10)
			for i := range c.allowed {
				key := fmt.Sprint("x", i)
				w.extend(id, key, 1_000).ok()
				w.extend(id, key, 1_000).ok() // a replay does not count
			}
			if c.max != mockserver.UnlimitedExtensions {
				w.extend(id, "one more", 1_000).fails(409, gen.ErrorCodeMaxExtensionsExceeded)
			}
		})
	}
}

func TestExpiryAtTheExactMillisecond(t *testing.T) {
	const ttl, grace = 10_000, 5_000
	operations := map[string]func(w *world, id string) *reply{
		"extend":  func(w *world, id string) *reply { return w.extend(id, "f", 1_000) },
		"commit":  func(w *world, id string) *reply { return w.commit(id, "f", 5) },
		"release": func(w *world, id string) *reply { return w.release(id, "f") },
		"get":     func(w *world, id string) *reply { return w.get(id) },
	}
	last := map[string]int64{"extend": ttl, "commit": ttl + grace, "release": ttl + grace, "get": ttl + grace}
	for name, do := range operations {
		t.Run(name, func(t *testing.T) {
			start := func() (*world, string) {
				w := acme(t, plenty)
				return w, w.held("k", 10, `"ttl_ms":10000`)
			}
			w, id := start()
			w.Advance(time.Duration(last[name]) * time.Millisecond)
			do(w, id).ok()
			w, id = start()
			w.Advance(time.Duration(last[name]+1) * time.Millisecond)
			do(w, id).fails(http.StatusGone, gen.ErrorCodeReservationExpired)
		})
	}
}

func TestGracePeriodOfTheRequest(t *testing.T) {
	for name, c := range map[string]struct {
		extra string
		grace int64
	}{
		"none":    {`"grace_period_ms":0`, 0},
		"longest": {`"grace_period_ms":60000`, 60_000},
		"null":    {`"grace_period_ms":null`, 5_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme(t, plenty)
			id := w.held("k", 10, `"ttl_ms":1000`, c.extra)
			w.Advance(time.Duration(1_000+c.grace) * time.Millisecond)
			assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
			w.Advance(time.Millisecond)
			assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved, "the hold is back without anybody asking")
			w.commit(id, "c", 1).fails(410, gen.ErrorCodeReservationExpired)
		})
	}
}

func TestExtendWithinGraceIsTooLateAndCommitIsNot(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":1000`)
	w.Advance(1_001 * time.Millisecond)
	w.extend(id, "x", 60_000).fails(410, gen.ErrorCodeReservationExpired)
	assert.Equal(t, "ACTIVE", w.get(id).ok().str("status"))
	w.commit(id, "c", 10).ok()
}

func TestAnExtendMovesTheDeadlineOfTheHold(t *testing.T) {
	w := acme(t, plenty)
	id := w.held("k", 10, `"ttl_ms":1000`, `"grace_period_ms":0`)
	w.extend(id, "x", 5_000).ok()
	w.Advance(6_000 * time.Millisecond)
	assert.EqualValues(t, 10, w.balance("tenant:acme").Reserved)
	w.Advance(time.Millisecond)
	assert.EqualValues(t, 0, w.balance("tenant:acme").Reserved)
	w.get(id).fails(410, gen.ErrorCodeReservationExpired)
}
