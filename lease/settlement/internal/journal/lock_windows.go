package journal

import (
	"io"
	"os"
	"syscall"
)

const (
	accessDelete         = 0x00010000
	flagDeleteOnClose    = 0x04000000
	errSharingViolation  = syscall.Errno(32)
	shareWithNobody      = 0
	errDeleteStillOnWait = syscall.ERROR_ACCESS_DENIED
)

// lock opens the file without sharing it, which excludes every other opening
// until this one is closed, by hand or by the end of the process; the file goes
// away with it.
func lock(path string) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE|accessDelete, shareWithNobody,
		nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|flagDeleteOnClose, 0)
	switch err {
	case nil:
		return os.NewFile(uintptr(h), path), nil
	case errSharingViolation:
		return nil, ErrClaimed
	case errDeleteStillOnWait:
		// Either the directory refuses files, or the last holder's is just going.
		if _, statErr := os.Lstat(path); statErr == nil {
			return nil, ErrClaimed
		}
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}
