package strictjson

import (
	"errors"
	"fmt"
)

// The kinds of trouble, for errors.Is.
var (
	// ErrSyntax: the bytes are not JSON.
	ErrSyntax = errors.New("not JSON")
	// ErrUTF8: a string holds bytes that are not UTF-8, or half of a surrogate pair.
	ErrUTF8 = errors.New("invalid UTF-8")
	// ErrDuplicate: an object names the same member twice.
	ErrDuplicate = errors.New("member named twice")
	// ErrTrailing: something follows the document.
	ErrTrailing = errors.New("bytes after the document")
	// ErrDepth: the nesting is deeper than MaxDepth.
	ErrDepth = errors.New("nested too deep")
	// ErrType: the value is of another type than the one asked for.
	ErrType = errors.New("value of another type")
	// ErrNotInteger: the number has a fraction.
	ErrNotInteger = errors.New("number is not an integer")
	// ErrOutOfRange: the integer does not fit in 64 bits.
	ErrOutOfRange = errors.New("integer out of the 64-bit range")
)

// Error is what every method returns. It names the place and the rule and
// never holds a piece of the input.
type Error struct {
	// Offset is the position in bytes from the start of the data.
	Offset int
	// Kind is one of the Err values of this package.
	Kind error
	// Reason says more where the kind alone is not enough; may be empty.
	Reason string
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%v at byte %d", e.Kind, e.Offset)
	}
	return fmt.Sprintf("%v at byte %d: %s", e.Kind, e.Offset, e.Reason)
}

// Unwrap gives the kind to errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

func (s *Scanner) fail(kind error, reason string) error {
	return &Error{Offset: s.pos, Kind: kind, Reason: reason}
}
