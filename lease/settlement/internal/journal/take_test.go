package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadFilesAreQuarantinedAndTheOthersReplayed(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	put(t, d, record("rsv_2"))
	bad := map[string]string{
		"empty.json":         ``,
		"truncated.json":     encoded(t, record("rsv_3"))[:90],
		"zeros.json":         strings.Repeat("\x00", 4096),
		"version-2.json":     strings.Replace(encoded(t, record("rsv_3")), `"version":1`, `"version":2`, 1),
		"null-mode.json":     strings.Replace(encoded(t, record("rsv_3")), `"mode":"commit"`, `"mode":null`, 1),
		"array-body.json":    strings.Replace(encoded(t, record("rsv_3")), `"commit_body":{`, `"commit_body":[1],"x":{`, 1),
		"negative-time.json": strings.Replace(encoded(t, record("rsv_3")), `"recorded_at_ms":1`, `"recorded_at_ms":-1`, 1),
		Name("rsv_4"):        `{}`,
	}
	for name, content := range bad {
		write(t, d, name, content)
	}
	huge := write(t, d, "huge.json", "")
	require.NoError(t, os.Truncate(huge, MaxRecordSize+1))

	ids, errs := replay(t, d)
	assert.ElementsMatch(t, []string{"rsv_1", "rsv_2"}, ids)
	assert.Len(t, errs, len(bad)+1)
	for name, err := range errs {
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt, name)
		assert.Equal(t, filepath.Join(d.Path(), name), corrupt.Path)
		assert.Equal(t, strings.TrimSuffix(corrupt.Path, ".json")+".corrupt", corrupt.Quarantine)
		assert.Contains(t, corrupt.Error(), corrupt.Quarantine)
		moved, err := os.ReadFile(corrupt.Quarantine)
		require.NoError(t, err)
		if content, ok := bad[name]; ok {
			assert.Equal(t, content, string(moved), "kept as it was")
		}
	}
	_, errs = replay(t, d)
	assert.Empty(t, errs, "reported once")
}

func TestQuarantineOverwritesAnOlderOneOfTheSameName(t *testing.T) {
	d := openDir(t)
	write(t, d, "x.corrupt", "older")
	write(t, d, "x.json", "newer")
	replay(t, d)
	content, err := os.ReadFile(filepath.Join(d.Path(), "x.corrupt"))
	require.NoError(t, err)
	assert.Equal(t, "newer", string(content))
}

func TestFileThatIsReplacedWhileItIsJudgedIsLeftAlone(t *testing.T) {
	d := openDir(t)
	path := write(t, d, Name("rsv_1"), "broken")
	d.files = &hookedFiles{Files: OS{}, afterOpen: func(string) {
		// The writer finishes just now; what is open is still the old file.
		require.NoError(t, os.Rename(write(t, d, "fresh.tmp", encoded(t, record("rsv_1"))), path))
	}}
	_, _, err := d.Take(Name("rsv_1"))
	require.ErrorIs(t, err, ErrGone)
	d.files = OS{}
	rec, _, err := d.read(path)
	require.NoError(t, err)
	assert.Equal(t, "rsv_1", rec.ReservationID)
}

func TestRecordsOfOtherServersAreNotTouched(t *testing.T) {
	d := openDir(t)
	other := record("rsv_1")
	other.BaseURL = testURL + "/"
	put(t, d, other)
	nobodys := write(t, d, "old.json", `{"version":1,"reservation_id":"rsv_2","commit_body":{}}`)
	put(t, d, record("rsv_3"))
	before, err := os.Lstat(nobodys)
	require.NoError(t, err)

	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_3"}, ids)
	assert.ErrorIs(t, errs[Name("rsv_1")], ErrForeign, "not even a slash more")
	assert.ErrorIs(t, errs["old.json"], ErrForeign)
	after, err := os.Lstat(nobodys)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, before.ModTime(), after.ModTime())
}

