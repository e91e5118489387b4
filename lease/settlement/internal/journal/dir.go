package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Config says where a journal lies and whose it is. Base, Fingerprint and
// BaseURL are required.
type Config struct {
	// Base is the directory shared by all identities.
	Base string
	// Fingerprint names the identity's own directory in it.
	Fingerprint string
	// BaseURL is the server exactly as configured. Only its records are replayed.
	BaseURL string
	// Now is the wall clock; nil is the real one.
	Now func() time.Time
	// NoSync leaves out fsync: a record then survives a crash of the process but
	// not a loss of power.
	NoSync bool
	// Files is the file system; nil is the real one.
	Files Files
}

// Dir is the journal of one identity. It keeps nothing open and nothing in
// memory, and is safe for concurrent use.
type Dir struct {
	path    string
	baseURL string
	now     func() time.Time
	sync    bool
	files   Files
}

// Open makes the directory if it is missing. The identity's directory is made
// private to its owner, whoever made it; the base directory only when it is made
// here, since it may be one that others use.
func Open(c Config) (*Dir, error) {
	switch {
	case c.Base == "":
		return nil, errors.New("journal: no directory given")
	case c.Fingerprint == "" || filepath.Base(c.Fingerprint) != c.Fingerprint:
		return nil, errors.New("journal: an identity's fingerprint must be a plain name")
	case c.BaseURL == "":
		return nil, errors.New("journal: no base URL given")
	}
	d := &Dir{path: filepath.Join(c.Base, c.Fingerprint), baseURL: c.BaseURL, now: c.Now, sync: !c.NoSync, files: c.Files}
	if d.now == nil {
		d.now = time.Now
	}
	if d.files == nil {
		d.files = OS{}
	}
	if err := d.files.MkdirAll(d.path); err != nil {
		return nil, failed("make the journal directory", d.path, err)
	}
	info, err := d.files.Lstat(d.path)
	if err != nil {
		return nil, failed("look at the journal directory", d.path, err)
	}
	if info.Mode().Perm()&^dirMode != 0 {
		if err := d.files.Chmod(d.path, dirMode); err != nil {
			return nil, failed("make the journal directory private", d.path, err)
		}
	}
	return d, nil
}

// Path is the identity's directory.
func (d *Dir) Path() string { return d.path }

// BaseURL is the server whose records are replayed.
func (d *Dir) BaseURL() string { return d.baseURL }

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// nowMs is the wall clock in ms since the Unix epoch, never negative: the format
// has no instant before it.
func (d *Dir) nowMs() int64 { return max(0, d.now().UnixMilli()) }

// publish writes a file that appears complete or not at all.
func (d *Dir) publish(path string, data []byte) error {
	temp, err := d.writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := d.files.Rename(temp, path); err != nil {
		_ = d.files.Remove(temp)
		return err
	}
	if d.sync {
		return d.files.SyncDir(d.path)
	}
	return nil
}

// writeTemp names its file after process and chance, so that no two writers
// ever share one.
func (d *Dir) writeTemp(path string, data []byte) (temp string, err error) {
	var random [4]byte
	_, _ = rand.Read(random[:])
	temp = fmt.Sprintf("%s.%d.%s%s", path, os.Getpid(), hex.EncodeToString(random[:]), tempSuffix)
	f, err := d.files.Create(temp)
	if err != nil {
		return "", err
	}
	if _, err = f.Write(data); err == nil && d.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = d.files.Remove(temp)
		return "", err
	}
	return temp, nil
}

// read returns a record and the file it was in. Its error is ErrGone, a
// *CorruptError (nothing was moved) or an *Error.
func (d *Dir) read(path string) (Record, fs.FileInfo, error) {
	data, info, err := d.contents(path)
	if err != nil {
		return Record{}, info, err
	}
	rec, err := decode(data)
	if err != nil {
		return Record{}, info, &CorruptError{Path: path, Err: err}
	}
	return rec, info, nil
}

func (d *Dir) contents(path string) ([]byte, fs.FileInfo, error) {
	info, err := d.files.Lstat(path)
	if err != nil {
		return nil, nil, readFailed(path, err)
	}
	// Opening a pipe would wait for its other end.
	if !info.Mode().IsRegular() {
		return nil, info, readFailed(path, &fs.PathError{Op: "open", Path: path, Err: errNotRegular})
	}
	if info.Size() > MaxRecordSize {
		return nil, info, &CorruptError{Path: path, Err: errTooLarge}
	}
	f, err := d.files.Open(path)
	if err != nil {
		return nil, info, readFailed(path, err)
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = data.ReadFrom(io.LimitReader(f, MaxRecordSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, info, readFailed(path, err)
	}
	if data.Len() > MaxRecordSize {
		return nil, info, &CorruptError{Path: path, Err: errTooLarge}
	}
	return data.Bytes(), info, nil
}

var errNotRegular = errors.New("not a regular file")

func readFailed(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return failed("read a record", path, err)
}
