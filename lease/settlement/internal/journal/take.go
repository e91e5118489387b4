package journal

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Take claims and reads the record in the file of that name, to replay it. A
// file that is no valid record is moved to quarantine; a record under a legacy
// name gets its name of the current scheme first. Its error is ErrClaimed,
// ErrGone, ErrForeign, ErrDuplicate, a *CorruptError or an *Error.
func (d *Dir) Take(name string) (*Claim, Record, error) {
	path := d.join(name)
	rec, err := d.readOrQuarantine(path)
	if err != nil {
		return nil, Record{}, err
	}
	if rec.BaseURL != d.baseURL {
		return nil, Record{}, ErrForeign
	}
	c, err := d.Claim(rec.ReservationID)
	if err != nil {
		return nil, Record{}, err
	}
	if c.path != path {
		err = c.adopt(path)
	}
	if err == nil {
		// What was read before the claim may have been settled since.
		rec, err = d.readOrQuarantine(c.path)
	}
	if err == nil && rec.ReservationID != c.id {
		err = ErrGone
	}
	if err != nil {
		c.Release()
		return nil, Record{}, err
	}
	return c, rec, nil
}

// adopt gives the record at path, which has the claimed reservation's id, its
// standard name.
func (c *Claim) adopt(path string) error {
	standard, err := c.dir.readOrQuarantine(c.path)
	corrupt, isCorrupt := errors.AsType[*CorruptError](err)
	switch {
	case err == nil && standard.ReservationID == c.id:
		return errors.Join(ErrDuplicate, failed("remove a duplicate", path, c.dir.files.Remove(path)))
	case err == nil, isCorrupt && corrupt.MoveErr != nil:
		// What is in the way must not be lost either.
		c.path = path
		return nil
	case errors.Is(err, ErrGone), isCorrupt:
		if c.dir.files.Rename(path, c.path) != nil {
			c.path = path
		}
		return nil
	}
	return err
}

// readOrQuarantine reads a record and moves the file away when it is none.
func (d *Dir) readOrQuarantine(path string) (Record, error) {
	rec, before, err := d.read(path)
	corrupt, ok := errors.AsType[*CorruptError](err)
	if !ok {
		return rec, err
	}
	// A writer may have replaced the file since it was read.
	now, err := d.files.Lstat(path)
	if err != nil {
		return Record{}, readFailed(path, err)
	}
	if !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
		return Record{}, ErrGone
	}
	target := strings.TrimSuffix(path, recordSuffix) + corruptSuffix
	corrupt.MoveErr = d.files.Rename(path, target)
	switch {
	case corrupt.MoveErr == nil:
		corrupt.Quarantine = target
	case errors.Is(corrupt.MoveErr, fs.ErrNotExist):
		return Record{}, ErrGone // another process was faster
	}
	return Record{}, corrupt
}
