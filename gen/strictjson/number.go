package strictjson

import "math"

// maxExponent bounds what is added up from an exponent's digits; beyond it
// every number is out of range or zero anyway.
const maxExponent = 1 << 40

// decimal is a number without its spelling: sign, digits without leading or
// trailing zeros, and the place of the point counted from before the first
// digit (0.5 has point 0, 5 has 1, 500 has 3). Zero has no digits.
type decimal struct {
	negative bool
	digits   []byte
	point    int64
}

func (d *decimal) integer() bool { return d.point >= int64(len(d.digits)) || len(d.digits) == 0 }

// numberEnd checks the spelling of the number at s.pos and finds its parts.
func (s *Scanner) numberEnd() (whole, fraction, exponent []byte, end int, err error) {
	i := s.pos
	run := func() []byte {
		from := i
		for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' {
			i++
		}
		return s.data[from:i]
	}
	bad := func(reason string) ([]byte, []byte, []byte, int, error) {
		s.pos = i
		return nil, nil, nil, 0, s.fail(ErrSyntax, reason)
	}
	if s.data[i] == '-' {
		i++
	}
	if whole = run(); len(whole) == 0 {
		return bad("digit expected")
	}
	if whole[0] == '0' && len(whole) > 1 {
		return bad("leading zero")
	}
	if i < len(s.data) && s.data[i] == '.' {
		i++
		if fraction = run(); len(fraction) == 0 {
			return bad("digit expected behind the point")
		}
	}
	if i < len(s.data) && (s.data[i] == 'e' || s.data[i] == 'E') {
		i++
		from := i
		if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
			i++
		}
		if len(run()) == 0 {
			return bad("digit expected in the exponent")
		}
		exponent = s.data[from:i]
	}
	return whole, fraction, exponent, i, nil
}

// decimal reads the number before the scanner.
func (s *Scanner) decimal() (decimal, error) {
	if err := s.expect(Number); err != nil {
		return decimal{}, err
	}
	d := decimal{negative: s.data[s.pos] == '-'}
	whole, fraction, exponent, end, err := s.numberEnd()
	if err != nil {
		return decimal{}, err
	}
	s.pos = end
	d.digits = whole
	d.point = int64(len(whole)) + exponentValue(exponent)
	if len(fraction) > 0 {
		d.digits = append(append(make([]byte, 0, len(whole)+len(fraction)), whole...), fraction...)
	}
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		d.point--
	}
	for len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
	}
	if len(d.digits) == 0 {
		return decimal{}, nil
	}
	return d, nil
}

func exponentValue(text []byte) int64 {
	var n int64
	negative := false
	for _, c := range text {
		switch c {
		case '+':
		case '-':
			negative = true
		default:
			n = min(n*10+int64(c-'0'), maxExponent)
		}
	}
	if negative {
		return -n
	}
	return n
}

// Int64 reads an integer in any spelling: 1000, 1000.0 and 1e3 are the same.
// A number with a fraction is ErrNotInteger, one beyond 64 bits ErrOutOfRange.
func (s *Scanner) Int64() (int64, error) {
	if err := s.expect(Number); err != nil {
		return 0, err
	}
	if n, ok := s.plainInt64(); ok {
		return n, nil
	}
	start := s.pos
	d, err := s.decimal()
	if err != nil {
		return 0, err
	}
	if !d.integer() {
		return 0, &Error{Offset: start, Kind: ErrNotInteger}
	}
	const maxDigits = 19
	if d.point > maxDigits {
		return 0, &Error{Offset: start, Kind: ErrOutOfRange}
	}
	var n uint64
	for i := range d.point {
		n *= 10
		if i < int64(len(d.digits)) {
			n += uint64(d.digits[i] - '0')
		}
	}
	switch {
	case !d.negative && n <= math.MaxInt64:
		return int64(n), nil
	case d.negative && n <= -math.MinInt64:
		return -int64(n), nil
	}
	return 0, &Error{Offset: start, Kind: ErrOutOfRange}
}

// plainInt64 is the fast path: up to 18 digits and nothing else.
func (s *Scanner) plainInt64() (int64, bool) {
	i := s.pos
	negative := s.data[i] == '-'
	if negative {
		i++
	}
	from := i
	var n int64
	for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' && i-from < 19 {
		n = n*10 + int64(s.data[i]-'0')
		i++
	}
	digits := i - from
	if digits == 0 || digits > 18 || digits > 1 && s.data[from] == '0' {
		return 0, false
	}
	if i < len(s.data) {
		switch s.data[i] {
		case '.', 'e', 'E':
			return 0, false
		}
	}
	s.pos = i
	if negative {
		n = -n
	}
	return n, true
}
