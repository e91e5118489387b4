package settlement

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
)

// backoff grows with each failure in a row. It takes its delays from the
// client's retry policy but knows no last attempt: what was spent is sent until
// the server has answered.
type backoff struct {
	first, most time.Duration
	factor      float64
}

func backoffOf(p client.RetryPolicy) backoff {
	return backoff{first: p.InitialDelay, most: p.MaxDelay, factor: p.Multiplier}
}

// after is the wait after the n-th failure in a row, counted from 1. The upper
// half of it is left to chance, so that what failed together does not come back
// together.
func (b backoff) after(n int) time.Duration {
	d := float64(b.first) * math.Pow(b.factor, float64(n-1))
	if !(d < float64(b.most)) {
		d = float64(b.most)
	}
	return spread(time.Duration(d))
}

// spread draws from the upper half of d; at least a millisecond, since a wait
// of nothing is none.
func spread(d time.Duration) time.Duration {
	half := d / 2
	return max(time.Millisecond, half+rand.N(d-half+1))
}
