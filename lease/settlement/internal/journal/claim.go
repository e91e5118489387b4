package journal

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Claim is the sole right to settle one reservation's record. It is held while
// a request is under way and not in between: a process that waits keeps nobody
// from trying. Not safe for concurrent use.
type Claim struct {
	dir *Dir
	id  string
	// path is the record's file, which lies under another name only while a file
	// of the current scheme stands in its way.
	path string
	lock io.Closer
	// lockErr says why the right could not be secured against others.
	lockErr error
}

// Claim takes the right to the record of a reservation, whether it exists or
// not. The only error is ErrClaimed. A lock that cannot be taken for another
// reason (no space, no permission) is not held against the record: Unsecured
// tells.
func (d *Dir) Claim(reservationID string) (*Claim, error) {
	s := stem(reservationID)
	lock, err := d.files.Lock(d.join(s + claimSuffix))
	if errors.Is(err, fs.ErrNotExist) && d.files.MkdirAll(d.path) == nil {
		// Somebody has cleaned up too much; what comes next needs a directory.
		lock, err = d.files.Lock(d.join(s + claimSuffix))
	}
	if errors.Is(err, ErrClaimed) {
		return nil, ErrClaimed
	}
	if err != nil {
		lock = nil
	}
	return &Claim{
		dir: d, id: reservationID, path: d.join(s + recordSuffix),
		lock: lock, lockErr: failed("claim a record", d.join(s+claimSuffix), err),
	}, nil
}

// Unsecured is why another process may settle the record at the same time, nil
// when it cannot.
func (c *Claim) Unsecured() error { return c.lockErr }

// Release gives the right back.
func (c *Claim) Release() {
	if c.lock != nil {
		_ = c.lock.Close()
		c.lock = nil
	}
}

// Load reads the record as it is now. Its error is ErrGone, a *CorruptError or
// an *Error.
func (c *Claim) Load() (Record, error) {
	rec, _, err := c.dir.read(c.path)
	return rec, err
}

// Put writes the record, whether there is one or not. When it returns nil the
// record is durable.
func (c *Claim) Put(r Record) error {
	data, err := encode(r, nil)
	if err == nil {
		err = c.dir.publish(c.path, data)
	}
	return failed("write a record", c.path, err)
}

// Rewrite replaces the record. When somebody who knows no claims has settled
// and removed it meanwhile, it stays removed, and ErrGone says so.
func (c *Claim) Rewrite(r Record) error {
	if _, err := c.dir.files.Lstat(c.path); errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return c.Put(r)
}

// Discard removes the record after it was settled, together with a file of the
// same reservation under one of its legacy names.
func (c *Claim) Discard() error {
	err := c.dir.files.Remove(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, name := range legacyNames(c.id) {
		path := c.dir.join(name)
		// The name is shared by several ids, so the content decides.
		if old, _, readErr := c.dir.read(path); readErr == nil && old.ReservationID == c.id {
			err = errors.Join(err, c.dir.files.Remove(path))
		}
	}
	return failed("remove a settled record", c.path, err)
}

// Bury sets the record aside, under a name that no SDK replays. Where there is
// no room for the reason, the record is set aside without.
func (c *Claim) Bury(r Record, dead DeadLetter) error {
	dead.AtMs = c.dir.nowMs()
	path := strings.TrimSuffix(c.path, recordSuffix) + deadSuffix
	data, err := encode(r, &dead)
	if err == nil {
		err = c.dir.publish(path, data)
	}
	if err == nil {
		return c.Discard()
	}
	if moveErr := c.dir.files.Rename(c.path, path); moveErr != nil {
		return failed("set a record aside", c.path, errors.Join(err, moveErr))
	}
	return nil
}

// Name is the record's file name.
func (c *Claim) Name() string { return filepath.Base(c.path) }
