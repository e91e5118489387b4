package journal

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"
)

const (
	sweepName = "sweep" + claimSuffix
	// staleAfter is the age at which a temporary file belongs to nobody any more.
	staleAfter = time.Hour
	// A sweep shows that it goes on every sweepTouchEvery. One that has not for
	// sweepStaleAfter is frozen (a paused container on a shared volume) and does
	// not keep the others waiting; the claims still protect each record.
	sweepTouchEvery = time.Minute
	sweepStaleAfter = 10 * time.Minute
)

// Sweep is the right to replay what lies in a directory. One sweep at a time
// goes over it, whichever process makes it. Not safe for concurrent use.
type Sweep struct {
	dir     *Dir
	lock    io.Closer
	touched time.Time
}

// Sweep takes that right. Its error is ErrClaimed; where no lock can be taken
// the right is granted, as with Claim.
func (d *Dir) Sweep() (*Sweep, error) {
	path := d.join(sweepName)
	lock, err := d.files.Lock(path)
	if errors.Is(err, ErrClaimed) {
		if info, err := d.files.Lstat(path); err != nil || d.now().Sub(info.ModTime()) <= sweepStaleAfter {
			return nil, ErrClaimed
		}
	}
	s := &Sweep{dir: d}
	if err == nil {
		s.lock = lock
		s.Touch()
	}
	return s, nil
}

// Touch shows that the sweep goes on; call it per record.
func (s *Sweep) Touch() {
	if now := s.dir.now(); s.lock != nil && now.Sub(s.touched) >= sweepTouchEvery {
		s.touched = now
		_ = s.dir.files.Touch(s.dir.join(sweepName), now)
	}
}

// Close gives the right back.
func (s *Sweep) Close() {
	if s.lock != nil {
		_ = s.lock.Close()
		s.lock = nil
	}
}

// Names lists the files that may be records, sorted, and removes what crashes
// left behind: temporary files and claims that nobody holds.
func (d *Dir) Names() ([]string, error) {
	entries, err := d.files.ReadDir(d.path)
	if err != nil {
		return nil, failed("list the journal directory", d.path, err)
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasSuffix(name, recordSuffix):
			names = append(names, name)
		case strings.HasSuffix(name, tempSuffix) && d.stale(e):
			_ = d.files.Remove(d.join(name))
		case strings.HasSuffix(name, claimSuffix) && d.stale(e):
			if lock, err := d.files.Lock(d.join(name)); err == nil {
				_ = lock.Close() // which removes it
			}
		}
	}
	return names, nil
}

// stale reports whether a file has been left alone for long.
func (d *Dir) stale(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && d.now().Sub(info.ModTime()) > staleAfter
}
