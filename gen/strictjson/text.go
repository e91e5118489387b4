package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Str reads a string.
func (s *Scanner) Str() (string, error) {
	b, err := s.Text()
	return string(b), err
}

// Text reads a string and returns its bytes, which alias the input when
// nothing in it is escaped.
func (s *Scanner) Text() ([]byte, error) {
	if err := s.expect(String); err != nil {
		return nil, err
	}
	start := s.pos + 1
	ascii := true
	for i := start; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			text := s.data[start:i:i]
			if !ascii && !utf8.Valid(text) {
				return nil, s.fail(ErrUTF8, "")
			}
			s.pos = i + 1
			return text, nil
		case c == '\\':
			return s.escapedText(start, i)
		case c < ' ':
			s.pos = i
			return nil, s.fail(ErrSyntax, "control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, s.fail(ErrSyntax, "the string does not end")
}

// escapedText finishes Text from the first backslash, at i, on.
func (s *Scanner) escapedText(start, i int) ([]byte, error) {
	out := append(make([]byte, 0, i-start+16), s.data[start:i]...)
	for i < len(s.data) {
		c := s.data[i]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return nil, s.fail(ErrUTF8, "")
			}
			s.pos = i + 1
			return out, nil
		case c < ' ':
			s.pos = i
			return nil, s.fail(ErrSyntax, "control character in a string")
		case c != '\\':
			out = append(out, c)
			i++
		default:
			r, size := unescape(s.data[i:])
			if size == 0 {
				s.pos = i
				return nil, s.fail(ErrSyntax, "unknown escape")
			}
			if utf16.IsSurrogate(r) {
				s.pos = i
				return nil, s.fail(ErrUTF8, "unpaired surrogate")
			}
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	return nil, s.fail(ErrSyntax, "the string does not end")
}

// unescape reads one escape at the start of b, a surrogate pair as one. A size
// of 0 means that it is none; half of a pair comes back as itself.
func unescape(b []byte) (r rune, size int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(b[2:])
		if !ok {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			low, ok := hex4(b[8:])
			if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	}
	return 0, 0
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
