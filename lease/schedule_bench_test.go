package lease

import (
	"testing"
	"time"
)

// BenchmarkScheduleBeat is what the algorithm itself costs per beat.
func BenchmarkScheduleBeat(b *testing.B) {
	s := newSchedule(params{ttl: 60000})
	expiry := int64(1_700_000_000_000)
	e := created(0, 0, 60000)
	e.expiresAt = &expiry
	d := s.succeed(e)
	now := time.Duration(0)
	for b.Loop() {
		now += d.delay
		d = s.dispatch(now)
		expiry += 45000
		e = success{sent: now, received: now + time.Millisecond, timed: true, remaining: e.remaining, expiresAt: &expiry}
		if d = s.succeed(e); d.action != actionExtend {
			b.Fatal(d.reason)
		}
	}
}
