package journal

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hookedFiles is a file system that fails where a test says so.
type hookedFiles struct {
	Files
	beforeRename func(from, to string) error
	create       error
	write        error
	sync         error
	closing      error
	syncDir      error
	remove       error
	lock         error
	beforeLock   func()
	afterOpen    func(path string)
	open         func(path string) error
	list         error

	log []string
}

func (h *hookedFiles) Create(path string) (File, error) {
	if h.create != nil {
		return nil, h.create
	}
	f, err := h.Files.Create(path)
	return &hookedFile{f, h}, err
}

func (h *hookedFiles) Rename(from, to string) error {
	h.log = append(h.log, "rename")
	if h.beforeRename != nil {
		if err := h.beforeRename(from, to); err != nil {
			return err
		}
	}
	return h.Files.Rename(from, to)
}

func (h *hookedFiles) Remove(path string) error {
	if h.remove != nil && !strings.HasSuffix(path, tempSuffix) {
		return h.remove
	}
	return h.Files.Remove(path)
}

func (h *hookedFiles) SyncDir(path string) error {
	h.log = append(h.log, "sync directory")
	if h.syncDir != nil {
		return h.syncDir
	}
	return h.Files.SyncDir(path)
}

func (h *hookedFiles) Lock(path string) (io.Closer, error) {
	if h.beforeLock != nil {
		h.beforeLock()
	}
	if h.lock != nil {
		return nil, h.lock
	}
	return h.Files.Lock(path)
}

func (h *hookedFiles) Open(path string) (io.ReadCloser, error) {
	if h.open != nil {
		if err := h.open(path); err != nil {
			return nil, err
		}
	}
	f, err := h.Files.Open(path)
	if h.afterOpen != nil {
		h.afterOpen(path)
	}
	return f, err
}

func (h *hookedFiles) ReadDir(path string) ([]fs.DirEntry, error) {
	if h.list != nil {
		return nil, h.list
	}
	return h.Files.ReadDir(path)
}

type hookedFile struct {
	File
	h *hookedFiles
}

// Write does what a full disk does: some of it.
func (f *hookedFile) Write(p []byte) (int, error) {
	f.h.log = append(f.h.log, "write")
	if f.h.write != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, f.h.write
	}
	return f.File.Write(p)
}

func (f *hookedFile) Sync() error {
	f.h.log = append(f.h.log, "sync file")
	return errors.Join(f.h.sync, f.File.Sync())
}

func (f *hookedFile) Close() error { return errors.Join(f.h.closing, f.File.Close()) }

func TestRecordIsDurableBeforePutReturns(t *testing.T) {
	h := &hookedFiles{Files: OS{}}
	put(t, openDir(t, func(c *Config) { c.Files = h }), record("rsv_1"))
	assert.Equal(t, []string{"write", "sync file", "rename", "sync directory"}, h.log)

	h.log = nil
	put(t, openDir(t, func(c *Config) { c.Files, c.NoSync = h, true }), record("rsv_1"))
	assert.Equal(t, []string{"write", "rename"}, h.log)
}

func TestFailedWriteLeavesTheOldRecordAndNothingElse(t *testing.T) {
	full := syscall.ENOSPC
	for name, fail := range map[string]func(*hookedFiles){
		"no room for a name": func(h *hookedFiles) { h.create = full },
		"no room for bytes":  func(h *hookedFiles) { h.write = full },
		"sync fails":         func(h *hookedFiles) { h.sync = full },
		"close fails":        func(h *hookedFiles) { h.closing = full },
		"rename fails":       func(h *hookedFiles) { h.beforeRename = func(string, string) error { return full } },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hookedFiles{Files: OS{}}
			d := openDir(t, func(c *Config) { c.Files = h })
			put(t, d, record("rsv_1"))
			c := claim(t, d, "rsv_1")
			fail(h)
			changed := record("rsv_1")
			changed.Mode = Event
			err := c.Rewrite(changed)
			*h = hookedFiles{Files: OS{}}

			require.ErrorIs(t, err, full)
			assert.ErrorAs(t, err, new(*Error))
			still, err := c.Load()
			require.NoError(t, err)
			assert.Equal(t, Commit, still.Mode)
			c.Release()
			assert.Equal(t, []string{Name("rsv_1")}, files(t, d))
		})
	}
}

func TestDirectoryThatCannotBeSyncedIsReported(t *testing.T) {
	h := &hookedFiles{Files: OS{}, syncDir: syscall.EIO}
	d := openDir(t, func(c *Config) { c.Files = h })
	c := claim(t, d, "rsv_1")
	defer c.Release()
	assert.ErrorIs(t, c.Put(record("rsv_1")), syscall.EIO)
}

func TestClaimThatCannotBeSecuredIsGrantedAndSaysSo(t *testing.T) {
	h := &hookedFiles{Files: OS{}, lock: syscall.ENOSPC}
	d := openDir(t, func(c *Config) { c.Files = h })
	c, err := d.Claim("rsv_1")
	require.NoError(t, err)
	assert.ErrorIs(t, c.Unsecured(), syscall.ENOSPC)
	require.NoError(t, c.Put(record("rsv_1")))
	c.Release()
	s, err := d.Sweep()
	require.NoError(t, err)
	s.Touch()
	s.Close()
	ids, _ := replay(t, d)
	assert.Equal(t, []string{"rsv_1"}, ids)
}

func TestReadErrorOfOneRecordDoesNotBlockTheOthers(t *testing.T) {
	h := &hookedFiles{Files: OS{}, open: func(path string) error {
		if strings.HasSuffix(path, Name("rsv_2")) {
			return syscall.EIO
		}
		return nil
	}}
	d := openDir(t, func(c *Config) { c.Files = h })
	for _, id := range []string{"rsv_1", "rsv_2", "rsv_3"} {
		put(t, d, record(id))
	}
	ids, errs := replay(t, d)
	assert.ElementsMatch(t, []string{"rsv_1", "rsv_3"}, ids)
	assert.ErrorIs(t, errs[Name("rsv_2")], syscall.EIO)
	assert.Contains(t, files(t, d), Name("rsv_2"), "stays where it is")
}

func TestDirectoryThatCannotBeListedIsReported(t *testing.T) {
	h := &hookedFiles{Files: OS{}, list: syscall.EIO}
	d := openDir(t, func(c *Config) { c.Files = h })
	_, err := d.Names()
	assert.ErrorIs(t, err, syscall.EIO)
	_, err = d.List()
	assert.ErrorIs(t, err, syscall.EIO)
}

func TestSettledRecordThatCannotBeRemovedIsReported(t *testing.T) {
	h := &hookedFiles{Files: OS{}, remove: syscall.EROFS}
	d := openDir(t, func(c *Config) { c.Files = h })
	c := claim(t, d, "rsv_1")
	defer c.Release()
	require.NoError(t, c.Put(record("rsv_1")))
	assert.ErrorIs(t, c.Discard(), syscall.EROFS)
}

// With no room for the reason, the record must still get out of the way.
func TestDeadLetterOnAFullDiskIsSetAsideWithoutItsReason(t *testing.T) {
	h := &hookedFiles{Files: OS{}}
	d := openDir(t, func(c *Config) { c.Files = h })
	c := claim(t, d, "rsv_1")
	require.NoError(t, c.Put(record("rsv_1")))
	h.write = syscall.ENOSPC
	require.NoError(t, c.Bury(record("rsv_1"), DeadLetter{Reason: "rejected"}))
	c.Release()

	list, err := d.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, Dead, list[0].State)
	assert.Equal(t, "rsv_1", list[0].Record.ReservationID)
	assert.Nil(t, list[0].Dead)
}
