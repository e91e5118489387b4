//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const nobody = 65534

func init() {
	children["replay"] = replayAsNobody
}

// replayAsNobody replays what it may and tries to add a record. It prints what
// happened, one fact a line.
func replayAsNobody(args []string) int {
	d, err := Open(Config{Base: args[0], Fingerprint: testFingerprint, BaseURL: testURL})
	if err != nil {
		fmt.Println("open: permission denied:", errors.Is(err, fs.ErrPermission))
		return 0
	}
	names, err := d.Names()
	fmt.Println("names:", len(names), err)
	for _, name := range names {
		c, rec, err := d.Take(name)
		if err != nil {
			fmt.Println("unreadable:", name, errors.Is(err, fs.ErrPermission))
			continue
		}
		fmt.Println("taken:", rec.ReservationID, "unsecured:", errors.Is(c.Unsecured(), fs.ErrPermission))
		fmt.Println("discarded:", c.Discard() == nil)
		c.Release()
	}
	c, err := d.Claim("rsv_new")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("written:", c.Put(record("rsv_new")) == nil)
	c.Release()
	return 0
}

// asNobody runs a child for whom permissions count, even when the tests run as
// root, and returns what it printed.
func asNobody(t *testing.T, role string, args ...string) string {
	t.Helper()
	program := os.Args[0]
	cmd := exec.Command(program, args...)
	if os.Getuid() == 0 {
		// The directory of the test binary is closed to others.
		program = filepath.Join(publicDir(t), "journal.test")
		copyFile(t, os.Args[0], program)
		cmd = exec.Command(program, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Dir = string(filepath.Separator)
	cmd.Env = append(os.Environ(), childRole+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "journal-permissions-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// nobodysDir makes a journal that belongs to the user of asNobody.
func nobodysDir(t *testing.T) *Dir {
	t.Helper()
	base := publicDir(t)
	d := openDir(t, func(c *Config) { c.Base = base })
	put(t, d, record("rsv_1"))
	put(t, d, record("rsv_2"))
	if os.Getuid() == 0 {
		for _, path := range []string{base, d.Path(), filepath.Join(d.Path(), Name("rsv_1")), filepath.Join(d.Path(), Name("rsv_2"))} {
			require.NoError(t, os.Chown(path, nobody, nobody))
		}
	}
	return d
}

// inOrder gives the two ids of nobodysDir in the order of their files.
func inOrder() (first, second string) {
	if Name("rsv_1") < Name("rsv_2") {
		return "rsv_1", "rsv_2"
	}
	return "rsv_2", "rsv_1"
}

func TestRecordThatMayNotBeReadStaysAndDoesNotBlockTheOthers(t *testing.T) {
	d := nobodysDir(t)
	first, second := inOrder()
	require.NoError(t, os.Chmod(filepath.Join(d.Path(), Name(first)), 0))
	assert.Equal(t, "names: 2 <nil>\n"+
		"unreadable: "+Name(first)+" true\n"+
		"taken: "+second+" unsecured: false\n"+
		"discarded: true\n"+
		"written: true\n", asNobody(t, "replay", filepath.Dir(d.Path())))
	assert.ElementsMatch(t, []string{Name(first), Name("rsv_new")}, files(t, d))
}

func TestReadOnlyDirectoryIsReplayedAndReported(t *testing.T) {
	d := nobodysDir(t)
	require.NoError(t, os.Chmod(d.Path(), 0o500))
	t.Cleanup(func() { _ = os.Chmod(d.Path(), 0o700) })
	first, second := inOrder()
	assert.Equal(t, "names: 2 <nil>\n"+
		"taken: "+first+" unsecured: true\ndiscarded: false\n"+
		"taken: "+second+" unsecured: true\ndiscarded: false\n"+
		"written: false\n", asNobody(t, "replay", filepath.Dir(d.Path())))
	assert.Len(t, files(t, d), 2)
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	base := publicDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(base, testFingerprint), 0o755))
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(base, 0))
		t.Cleanup(func() { _ = os.Chmod(base, 0o700) })
	}
	assert.Equal(t, "open: permission denied: true\n", asNobody(t, "replay", base))
}

func TestPipeThatLooksLikeARecordDoesNotHangTheReplay(t *testing.T) {
	d := openDir(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(d.Path(), "a.json"), 0o600))
	put(t, d, record("rsv_1"))
	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_1"}, ids)
	assert.ErrorIs(t, errs["a.json"], errNotRegular)
}
