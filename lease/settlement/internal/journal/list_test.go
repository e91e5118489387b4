package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListSaysWhatEachFileIsAndChangesNothing(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	foreign := record("rsv_2")
	foreign.BaseURL = "http://elsewhere"
	put(t, d, foreign)
	write(t, d, "broken.json", "{")
	write(t, d, "older.corrupt", "{")
	write(t, d, "readme.txt", "not ours")
	write(t, d, "odd.dead", "no record")
	require.NoError(t, os.Mkdir(filepath.Join(d.Path(), "directory.json"), 0o700))
	c := claim(t, d, "rsv_3")
	require.NoError(t, c.Bury(record("rsv_3"), DeadLetter{Reason: "finalized"}))
	c.Release()
	before := files(t, d)

	list, err := d.List()
	require.NoError(t, err)
	states := map[State]int{}
	for _, e := range list {
		states[e.State]++
	}
	assert.Equal(t, map[State]int{Pending: 1, Foreign: 1, Corrupt: 1, Unreadable: 1, Quarantined: 1, Dead: 2}, states)
	for _, e := range list {
		switch e.State {
		case Corrupt, Unreadable:
			assert.Error(t, e.Err, e.Path)
		case Pending:
			assert.Equal(t, record("rsv_1"), e.Record)
		}
	}
	assert.Equal(t, before, files(t, d))
}

func TestInspectLooksAtADirectoryWithoutKnowingItsServer(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	write(t, d, "old.json", `{"version":1,"reservation_id":"rsv_2","commit_body":{}}`)
	list, err := Inspect(d.Path())
	require.NoError(t, err)
	states := map[string]State{}
	for _, e := range list {
		states[e.Record.ReservationID] = e.State
	}
	assert.Equal(t, map[string]State{"rsv_1": Pending, "rsv_2": Foreign}, states, "without a server it is nobody's")

	_, err = Inspect(filepath.Join(t.TempDir(), "missing"))
	assert.True(t, errors.Is(err, os.ErrNotExist))
}

func TestIdentitiesAreTheDirectoriesNamedByAFingerprint(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"68c905017df7dbfc", "8baba538fb970da4", "8BABA538FB970DA4", "notes", "68c905017df7dbf"} {
		require.NoError(t, os.Mkdir(filepath.Join(base, name), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(base, "44f607a3271b92a5"), nil, 0o600))
	paths, err := Identities(base)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(base, "68c905017df7dbfc"), filepath.Join(base, "8baba538fb970da4")}, paths)
}
