package lease

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edges are where a wrap-around would show.
var edges = []int64{
	math.MinInt64, math.MinInt64 + 1, -9_300_000_000_000, -1_000_000, -1001, -1000, -1, 0, 1, 999, 1000, 1001,
	999_999, 1_000_000, 1_000_001, 9_223_372_036_854, 9_223_372_036_855, 9_300_000_000_000,
	math.MaxInt64 / 2, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64,
}

// clamp is the reference for saturation: the exact result, brought into range.
func clamp(exact *big.Int) int64 {
	if exact.IsInt64() {
		return exact.Int64()
	}
	if exact.Sign() < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

func checkArithmetic(t *testing.T, a, b int64) {
	t.Helper()
	x, y := big.NewInt(a), big.NewInt(b)
	require.Equal(t, clamp(new(big.Int).Add(x, y)), int64(plus(millis(a), millis(b))), "%d + %d", a, b)
	require.Equal(t, clamp(new(big.Int).Sub(x, y)), int64(minus(millis(a), millis(b))), "%d - %d", a, b)
	require.Equal(t, clamp(new(big.Int).Add(x, y)), int64(plus(time.Duration(a), time.Duration(b))))
	require.Equal(t, clamp(new(big.Int).Sub(x, y)), int64(minus(time.Duration(a), time.Duration(b))))
	for _, factor := range []int64{1, 2, 3, 4, 5, 9, 10} {
		product := new(big.Int).Mul(x, big.NewInt(factor))
		require.Equal(t, clamp(product), int64(times(millis(a), millis(factor))), "%d x %d", a, factor)
		require.Equal(t, clamp(product), int64(times(time.Duration(a), time.Duration(factor))))
	}

	got := int64(millis(a).duration())
	require.Equal(t, clamp(new(big.Int).Mul(x, big.NewInt(1e6))), got, "%d ms as a duration", a)

	up := ceilMillis(time.Duration(a))
	if a == math.MaxInt64 {
		require.Equal(t, forever, up)
	} else {
		// The smallest m with m x 1e6 >= a.
		scaled := new(big.Int).Mul(big.NewInt(int64(up)), big.NewInt(1e6))
		require.GreaterOrEqual(t, scaled.Cmp(x), 0, "%d ns rounded down to %d ms", a, up)
		require.Negative(t, scaled.Sub(scaled, big.NewInt(1e6)).Cmp(x), "%d ns rounded up twice to %d ms", a, up)
	}

	elapsed, known := since(time.Duration(a), time.Duration(b))
	require.Equal(t, b >= a, known)
	if known {
		require.Equal(t, clamp(new(big.Int).Sub(y, x)), int64(elapsed))
	} else {
		require.Zero(t, elapsed)
	}
}

func TestArithmeticSaturatesAtEveryEdge(t *testing.T) {
	for _, a := range edges {
		for _, b := range edges {
			checkArithmetic(t, a, b)
		}
	}
}

func FuzzArithmetic(f *testing.F) {
	for i, a := range edges {
		f.Add(a, edges[len(edges)-1-i])
	}
	f.Fuzz(checkArithmetic)
}

func TestDurationsBeyondTheirRangeSaturate(t *testing.T) {
	assert.Equal(t, time.Duration(math.MaxInt64), millis(9_300_000_000_000).duration())
	assert.Equal(t, 9_223_372_036_854*time.Millisecond, millis(9_223_372_036_854).duration())
	assert.Equal(t, time.Duration(math.MaxInt64), millis(9_223_372_036_855).duration())
	assert.Equal(t, time.Duration(math.MaxInt64), forever.duration())
	assert.Equal(t, time.Duration(math.MinInt64), millis(math.MinInt64).duration())
}
