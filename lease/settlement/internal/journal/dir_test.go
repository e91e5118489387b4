package journal

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissingDirectoriesAreMadeForTheOwnerAlone(t *testing.T) {
	base := filepath.Join(t.TempDir(), "home", ".runcycles", "commit-journal")
	d := openDir(t, func(c *Config) { c.Base = base })
	put(t, d, record("rsv_1"))

	assert.Equal(t, filepath.Join(base, testFingerprint), d.Path())
	assertMode(t, base, 0o700)
	assertMode(t, d.Path(), 0o700)
	assertMode(t, filepath.Join(d.Path(), Name("rsv_1")), 0o600)
}

func assertMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestOpenIdentityDirectoryIsTightenedAndSharedBaseIsNot(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, os.Chmod(base, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(base, testFingerprint), 0o755))
	d := openDir(t, func(c *Config) { c.Base = base })
	assertMode(t, base, 0o755)
	assertMode(t, d.Path(), 0o700)
}

// A file must be private from its first byte on, not only when it is finished.
func TestRecordIsPrivateWhileItIsBeingWritten(t *testing.T) {
	var during []fs.FileMode
	spy := &hookedFiles{Files: OS{}}
	d := openDir(t, func(c *Config) { c.Files = spy })
	spy.beforeRename = func(from, _ string) error {
		info, err := os.Lstat(from)
		require.NoError(t, err)
		during = append(during, info.Mode().Perm())
		return nil
	}
	put(t, d, record("rsv_1"))
	assert.Equal(t, []fs.FileMode{0o600}, during)
}

func TestTempNamesAreUniqueAndIgnoredByReaders(t *testing.T) {
	seen := map[string]bool{}
	spy := &hookedFiles{Files: OS{}}
	d := openDir(t, func(c *Config) { c.Files = spy })
	spy.beforeRename = func(from, to string) error {
		assert.True(t, strings.HasPrefix(from, to+"."), "the target's name comes first")
		assert.True(t, strings.HasSuffix(from, ".tmp"))
		assert.False(t, seen[from], "shared by two writers")
		seen[from] = true
		return nil
	}
	for range 100 {
		put(t, d, record("rsv_1"))
	}
	assert.Len(t, seen, 100)
	assert.Equal(t, []string{Name("rsv_1")}, files(t, d))
}

func TestBaseThatIsAFileIsRefused(t *testing.T) {
	base := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(base, nil, 0o600))
	_, err := Open(Config{Base: base, Fingerprint: testFingerprint, BaseURL: testURL})
	var failure *Error
	require.ErrorAs(t, err, &failure)
	assert.Contains(t, failure.Error(), "make the journal directory")
	assert.Equal(t, filepath.Join(base, testFingerprint), failure.Path)
}

func TestIncompleteConfigurationIsRefused(t *testing.T) {
	good := Config{Base: t.TempDir(), Fingerprint: testFingerprint, BaseURL: testURL}
	for name, spoil := range map[string]func(*Config){
		"no base":             func(c *Config) { c.Base = "" },
		"no fingerprint":      func(c *Config) { c.Fingerprint = "" },
		"fingerprint escapes": func(c *Config) { c.Fingerprint = "../x" },
		"no base URL":         func(c *Config) { c.BaseURL = "" },
	} {
		c := good
		spoil(&c)
		_, err := Open(c)
		assert.Error(t, err, name)
	}
}

func TestStaleTempFilesAreReapedAndFreshOnesKept(t *testing.T) {
	now := time.Now()
	d := openDir(t, at(now))
	old := write(t, d, Name("rsv_1")+".77.0badcafe.tmp", "half")
	young := write(t, d, Name("rsv_2")+".78.0badcafe.tmp", "half")
	require.NoError(t, os.Chtimes(old, now, now.Add(-time.Hour-time.Second)))
	require.NoError(t, os.Chtimes(young, now, now.Add(-time.Hour+time.Second)))

	names, err := d.Names()
	require.NoError(t, err)
	assert.Empty(t, names)
	assert.Equal(t, []string{filepath.Base(young)}, files(t, d))
}

func TestClaimsThatACrashLeftBehindAreReapedAndHeldOnesKept(t *testing.T) {
	now := time.Now()
	d := openDir(t, at(now))
	left := write(t, d, "v2-left.claim", "")
	fresh := write(t, d, "v2-fresh.claim", "")
	held := claim(t, d, "rsv_1")
	defer held.Release()
	long := now.Add(-2 * time.Hour)
	heldPath := filepath.Join(d.Path(), strings.TrimSuffix(Name("rsv_1"), ".json")+".claim")
	for _, path := range []string{left, heldPath} {
		require.NoError(t, os.Chtimes(path, long, long))
	}
	_, err := d.Names()
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{filepath.Base(fresh), filepath.Base(heldPath)}, files(t, d))
	_, err = d.Claim("rsv_1")
	assert.ErrorIs(t, err, ErrClaimed)
}

func TestDirectoryThatIsRemovedIsMadeAgain(t *testing.T) {
	d := openDir(t)
	require.NoError(t, os.RemoveAll(filepath.Dir(d.Path())))
	put(t, d, record("rsv_1"))
	assert.Equal(t, []string{Name("rsv_1")}, files(t, d))
	assertMode(t, d.Path(), 0o700)
}

func TestOnlyJSONNamesAreRecords(t *testing.T) {
	d := openDir(t)
	for _, name := range []string{".tmpAbC123", "x.json.1.aaaaaaaa.tmp", "x.corrupt", "x.dead", "x.claim", "x.JSON", "x.json.bak"} {
		write(t, d, name, encoded(t, record("rsv_1")))
	}
	ids, errs := replay(t, d)
	assert.Empty(t, ids)
	assert.Empty(t, errs)
	assert.Len(t, files(t, d), 7)
}

// Whoever can guess a temporary name must not be able to lay something under it.
func TestTempFileIsNeverSomebodyElses(t *testing.T) {
	d := openDir(t)
	path := write(t, d, "taken.tmp", "")
	_, err := OS{}.Create(path)
	assert.ErrorIs(t, err, fs.ErrExist)
}
