package settlement_test

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// disk is a file system that can be broken and mended.
type disk struct {
	journal.OS
	mu     sync.Mutex
	create error
	remove error
	rename error
	lock   error
	open   error
}

func (d *disk) unreadable(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = err
}

func (d *disk) Open(path string) (io.ReadCloser, error) {
	d.mu.Lock()
	err := d.open
	d.mu.Unlock()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d.OS.Open(path)
}

func (d *disk) broken(create, remove, rename, lock error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.create, d.remove, d.rename, d.lock = create, remove, rename, lock
}

func (d *disk) state() disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return disk{create: d.create, remove: d.remove, rename: d.rename, lock: d.lock}
}

func (d *disk) Create(path string) (journal.File, error) {
	if err := d.state().create; err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d.OS.Create(path)
}

func (d *disk) Remove(path string) error {
	if err := d.state().remove; err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return d.OS.Remove(path)
}

func (d *disk) Rename(from, to string) error {
	if err := d.state().rename; err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return d.OS.Rename(from, to)
}

func (d *disk) Lock(path string) (io.Closer, error) {
	if err := d.state().lock; err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d.OS.Lock(path)
}

func TestFullDiskDoesNotKeepASpendFromBeingSent(t *testing.T) {
	w := newWorld(t)
	d := &disk{}
	logged := &logBuffer{}
	s := w.settler(settlement.WithFiles(d), settlement.WithLogger(logged.logger()), settlement.WithoutBackground())
	d.broken(syscall.ENOSPC, nil, nil, syscall.ENOSPC)
	for range 5 {
		result, err := w.begin(s, w.reserve(42)).Settle(t.Context())
		require.NoError(t, err, "it is settled, which is what counts")
		assert.True(t, result.Settled())
		assert.False(t, result.Journaled)
		var failure *settlement.JournalError
		require.ErrorAs(t, result.JournalErr, &failure)
		assert.Equal(t, result.ReservationID, failure.ReservationID)
		assert.ErrorIs(t, result.JournalErr, syscall.ENOSPC)
	}
	status, err := s.Status()
	require.NoError(t, err)
	assert.ErrorIs(t, status.JournalErr, syscall.ENOSPC)
	assert.Equal(t, 1, strings.Count(logged.String(), "does not work"), "said once, not per spend")

	d.broken(nil, nil, nil, nil)
	result, err := w.begin(s, w.reserve(42)).Settle(t.Context())
	require.NoError(t, err)
	assert.NoError(t, result.JournalErr)
	status, err = s.Status()
	require.NoError(t, err)
	assert.NoError(t, status.JournalErr)
	assert.EqualValues(t, 6*42, w.spent())
}

// A spend that could not be written is written as soon as there is room.
func TestPendingSpendIsJournaledOnceTheDiskHasRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &disk{}
		spend := w.reserve(42)
		w.wire.set(down)
		s := w.settler(settlement.WithFiles(d))
		d.broken(syscall.ENOSPC, nil, nil, nil)
		x := w.unsettled(s, spend)
		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, 1, status.Unjournaled)
		d.broken(nil, nil, nil, nil)
		time.Sleep(time.Second)
		assert.True(t, x.Result().Journaled)
		assert.NoError(t, x.Result().JournalErr)
		assert.Equal(t, "commit", w.onDisk(spend.ReservationID)["mode"])
		w.wire.set(nil)
		time.Sleep(time.Minute)
		assert.True(t, x.Result().Settled())
	})
}

// The switch cannot be written: the spend is still told, under the same key.
func TestEventIsSentThoughTheSwitchCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &disk{}
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		w.wire.watch(func(*http.Request) { d.broken(syscall.EIO, nil, nil, nil) })
		result, err := w.begin(w.settler(settlement.WithFiles(d)), spend).Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, settlement.RecoveredByEvent, result.Disposition)
		assert.ErrorIs(t, result.JournalErr, syscall.EIO)
		assert.True(t, result.Journaled, "the commit was on disk before")
		assert.EqualValues(t, 42, w.spent())
	})
}

