package settlement

import (
	"errors"
	"io/fs"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// Status is what an operator wants to know about the spends that are not in the
// ledger.
type Status struct {
	// Dir is the directory of the client's identity; empty without a journal.
	Dir string
	// Pending counts the spends that wait: those in the journal, whoever put them
	// there, and those in memory only, which Unjournaled counts.
	Pending, Unjournaled int
	// OldestAge is how long the oldest of those in the journal has been there.
	OldestAge time.Duration
	// Quarantined counts the files that were found to be no records, those that
	// wait to be found out included. DeadLetters counts the spends that will not be
	// settled by themselves. Both stay until a person looks.
	Quarantined, DeadLetters int
	// Unreadable counts the files that cannot be read, Foreign the records of
	// another server.
	Unreadable, Foreign int
	// JournalErr is the last failure of the journal; nil when it works.
	JournalErr error
}

// Status looks at the journal as it is now. It changes nothing. The error is a
// *JournalError.
func (s *Settler) Status() (Status, error) {
	status := Status{JournalErr: s.trouble.current()}
	s.mu.Lock()
	for x := range s.pending {
		if !x.Result().Journaled {
			status.Unjournaled++
		}
	}
	s.mu.Unlock()
	status.Pending = status.Unjournaled
	if s.dir == nil {
		return status, nil
	}
	status.Dir = s.dir.Path()
	files, err := s.dir.List()
	if err != nil {
		return status, &JournalError{Err: err}
	}
	for _, f := range files {
		switch f.State {
		case journal.Pending:
			status.Pending++
			if at := f.Record.RecordedAtMs; at > 0 {
				status.OldestAge = max(status.OldestAge, s.clock.Now().Sub(time.UnixMilli(at)))
			}
		case journal.Foreign:
			status.Foreign++
		case journal.Corrupt, journal.Quarantined:
			status.Quarantined++
		case journal.Unreadable:
			status.Unreadable++
		case journal.Dead:
			status.DeadLetters++
		}
	}
	return status, nil
}

// Entry is a file of a journal, for people.
type Entry struct {
	Path string
	// State is pending, foreign (without a server's name), corrupt, unreadable,
	// quarantined or dead.
	State string
	// What follows is empty when the file does not tell.
	ReservationID, BaseURL, IdempotencyKey string
	// Mode is commit or event.
	Mode   string
	Actual *gen.Amount
	// RecordedAt is when the spend was recorded, NotBefore until when the server
	// asked not to be called.
	RecordedAt, NotBefore time.Time
	// Reason is why a dead letter is dead, or what is wrong with the file.
	Reason string
}

// List shows what lies in the journals below dir, those of all identities, or in
// dir itself when it is that of one. It changes nothing and needs no
// credentials. What can be listed is, even when the error is not nil.
func List(dir string) ([]Entry, error) {
	dirs, err := journal.Identities(dir)
	if err != nil {
		return nil, &JournalError{Err: err}
	}
	var list []Entry
	var errs []error
	for _, d := range append(dirs, dir) {
		files, err := journal.Inspect(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &JournalError{Err: err})
		}
		for _, f := range files {
			list = append(list, entry(f))
		}
	}
	return list, errors.Join(errs...)
}

func entry(f journal.Entry) Entry {
	e := Entry{Path: f.Path, State: string(f.State), ReservationID: f.Record.ReservationID, BaseURL: f.Record.BaseURL}
	if f.Err != nil {
		e.Reason = f.Err.Error()
	}
	if f.Dead != nil {
		e.Reason = f.Dead.Reason
		if f.Dead.Detail != "" {
			e.Reason += ": " + f.Dead.Detail
		}
	}
	if f.Record.ReservationID == "" {
		return e
	}
	e.Mode, e.IdempotencyKey, e.Actual = string(f.Record.Mode), keyOf(f.Record.Body()), actualOf(f.Record.Body())
	if at := f.Record.RecordedAtMs; at > 0 {
		e.RecordedAt = time.UnixMilli(at)
	}
	if at := f.Record.NotBeforeMs; at != nil {
		e.NotBefore = time.UnixMilli(*at)
	}
	return e
}
