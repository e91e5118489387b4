package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// Permissions of what this package makes. They are given at creation: a file
// that is tightened later can be read in between.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Files is the part of the operating system that a journal stands on. Tests
// replace it, to fill a disk or break one.
type Files interface {
	MkdirAll(path string) error
	Chmod(path string, mode fs.FileMode) error
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	Open(path string) (io.ReadCloser, error)
	// Create makes a new file that only its owner can read and fails when there
	// is one of that name.
	Create(path string) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	// Touch sets a file's time of modification.
	Touch(path string, at time.Time) error
	// SyncDir makes the names in a directory durable.
	SyncDir(path string) error
	// Lock makes and locks a file, or reports ErrClaimed. Closing unlocks and
	// removes it.
	Lock(path string) (io.Closer, error)
}

// File is a file being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// OS is the real file system.
type OS struct{}

// MkdirAll implements Files.
func (OS) MkdirAll(path string) error { return os.MkdirAll(path, dirMode) }

// Chmod implements Files.
func (OS) Chmod(path string, mode fs.FileMode) error { return os.Chmod(path, mode) }

// Lstat implements Files.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// ReadDir implements Files.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Open implements Files.
func (OS) Open(path string) (io.ReadCloser, error) { return os.Open(path) }

// Create implements Files.
func (OS) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// Rename implements Files.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Files.
func (OS) Remove(path string) error { return os.Remove(path) }

// Touch implements Files.
func (OS) Touch(path string, at time.Time) error { return os.Chtimes(path, at, at) }

// SyncDir implements Files. Windows keeps names durable by itself and cannot
// sync a directory.
func (OS) SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Lock implements Files.
func (OS) Lock(path string) (io.Closer, error) { return lock(path) }
