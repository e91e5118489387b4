package conformance

import (
	"errors"
	"fmt"
)

// ErrNothingSelected is what Run returns when no check is left to run.
var ErrNothingSelected = errors.New("no check matches the selection")

// UsageError is what Run returns when Target or Options make no sense. Nothing
// was sent.
type UsageError struct{ msg string }

func (e *UsageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &UsageError{msg: fmt.Sprintf(format, args...)}
}

// StartError is what Run returns when the target could not be made ready: it
// cannot be reached, refuses a key, is no Cycles server, or could not be
// provisioned. No check was run.
type StartError struct {
	// Doing says what was tried.
	Doing string
	Err   error
}

func (e *StartError) Error() string { return e.Doing + ": " + e.Err.Error() }

// Unwrap gives the cause to errors.Is.
func (e *StartError) Unwrap() error { return e.Err }
