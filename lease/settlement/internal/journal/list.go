package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// State is what a file in a journal directory is.
type State string

// The states of a file.
const (
	Pending     State = "pending"     // waits to be settled
	Foreign     State = "foreign"     // belongs to another server, or does not say to which
	Corrupt     State = "corrupt"     // is no valid record and will be quarantined by the next replay
	Unreadable  State = "unreadable"  // cannot be read; stays where it is
	Quarantined State = "quarantined" // was no valid record
	Dead        State = "dead"        // will not be settled by itself any more
)

// Entry is one file.
type Entry struct {
	// Path is the file's.
	Path  string
	State State
	// Record is set for a pending, a foreign and, when it can be read, a dead one.
	Record Record
	// Dead is set for a dead one that says why.
	Dead *DeadLetter
	// Err says what is wrong with a corrupt or unreadable one.
	Err error
}

// List looks at every file of the directory and changes none. Names it does not
// know are left out.
func (d *Dir) List() ([]Entry, error) {
	entries, err := d.files.ReadDir(d.path)
	if err != nil {
		return nil, failed("list the journal directory", d.path, err)
	}
	var list []Entry
	for _, e := range entries {
		path := d.join(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), recordSuffix):
			if entry, ok := d.look(path); ok {
				list = append(list, entry)
			}
		case strings.HasSuffix(e.Name(), corruptSuffix):
			list = append(list, Entry{Path: path, State: Quarantined})
		case strings.HasSuffix(e.Name(), deadSuffix):
			rec, dead, err := d.readDead(path)
			list = append(list, Entry{Path: path, State: Dead, Record: rec, Dead: dead, Err: err})
		}
	}
	return list, nil
}

func (d *Dir) look(path string) (Entry, bool) {
	rec, _, err := d.read(path)
	entry := Entry{Path: path, Record: rec, Err: err, State: Unreadable}
	switch {
	case errors.Is(err, ErrGone):
		return Entry{}, false
	case errors.As(err, new(*CorruptError)):
		entry.State = Corrupt
	case err == nil && (rec.BaseURL == "" || d.baseURL != "" && rec.BaseURL != d.baseURL):
		entry.State = Foreign
	case err == nil:
		entry.State = Pending
	}
	return entry, true
}

func (d *Dir) readDead(path string) (Record, *DeadLetter, error) {
	data, _, err := d.contents(path)
	if err != nil {
		return Record{}, nil, err
	}
	rec, err := decode(data)
	if err != nil {
		return Record{}, nil, &CorruptError{Path: path, Err: err}
	}
	// Only people read it, so a reason that cannot be understood is no reason.
	var why struct {
		DeadLetter *DeadLetter `json:"dead_letter"`
	}
	_ = json.Unmarshal(data, &why)
	return rec, why.DeadLetter, nil
}

// Inspect gives a journal directory as it is, for looking only: it makes nothing
// and tightens nothing. Every record that names a server counts as pending.
func Inspect(path string) ([]Entry, error) {
	d := &Dir{path: path, files: OS{}}
	return d.List()
}

// Identities lists the directories of a base directory that can be an
// identity's.
func Identities(base string) ([]string, error) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil, failed("list the journals", base, err)
	}
	var paths []string
	for _, e := range entries {
		if e.IsDir() && identityName(e.Name()) {
			paths = append(paths, filepath.Join(base, e.Name()))
		}
	}
	return paths, nil
}

const fingerprintLen = 16

func identityName(name string) bool {
	return len(name) == fingerprintLen && strings.Trim(name, "0123456789abcdef") == ""
}