// The first write failed, and the disk has room again when the reservation turns
// out to be over: the event is on disk before it leaves.
func TestSwitchIsWrittenThoughTheCommitWasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &disk{}
		spend := w.reserve(42)
		time.Sleep(ttl + grace + time.Millisecond)
		s := w.settler(settlement.WithFiles(d))
		d.broken(syscall.ENOSPC, nil, nil, nil)
		var mode any
		w.wire.watch(func(r *http.Request) {
			d.broken(nil, nil, nil, nil)
			mode = w.onDisk(spend.ReservationID)["mode"]
		})
		result, err := w.begin(s, spend).Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "event", mode)
		assert.True(t, result.Journaled)
		assert.NoError(t, result.JournalErr)
	})
}

// A record that has become unreadable is sent from memory.
func TestOwnRecordThatCannotBeReadIsSettledFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &disk{}
		spend := w.reserve(42)
		w.wire.set(down)
		x := w.unsettled(w.settler(settlement.WithFiles(d)), spend)
		d.unreadable(syscall.EIO)
		w.wire.set(nil)
		time.Sleep(time.Second)
		assert.True(t, x.Result().Settled())
		assert.ErrorIs(t, x.Result().JournalErr, syscall.EIO)
		assert.EqualValues(t, 42, w.spent())
	})
}

// On a directory that became read-only what is settled stays there. It is not
// sent for ever.
func TestSettledRecordThatCannotBeRemovedIsNotSentAgain(t *testing.T) {
	for name, record := range map[string]string{"commit": "commit", "event": "event"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				d := &disk{}
				w.leave("left.json", w.record(w.reserve(42), "key", record, time.Now()))
				d.broken(syscall.EROFS, syscall.EROFS, syscall.EROFS, syscall.EROFS)
				s := w.settler(settlement.WithFiles(d))
				own := w.begin(s, w.reserve(1))
				time.Sleep(time.Second)
				assert.EqualValues(t, 42, w.spent())
				_, err := own.Settle(t.Context())
				require.NoError(t, err)
				sent := len(w.wire.times())
				time.Sleep(time.Hour)
				assert.Len(t, w.wire.times(), sent)
				status, err := s.Status()
				require.NoError(t, err)
				assert.ErrorIs(t, status.JournalErr, syscall.EROFS)
			})
		})
	}
}

func TestDeadLetterThatCannotBeSetAsideIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := &disk{}
		w.leave("left.json", w.record(w.reserve(42), "key", "commit", time.Now()))
		w.wire.set(always(409, refusal(gen.ErrorCodeReservationFinalized)))
		d.broken(syscall.EROFS, syscall.EROFS, syscall.EROFS, syscall.EROFS)
		w.settler(settlement.WithFiles(d))
		time.Sleep(time.Hour)
		assert.Len(t, w.wire.times(), 1)
		assert.Equal(t, map[string]int{".json": 1}, w.files())
	})
}

func TestJournalThatIsAskedForAndCannotBeOpenedIsAnError(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := settlement.New(w.client(), settlement.WithJournal(file))
	assert.ErrorAs(t, err, new(*settlement.JournalError))
	assert.ErrorContains(t, err, "cannot make the journal directory")
}

// fromEnv is a client as an application makes it without saying anything about
// a journal.
func fromEnv(t *testing.T, rt http.RoundTripper, env map[string]string) *client.Client {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // never the developer's own
	t.Setenv("CYCLES_BASE_URL", memoryURL)
	t.Setenv("CYCLES_API_KEY", mockserver.DefaultAPIKey)
	t.Setenv("CYCLES_TENANT", mockserver.DefaultTenant)
	for name, value := range env {
		t.Setenv(name, value)
	}
	c, err := client.FromEnv(client.WithHTTPClient(&http.Client{Transport: rt}))
	require.NoError(t, err)
	return c
}

