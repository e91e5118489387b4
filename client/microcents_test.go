package client_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

func TestOneDollarIsTenToTheEighth(t *testing.T) {
	assert.EqualValues(t, 100_000_000, client.USD)
	assert.EqualValues(t, client.USD, 100*client.Cent)
	one, err := client.ParseUSD("1")
	require.NoError(t, err)
	assert.Equal(t, client.USD, one)
}

func TestParseUSDIsExactOrAnError(t *testing.T) {
	for text, want := range map[string]client.Microcents{
		"0": 0, "-0": 0, "12.5": 1_250_000_000, "0.00000001": 1, "-0.00000001": -1, "007": 7 * client.USD,
		"1.000000000000": client.USD, "0.29": 29_000_000,
		"92233720368.54775807": math.MaxInt64, "-92233720368.54775808": math.MinInt64,
	} {
		got, err := client.ParseUSD(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "-", ".", "1.", ".5", "+1", "1e3", "1,000", "$1", " 1", "1 ", "0.000000001", "1.000000001", "--1", "1.-5", "1.2.3", "NaN", "٣", "0x1",
		"92233720368.54775808", "-92233720368.54775809", "99999999999999999999",
	} {
		_, err := client.ParseUSD(text)
		assert.Error(t, err, "%q", text)
	}
	_, err := client.ParseUSD("92233720368.54775808")
	assert.ErrorIs(t, err, client.ErrMoneyRange)
}

func TestMoneyPrintsAsItParses(t *testing.T) {
	for want, m := range map[string]client.Microcents{
		"0.00": 0, "1.00": client.USD, "1.25": 125 * client.Cent, "0.00000001": 1, "-0.00000001": -1,
		"92233720368.54775807": math.MaxInt64, "-92233720368.54775808": math.MinInt64, "-1.50": -150 * client.Cent, "0.001": 100_000,
	} {
		assert.Equal(t, want, m.String())
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		m := client.Microcents(random.Uint64() >> random.IntN(64))
		got, err := client.ParseUSD(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

func TestMoneyArithmeticAgreesWithBigIntegers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	edge := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 32, -1 << 32, 1_000_000}
	pick := func() int64 {
		if random.IntN(3) == 0 {
			return edge[random.IntN(len(edge))]
		}
		return int64(random.Uint64()) >> random.IntN(64)
	}
	agree := func(got client.Microcents, err error, want *big.Int, what string, a, b int64) {
		if want.IsInt64() {
			require.NoError(t, err, "%d %s %d", a, what, b)
			require.Equal(t, want.Int64(), int64(got), "%d %s %d", a, what, b)
		} else {
			require.ErrorIs(t, err, client.ErrMoneyRange, "%d %s %d", a, what, b)
		}
	}
	for range 50_000 {
		a, b := pick(), pick()
		x, y := big.NewInt(a), big.NewInt(b)
		sum, err := client.Microcents(a).Plus(client.Microcents(b))
		agree(sum, err, new(big.Int).Add(x, y), "+", a, b)
		product, err := client.Microcents(a).Times(b)
		agree(product, err, new(big.Int).Mul(x, y), "*", a, b)
		if a >= 0 && b >= 0 {
			up := new(big.Int).Add(new(big.Int).Mul(x, y), big.NewInt(999_999))
			price, err := client.Microcents(a).ForTokens(b)
			agree(price, err, up.Div(up, big.NewInt(1_000_000)), "per million for", a, b)
		}
	}
	_, err := client.Microcents(1 << 62).ForTokens(4_000_000) // exactly 2^64
	assert.ErrorIs(t, err, client.ErrMoneyRange)
	_, err = client.Microcents(-1).ForTokens(1)
	assert.Error(t, err)
	_, err = client.Microcents(1).ForTokens(-1)
	assert.Error(t, err)
}

func TestMoneyIsAnAmountInItsUnit(t *testing.T) {
	amount, err := (3 * client.USD).Amount()
	require.NoError(t, err)
	assert.Equal(t, gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 300_000_000}, amount)
	_, err = client.Microcents(-1).Amount()
	assert.Error(t, err)
	back, ok := client.MicrocentsOf(amount)
	assert.True(t, ok)
	assert.Equal(t, 3*client.USD, back)
	_, ok = client.MicrocentsOf(gen.Amount{Unit: gen.UnitEnumTokens, Amount: 1})
	assert.False(t, ok)
}
