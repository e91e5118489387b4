//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package journal

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lock takes an flock, which belongs to the open file: it holds against other
// processes and against other openings in this one, and the kernel drops it
// when the process dies.
func lock(path string) (io.Closer, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, err
		}
		held, err := lockFile(f, path)
		if held {
			return &fileLock{f}, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lockFile reports neither a lock nor an error when the file was removed by its
// previous holder in between: a lock on a name that is gone excludes nobody.
func lockFile(f *os.File, path string) (held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == syscall.EWOULDBLOCK {
		return false, ErrClaimed
	}
	if err != nil {
		return false, &os.PathError{Op: "flock", Path: path, Err: err}
	}
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

type fileLock struct{ f *os.File }

// Close removes the name while the lock is still held, so that nobody else's
// file of the same name is hit.
func (l *fileLock) Close() error {
	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
}