func TestClientFromTheEnvironmentHasAJournalUnlessItSaysNo(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		env  map[string]string
		opts []settlement.Option
		want string
	}{
		"named":                      {map[string]string{"CYCLES_JOURNAL_DIR": dir}, nil, dir},
		"switched off":               {map[string]string{"CYCLES_JOURNAL_DIR": dir, "CYCLES_JOURNAL_ENABLED": "false"}, nil, ""},
		"switched off by the option": {map[string]string{"CYCLES_JOURNAL_DIR": dir}, []settlement.Option{settlement.WithoutJournal()}, ""},
		"the option wins":            {map[string]string{"CYCLES_JOURNAL_DIR": "/nowhere"}, []settlement.Option{settlement.WithJournal(dir)}, dir},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s, err := settlement.New(fromEnv(t, w.wire, c.env), c.opts...)
			require.NoError(t, err)
			defer stop(t, s)
			status, err := s.Status()
			require.NoError(t, err)
			if c.want == "" {
				assert.Empty(t, status.Dir)
				return
			}
			assert.Equal(t, filepath.Join(c.want, fingerprint), status.Dir)
		})
	}
	t.Run("at home", func(t *testing.T) {
		w := newWorld(t)
		c := fromEnv(t, w.wire, nil)
		s, err := settlement.New(c)
		require.NoError(t, err)
		defer stop(t, s)
		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(os.Getenv("HOME"), ".runcycles", "commit-journal", fingerprint), status.Dir)
	})
	t.Run("made by New", func(t *testing.T) {
		t.Setenv("HOME", t.TempDir())
		w := newWorld(t)
		s, err := settlement.New(w.client())
		require.NoError(t, err)
		defer stop(t, s)
		entries, err := os.ReadDir(os.Getenv("HOME"))
		require.NoError(t, err)
		assert.Empty(t, entries)
	})
}

func TestJournalThatOnlyTheEnvironmentAsksForMayFail(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	logged := &logBuffer{}
	s, err := settlement.New(fromEnv(t, w.wire, map[string]string{"CYCLES_JOURNAL_DIR": file}), settlement.WithLogger(logged.logger()))
	require.NoError(t, err)
	defer stop(t, s)
	assert.Contains(t, logged.String(), "cannot make the journal directory")
	status, err := s.Status()
	require.NoError(t, err)
	assert.ErrorAs(t, status.JournalErr, new(*settlement.JournalError))
	result, err := w.begin(s, w.reserve(42)).Settle(t.Context())
	require.NoError(t, err)
	assert.False(t, result.Journaled)
}

// As in the other SDKs: without retries what is pending is written and left.
func TestRetriesSwitchedOffByTheEnvironmentLeaveWhatIsPendingOnDisk(t *testing.T) {
	w := newWorld(t)
	c := fromEnv(t, w.wire, map[string]string{"CYCLES_RETRY_ENABLED": "false", "CYCLES_JOURNAL_DIR": w.base})
	synctest.Test(t, func(t *testing.T) {
		spend := w.reserve(42)
		w.wire.set(down)
		s, err := settlement.New(c)
		require.NoError(t, err)
		defer stop(t, s)
		w.unsettled(s, spend)
		time.Sleep(time.Hour)
		assert.Len(t, w.wire.times(), 1)
		assert.Equal(t, map[string]int{".json": 1}, w.files())
	})
}

func TestFlushTimeoutOfTheEnvironmentBoundsClose(t *testing.T) {
	w := newWorld(t)
	c := fromEnv(t, w.wire, map[string]string{"CYCLES_RETRY_FLUSH_TIMEOUT": "4s", "CYCLES_JOURNAL_DIR": w.base})
	synctest.Test(t, func(t *testing.T) {
		spend := w.reserve(42)
		w.wire.set(down)
		s, err := settlement.New(c)
		require.NoError(t, err)
		w.unsettled(s, spend)
		start := time.Now()
		require.ErrorAs(t, s.Close(t.Context()), new(*settlement.LeftError))
		assert.Equal(t, 4*time.Second, time.Since(start))
	})
}
