package journal

import (
	"errors"
	"fmt"
)

// Why a record is not handed out. None of them says anything about the others
// in the directory.
var (
	// ErrClaimed: another process, or another part of this one, is settling it.
	ErrClaimed = errors.New("journal: the record is being settled by somebody else")
	// ErrGone: there is no such record (any more); somebody settled it.
	ErrGone = errors.New("journal: the record is gone")
	// ErrForeign: it belongs to another server, or does not say to which.
	ErrForeign = errors.New("journal: the record belongs to another server")
	// ErrDuplicate: another file holds the same reservation's record, and this one
	// was removed.
	ErrDuplicate = errors.New("journal: the record is held by another file")
)

// CorruptError is a file that is not a valid record.
type CorruptError struct {
	// Path is where the file was.
	Path string
	// Quarantine is where it is now; empty when it could not be moved, or was only
	// looked at.
	Quarantine string
	// Err is the rule that the file breaks.
	Err error
	// MoveErr says why it could not be moved.
	MoveErr error
}

func (e *CorruptError) Error() string {
	text := fmt.Sprintf("journal: %s is no valid record (%v)", e.Path, e.Err)
	switch {
	case e.MoveErr != nil:
		text += ", and could not be moved away: " + e.MoveErr.Error()
	case e.Quarantine != "":
		text += ", moved to " + e.Quarantine
	}
	return text
}

// Unwrap gives the rule that was broken.
func (e *CorruptError) Unwrap() error { return e.Err }

// Error is a failure of the file system.
type Error struct {
	// Doing is what was attempted, such as "write a record".
	Doing string
	// Path is the file or directory.
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("journal: cannot %s: %v", e.Doing, e.Err) }

// Unwrap gives the file system's error.
func (e *Error) Unwrap() error { return e.Err }

func failed(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Doing: doing, Path: path, Err: err}
}
