package client

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Microcents is an amount of US money in the unit USD_MICROCENTS: 10^-6 cents,
// so that 1 USD is 100,000,000. All arithmetic is exact or an error.
type Microcents int64

const (
	// Cent and USD are the amounts of that name.
	Cent Microcents = 1_000_000
	USD  Microcents = 100_000_000

	usdDecimals = 8
)

// ErrMoneyRange is the error of a result outside of the 64-bit range (about
// 92.2 billion USD).
var ErrMoneyRange = errors.New("cycles: amount of money out of range")

// errMoney is a text that ParseUSD does not take.
var errMoney = errors.New("cycles: not a decimal amount of USD with at most 8 decimals")

// ParseUSD reads a plain decimal number of dollars, such as "12.5" or
// "-0.00000001". More than 8 decimals are taken only when the rest is zeros:
// nothing is rounded.
func ParseUSD(s string) (Microcents, error) {
	text, negative := strings.CutPrefix(s, "-")
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || point && fraction == "" || !digits(whole) || !digits(fraction) {
		return 0, errMoney
	}
	if len(fraction) > usdDecimals {
		if strings.Trim(fraction[usdDecimals:], "0") != "" {
			return 0, errMoney
		}
		fraction = fraction[:usdDecimals]
	}
	units := whole + fraction + strings.Repeat("0", usdDecimals-len(fraction))
	if negative {
		units = "-" + units
	}
	n, err := strconv.ParseInt(units, 10, 64)
	if err != nil {
		return 0, ErrMoneyRange
	}
	return Microcents(n), nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// String is the amount in dollars with two to eight decimals, as ParseUSD reads
// it.
func (m Microcents) String() string {
	magnitude, sign := uint64(m), ""
	if m < 0 {
		magnitude, sign = -magnitude, "-"
	}
	fraction := strconv.FormatUint(magnitude%uint64(USD), 10)
	fraction = strings.Repeat("0", usdDecimals-len(fraction)) + fraction
	for len(fraction) > 2 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	return sign + strconv.FormatUint(magnitude/uint64(USD), 10) + "." + fraction
}

// Amount is m as the protocol's Amount, which cannot be negative.
func (m Microcents) Amount() (gen.Amount, error) {
	if m < 0 {
		return gen.Amount{}, ErrMoneyRange
	}
	return gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: int64(m)}, nil
}

// MicrocentsOf is an Amount as money; false when it is in another unit.
func MicrocentsOf(a gen.Amount) (Microcents, bool) {
	return Microcents(a.Amount), a.Unit == gen.UnitEnumUSDMicrocents
}

// Plus is m + n, or ErrMoneyRange.
func (m Microcents) Plus(n Microcents) (Microcents, error) {
	sum := m + n
	if (sum > m) != (n > 0) && n != 0 {
		return 0, ErrMoneyRange
	}
	return sum, nil
}

// Times is m * n, or ErrMoneyRange.
func (m Microcents) Times(n int64) (Microcents, error) {
	high, low := bits.Mul64(magnitude(int64(m)), magnitude(n))
	return signedMoney(high, low, (m < 0) != (n < 0))
}

// ForTokens is the price of tokens when m is the price of a million of them,
// rounded up so that an estimate is never short. tokens must not be negative.
func (m Microcents) ForTokens(tokens int64) (Microcents, error) {
	const million = 1_000_000
	if m < 0 || tokens < 0 {
		return 0, ErrMoneyRange
	}
	high, low := bits.Mul64(uint64(m), uint64(tokens))
	if high >= million {
		return 0, ErrMoneyRange
	}
	quotient, rest := bits.Div64(high, low, million)
	if rest > 0 {
		quotient++
	}
	return signedMoney(0, quotient, false)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func signedMoney(high, low uint64, negative bool) (Microcents, error) {
	switch {
	case high == 0 && !negative && low <= 1<<63-1:
		return Microcents(low), nil
	case high == 0 && negative && low <= 1<<63:
		return Microcents(-low), nil
	}
	return 0, ErrMoneyRange
}
