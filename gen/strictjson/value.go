package strictjson

import "encoding/json"

// Skip reads one value of any type and checks all of it, repeated keys at any
// depth included.
func (s *Scanner) Skip() error {
	switch s.Kind() {
	case Object:
		return s.Members(func([]byte) error { return s.Skip() })
	case Array:
		if err := s.OpenArray(); err != nil {
			return err
		}
		for {
			ok, err := s.NextElement()
			if err != nil || !ok {
				return err
			}
			if err := s.Skip(); err != nil {
				return err
			}
		}
	case String:
		_, err := s.Text()
		return err
	case Number:
		_, _, _, end, err := s.numberEnd()
		if err == nil {
			s.pos = end
		}
		return err
	case Bool:
		_, err := s.Bool()
		return err
	default:
		return s.Null()
	}
}

// Raw reads one value like Skip and returns its bytes, which alias the input.
func (s *Scanner) Raw() (json.RawMessage, error) {
	s.space()
	start := s.pos
	if err := s.Skip(); err != nil {
		return nil, err
	}
	return json.RawMessage(s.data[start:s.pos:s.pos]), nil
}

// Any reads one value of any type: map[string]any, []any, string, bool, nil,
// and json.Number for a number, so that no digit is lost.
func (s *Scanner) Any() (any, error) {
	switch s.Kind() {
	case Object:
		out := make(map[string]any)
		err := s.Members(func(key []byte) error {
			v, err := s.Any()
			out[string(key)] = v
			return err
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	case Array:
		return s.anyArray()
	case String:
		return s.Str()
	case Number:
		_, _, _, end, err := s.numberEnd()
		if err != nil {
			return nil, err
		}
		n := json.Number(s.data[s.pos:end])
		s.pos = end
		return n, nil
	case Bool:
		return s.Bool()
	default:
		return nil, s.Null()
	}
}

func (s *Scanner) anyArray() (any, error) {
	if err := s.OpenArray(); err != nil {
		return nil, err
	}
	out := []any{}
	for {
		ok, err := s.NextElement()
		if err != nil {
			return nil, err
		}
		if !ok {
			return out, nil
		}
		v, err := s.Any()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// Check reports whether data is exactly one JSON document that keeps every
// rule of this package.
func Check(data []byte) error {
	s := New(data)
	if err := s.Skip(); err != nil {
		return err
	}
	return s.End()
}