func TestWhatIsNoFileIsReportedAndStays(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	require.NoError(t, os.Mkdir(filepath.Join(d.Path(), "a.json"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(d.Path(), Name("rsv_1")), filepath.Join(d.Path(), "b.json")))

	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_1"}, ids)
	assert.ErrorIs(t, errs["a.json"], errNotRegular)
	assert.ErrorIs(t, errs["b.json"], errNotRegular)
	assert.ElementsMatch(t, []string{"a.json", "b.json", Name("rsv_1")}, files(t, d))
}

func TestLegacyFileGetsItsStandardName(t *testing.T) {
	d := openDir(t)
	write(t, d, "rsv_a.json", encoded(t, record("rsv/a")))
	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv/a"}, ids)
	assert.Empty(t, errs)
	assert.Equal(t, []string{Name("rsv/a")}, files(t, d))
}

func TestLegacyDuplicateIsRemovedAndReplayedOnce(t *testing.T) {
	d := openDir(t)
	newer := record("rsv/a")
	newer.Mode = Event
	put(t, d, newer)
	write(t, d, "rsv_a.json", encoded(t, record("rsv/a")))
	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv/a"}, ids)
	assert.ErrorIs(t, errs["rsv_a.json"], ErrDuplicate)
	assert.Equal(t, []string{Name("rsv/a")}, files(t, d))
	c := claim(t, d, "rsv/a")
	defer c.Release()
	rec, err := c.Load()
	require.NoError(t, err)
	assert.Equal(t, Event, rec.Mode, "the standard file is the newer one")
}

func TestLegacyFileWhoseStandardNameHoldsAnotherReservationIsStillReplayed(t *testing.T) {
	d := openDir(t)
	write(t, d, Name("rsv/a"), encoded(t, record("rsv_x")))
	write(t, d, "rsv_a.json", encoded(t, record("rsv/a")))

	c, rec, err := d.Take("rsv_a.json")
	require.NoError(t, err)
	assert.Equal(t, "rsv/a", rec.ReservationID)
	rec.Mode = Event
	require.NoError(t, c.Rewrite(rec))
	assert.Len(t, files(t, d), 3, "both records and the claim")
	require.NoError(t, c.Discard())
	c.Release()
	assert.Equal(t, []string{Name("rsv/a")}, files(t, d), "the other reservation's spend is untouched")

	ids, _ := replay(t, d)
	assert.Equal(t, []string{"rsv_x"}, ids)
	assert.Equal(t, []string{Name("rsv_x")}, files(t, d))
}

func TestLegacyFileTakesThePlaceOfABrokenStandardOne(t *testing.T) {
	d := openDir(t)
	write(t, d, Name("rsv/a"), "torn")
	write(t, d, "rsv_a.json", encoded(t, record("rsv/a")))
	c, rec, err := d.Take("rsv_a.json")
	require.NoError(t, err)
	assert.Equal(t, "rsv/a", rec.ReservationID)
	c.Release()
	assert.ElementsMatch(t, []string{Name("rsv/a"), strings.TrimSuffix(Name("rsv/a"), ".json") + ".corrupt"}, files(t, d))
}

func TestLegacyNameBeyondTheBasicPlaneMigratesByItsContent(t *testing.T) {
	for _, legacy := range []string{"r_.json", "r__.json"} {
		d := openDir(t)
		write(t, d, legacy, encoded(t, record("r🚀")))
		ids, _ := replay(t, d)
		assert.Equal(t, []string{"r🚀"}, ids)
		assert.Equal(t, []string{Name("r🚀")}, files(t, d))
	}
}

func TestRecordThatIsBeingSettledIsNotHandedOut(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	put(t, d, record("rsv_2"))
	c := claim(t, d, "rsv_1")
	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_2"}, ids)
	assert.ErrorIs(t, errs[Name("rsv_1")], ErrClaimed)
	c.Release()
	ids, _ = replay(t, d)
	assert.Len(t, ids, 2)
}

// Between reading the list and taking the claim another process settles it.
func TestRecordThatWasSettledJustBeforeItWasClaimedIsGone(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	names, err := d.Names()
	require.NoError(t, err)
	h := &hookedFiles{Files: OS{}, beforeLock: func() {
		require.NoError(t, os.Remove(filepath.Join(d.Path(), Name("rsv_1"))))
	}}
	d.files = h
	_, _, err = d.Take(names[0])
	assert.ErrorIs(t, err, ErrGone)
	assert.Empty(t, files(t, d), "the claim is given back")
}

func TestTenThousandRecordsAreListedInOrderAndEachHandedOutOnce(t *testing.T) {
	d := openDir(t, func(c *Config) { c.NoSync = true })
	const n = 10_000
	for i := range n {
		id := fmt.Sprintf("rsv_%05d", i)
		write(t, d, Name(id), encoded(t, record(id)))
	}
	write(t, d, "v2-bad.json", "{")
	ids, errs := replay(t, d)
	assert.Len(t, errs, 1)
	require.Len(t, ids, n)
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	assert.Len(t, seen, n)
}
