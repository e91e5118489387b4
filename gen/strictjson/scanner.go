package strictjson

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1000

// Kind is the type of a JSON value as its first byte tells it.
type Kind byte

// The kinds of values.
const (
	Invalid Kind = iota // no value starts with this byte
	End                 // the input is used up
	Null
	Bool
	Number
	String
	Array
	Object
)

// Scanner walks over one JSON document. Each method takes exactly one value
// (or one structural step) and leaves the scanner behind it; after an error
// the scanner is of no further use.
type Scanner struct {
	data  []byte
	pos   int
	depth int
	// first is true between an opening bracket and the first element or member.
	first bool
}

// New returns a scanner at the start of data. The scanner does not copy data,
// and what Text and Raw return may alias it.
func New(data []byte) Scanner { return Scanner{data: data} }

// Offset is the position of the next unread byte.
func (s *Scanner) Offset() int { return s.pos }

func (s *Scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// Kind tells what the next value is, without reading it.
func (s *Scanner) Kind() Kind {
	s.space()
	if s.pos == len(s.data) {
		return End
	}
	switch c := s.data[s.pos]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || '0' <= c && c <= '9':
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	default:
		return Invalid
	}
}

func (s *Scanner) expect(k Kind) error {
	got := s.Kind()
	if got == k {
		return nil
	}
	switch got {
	case End:
		return s.fail(ErrSyntax, "the document ends where a value should be")
	case Invalid:
		return s.fail(ErrSyntax, "no value starts like this")
	}
	return s.fail(ErrType, "")
}

func (s *Scanner) literal(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail(ErrSyntax, "misspelt literal")
	}
	s.pos += len(word)
	return nil
}

// Null reads null.
func (s *Scanner) Null() error {
	if err := s.expect(Null); err != nil {
		return err
	}
	return s.literal("null")
}

// Bool reads true or false.
func (s *Scanner) Bool() (bool, error) {
	if err := s.expect(Bool); err != nil {
		return false, err
	}
	if s.data[s.pos] == 't' {
		return true, s.literal("true")
	}
	return false, s.literal("false")
}

func (s *Scanner) open(k Kind) error {
	if err := s.expect(k); err != nil {
		return err
	}
	if s.depth == MaxDepth {
		return s.fail(ErrDepth, "")
	}
	s.depth++
	s.pos++
	s.first = true
	return nil
}

// next steps over the separator. It reports false behind the closing bracket.
func (s *Scanner) next(closing byte) (bool, error) {
	s.space()
	if s.pos == len(s.data) {
		return false, s.fail(ErrSyntax, "the document ends inside an array or object")
	}
	c := s.data[s.pos]
	if c == closing {
		s.pos++
		s.depth--
		s.first = false
		return false, nil
	}
	if !s.first {
		if c != ',' {
			return false, s.fail(ErrSyntax, "comma or closing bracket expected")
		}
		s.pos++
	}
	s.first = false
	return true, nil
}

// OpenArray enters an array; NextElement then says whether a value follows.
func (s *Scanner) OpenArray() error { return s.open(Array) }

// NextElement reports true when an element is to be read, false behind the
// end of the array.
func (s *Scanner) NextElement() (bool, error) { return s.next(']') }

// OpenObject enters an object; NextMember then gives its keys one by one.
func (s *Scanner) OpenObject() error { return s.open(Object) }

// NextMember returns the next key, unescaped, and leaves the scanner before
// the member's value; ok is false behind the end of the object. It does not
// look for repeated keys: callers that know the members mark them off in a bit
// set, the others use Members.
func (s *Scanner) NextMember() (key []byte, ok bool, err error) {
	if ok, err = s.next('}'); !ok {
		return nil, false, err
	}
	s.space()
	if s.pos == len(s.data) || s.data[s.pos] != '"' {
		return nil, false, s.fail(ErrSyntax, "member name expected")
	}
	if key, err = s.Text(); err != nil {
		return nil, false, err
	}
	s.space()
	if s.pos == len(s.data) || s.data[s.pos] != ':' {
		return nil, false, s.fail(ErrSyntax, "colon expected")
	}
	s.pos++
	return key, true, nil
}

// Members reads an object, calls member for each key with the scanner before
// the member's value, and refuses a key that comes twice. member must read
// exactly that value.
func (s *Scanner) Members(member func(key []byte) error) error {
	if err := s.OpenObject(); err != nil {
		return err
	}
	var seen KeySet
	for {
		start := s.pos
		key, ok, err := s.NextMember()
		if err != nil || !ok {
			return err
		}
		if !seen.Add(key) {
			return &Error{Offset: start, Kind: ErrDuplicate}
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// End checks that only white space is left.
func (s *Scanner) End() error {
	s.space()
	if s.pos != len(s.data) {
		return s.fail(ErrTrailing, "")
	}
	return nil
}
