package strictjson

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical rewrites a document so that two documents with the same meaning
// get the same bytes: no white space, members in the order of RFC 8785 (by
// UTF-16 code units), strings with the fewest escapes, numbers in one
// spelling.
//
// It leaves RFC 8785 in one point, on purpose: numbers never go through
// float64. RFC 8785 would make 9007199254740993 and 9007199254740992 equal,
// which in a ledger are two amounts.
func Canonical(data []byte) ([]byte, error) {
	s := New(data)
	out, err := s.canonical(make([]byte, 0, len(data)))
	if err != nil {
		return nil, err
	}
	return out, s.End()
}

func (s *Scanner) canonical(out []byte) ([]byte, error) {
	switch s.Kind() {
	case Object:
		return s.canonicalObject(out)
	case Array:
		if err := s.OpenArray(); err != nil {
			return nil, err
		}
		out = append(out, '[')
		for n := 0; ; n++ {
			ok, err := s.NextElement()
			if err != nil {
				return nil, err
			}
			if !ok {
				return append(out, ']'), nil
			}
			if n > 0 {
				out = append(out, ',')
			}
			if out, err = s.canonical(out); err != nil {
				return nil, err
			}
		}
	case String:
		text, err := s.Text()
		if err != nil {
			return nil, err
		}
		return appendString(out, text), nil
	case Number:
		d, err := s.decimal()
		if err != nil {
			return nil, err
		}
		return d.append(out), nil
	default:
		raw, err := s.Raw()
		return append(out, raw...), err
	}
}

func (s *Scanner) canonicalObject(out []byte) ([]byte, error) {
	type member struct {
		key   []byte
		value []byte
	}
	var members []member
	err := s.Members(func(key []byte) error {
		value, err := s.canonical(nil)
		members = append(members, member{key, value})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.key), ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

// compareUTF16 differs from the order of the bytes where one key has a
// character beyond the basic plane and the other one in U+E000..U+FFFF.
func compareUTF16(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		ra, na := utf8.DecodeRune(a)
		rb, nb := utf8.DecodeRune(b)
		if ra != rb {
			return slices.Compare(utf16.AppendRune(nil, ra), utf16.AppendRune(nil, rb))
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

func appendString(out, text []byte) []byte {
	out = append(out, '"')
	for _, c := range text {
		if i := bytes.IndexByte([]byte("\"\\\b\f\n\r\t"), c); i >= 0 {
			out = append(out, '\\', `"\bfnrt`[i])
			continue
		}
		if c < ' ' {
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			continue
		}
		out = append(out, c)
	}
	return append(out, '"')
}

// append writes the number in the layout of ECMAScript, from its exact digits.
func (d *decimal) append(out []byte) []byte {
	const plainMax, plainMin = 21, -6
	if len(d.digits) == 0 {
		return append(out, '0')
	}
	if d.negative {
		out = append(out, '-')
	}
	n := int64(len(d.digits))
	switch {
	case n <= d.point && d.point <= plainMax:
		out = append(out, d.digits...)
		return append(out, bytes.Repeat([]byte{'0'}, int(d.point-n))...)
	case 0 < d.point && d.point <= plainMax:
		out = append(out, d.digits[:d.point]...)
		out = append(out, '.')
		return append(out, d.digits[d.point:]...)
	case plainMin < d.point && d.point <= 0:
		out = append(out, '0', '.')
		out = append(out, bytes.Repeat([]byte{'0'}, int(-d.point))...)
		return append(out, d.digits...)
	}
	out = append(out, d.digits[0])
	if n > 1 {
		out = append(out, '.')
		out = append(out, d.digits[1:]...)
	}
	out = append(out, 'e')
	if d.point > 0 {
		out = append(out, '+')
	}
	return strconv.AppendInt(out, d.point-1, 10)
}
