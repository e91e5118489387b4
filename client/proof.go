package client

import (
	"errors"
	"math"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// reading is how strictly an answer is taken.
type reading struct {
	// lenient is for reads: null for an optional member counts as absent,
	// unknown members are skipped, and enums and patterns stay open, because a
	// list that holds one value of a later version must still be readable.
	lenient bool
	// unknown applies to the strict reading.
	unknown UnknownFields
}

// A schema is one table for both readings. It decodes into the generated type
// in the same pass that checks, so that what was proved is what is returned.
type schema[T any] struct {
	fields   []field[T]
	required uint64
	// extensions are members that a later edition of the protocol has published;
	// they are checked to be JSON and dropped.
	extensions []string
	// additional is where an open object keeps its other members; nil closes it.
	additional func(*T) *map[string]any
	// whole is a rule over all members.
	whole func(*T) error
}

type field[T any] struct {
	name     string
	required bool
	// nullable is for the one member whose schema allows null.
	nullable bool
	read     func(d *decoder, v *T) error
}

// reader reads one value.
type reader[V any] func(d *decoder, v *V) error

type decoder struct {
	strictjson.Scanner
	reading
}

// prove reads body as exactly one document of the schema.
func (s *schema[T]) prove(body []byte, how reading) (*T, error) {
	d := &decoder{Scanner: strictjson.New(body), reading: how}
	v := new(T)
	if err := s.read(d, v); err != nil {
		return nil, err
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return v, nil
}

func (s *schema[T]) read(d *decoder, v *T) error {
	if err := d.OpenObject(); err != nil {
		return err
	}
	var seen uint64
	var others strictjson.KeySet
	for next := 0; ; {
		key, ok, err := d.NextMember()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		i := s.find(key, next)
		if i < 0 {
			if !others.Add(key) {
				return strictjson.ErrDuplicate
			}
			if err := s.other(d, v, key); err != nil {
				return err
			}
			continue
		}
		f := &s.fields[i]
		if seen&(1<<i) != 0 {
			return inMember(f.name, strictjson.ErrDuplicate)
		}
		seen |= 1 << i
		next = i + 1
		if d.lenient && !f.required && !f.nullable && d.Kind() == strictjson.Null {
			err = d.Null()
		} else {
			err = f.read(d, v)
		}
		if err != nil {
			return inMember(f.name, err)
		}
	}
	if missing := s.required &^ seen; missing != 0 {
		for i := range s.fields {
			if missing&(1<<i) != 0 {
				return inMember(s.fields[i].name, errMissing)
			}
		}
	}
	if s.whole != nil {
		return s.whole(v)
	}
	return nil
}

// find looks for key from the place where a server that keeps the order of the
// schema has it.
func (s *schema[T]) find(key []byte, next int) int {
	for i := next; i < len(s.fields); i++ {
		if string(key) == s.fields[i].name {
			return i
		}
	}
	for i := range min(next, len(s.fields)) {
		if string(key) == s.fields[i].name {
			return i
		}
	}
	return -1
}

// other takes a member that the table does not name.
func (s *schema[T]) other(d *decoder, v *T, key []byte) error {
	if s.additional != nil {
		value, err := d.Any()
		if err != nil {
			return err
		}
		kept := s.additional(v)
		if *kept == nil {
			*kept = make(map[string]any)
		}
		(*kept)[string(key)] = value
		return nil
	}
	if d.lenient || d.unknown == Ignore {
		return d.Skip()
	}
	for _, name := range s.extensions {
		if string(key) == name {
			return d.Skip()
		}
	}
	return errUnknownMember
}

var (
	errMissing       = errors.New("required member is missing")
	errUnknownMember = errors.New("member that the schema does not name")
	errEnum          = errors.New("value that the schema does not list")
	errPattern       = errors.New("text that does not match the pattern")
	errTooLong       = errors.New("text that is too long")
	errTooShort      = errors.New("text that is too short")
	errTooMany       = errors.New("too many items")
	errBelowMinimum  = errors.New("number below the minimum")
)

// memberError says where in the document a rule was broken. It never holds
// what stood there.
type memberError struct {
	path string
	err  error
}

func (e *memberError) Error() string { return e.path + ": " + e.err.Error() }
func (e *memberError) Unwrap() error { return e.err }

func inMember(name string, err error) error {
	if inner, ok := err.(*memberError); ok {
		separator := "."
		if inner.path[0] == '[' {
			separator = ""
		}
		return &memberError{name + separator + inner.path, inner.err}
	}
	return &memberError{name, err}
}

// object puts a table together.
func object[T any](fields ...field[T]) *schema[T] {
	s := &schema[T]{fields: fields}
	for i, f := range fields {
		if f.required {
			s.required |= 1 << i
		}
	}
	return s
}

func required[T, V any](name string, at func(*T) *V, read reader[V]) field[T] {
	return field[T]{name: name, required: true, read: func(d *decoder, v *T) error { return read(d, at(v)) }}
}

// optional is for a member whose absence is a nil pointer.
func optional[T, V any](name string, at func(*T) **V, read reader[V]) field[T] {
	return field[T]{name: name, read: func(d *decoder, v *T) error {
		value := new(V)
		if err := read(d, value); err != nil {
			return err
		}
		*at(v) = value
		return nil
	}}
}

// optionalIn is for a list or map, whose absence is nil.
func optionalIn[T, V any](name string, at func(*T) *V, read reader[V]) field[T] {
	f := required(name, at, read)
	f.required = false
	return f
}

// nullable lets null stand for absence, as the schema does.
func nullable[T any](f field[T]) field[T] {
	read := f.read
	f.nullable = true
	f.read = func(d *decoder, v *T) error {
		if d.Kind() == strictjson.Null {
			return d.Null()
		}
		return read(d, v)
	}
	return f
}

func integer(minimum int64) reader[int64] {
	return func(d *decoder, v *int64) error {
		n, err := d.Int64()
		if err != nil {
			return err
		}
		if n < minimum {
			return errBelowMinimum
		}
		*v = n
		return nil
	}
}

var (
	natural = integer(0)
	signed  = integer(math.MinInt64)
)

func boolean(d *decoder, v *bool) (err error) {
	*v, err = d.Bool()
	return err
}

// text reads a string of at most limit code points; 0 is no limit.
func text(limit int) reader[string] {
	return func(d *decoder, v *string) error {
		b, err := d.Text()
		if err != nil {
			return err
		}
		if limit > 0 && len(b) > limit && utf8.RuneCount(b) > limit {
			return errTooLong
		}
		*v = string(b)
		return nil
	}
}

var anyText = text(0)

// hexDigits reads length lower-case hex digits.
func hexDigits(length int) reader[string] {
	return func(d *decoder, v *string) error {
		if err := anyText(d, v); err != nil {
			return err
		}
		if !d.lenient && !lowerHex(*v, length) {
			return errPattern
		}
		return nil
	}
}

// oneOf reads a value of a closed list without allocating.
func oneOf[E ~string](values ...E) reader[E] {
	return func(d *decoder, v *E) error {
		b, err := d.Text()
		if err != nil {
			return err
		}
		for _, known := range values {
			if string(b) == string(known) {
				*v = known
				return nil
			}
		}
		if !d.lenient {
			return errEnum
		}
		*v = E(b)
		return nil
	}
}

// list reads an array of at most limit items; 0 is no limit.
func list[V any](limit int, item reader[V]) reader[[]V] {
	return func(d *decoder, v *[]V) error {
		if err := d.OpenArray(); err != nil {
			return err
		}
		items := []V{}
		for {
			ok, err := d.NextElement()
			if err != nil {
				return err
			}
			if !ok {
				*v = items
				return nil
			}
			if limit > 0 && len(items) == limit {
				return errTooMany
			}
			var zero V
			items = append(items, zero)
			if err := item(d, &items[len(items)-1]); err != nil {
				return inMember("[]", err)
			}
		}
	}
}

// freeForm reads an object whose members are the application's own.
func freeForm(d *decoder, v *map[string]any) error {
	if d.Kind() != strictjson.Object {
		return strictjson.ErrType
	}
	value, err := d.Any()
	if err != nil {
		return err
	}
	*v, _ = value.(map[string]any)
	return nil
}
