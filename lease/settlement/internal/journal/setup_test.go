package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testURL         = "http://localhost:7878"
	testFingerprint = "4eb53c28893cdf51"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(children[role](os.Args[1:]))
	}
	os.Exit(m.Run())
}

// childRole makes the test binary act as another process; see children_test.go.
const childRole = "CYCLES_JOURNAL_TEST_CHILD"

func openDir(t testing.TB, change ...func(*Config)) *Dir {
	t.Helper()
	c := Config{Base: t.TempDir(), Fingerprint: testFingerprint, BaseURL: testURL}
	for _, f := range change {
		f(&c)
	}
	d, err := Open(c)
	require.NoError(t, err)
	return d
}

func record(id string) Record {
	return Record{
		ReservationID: id, BaseURL: testURL, Mode: Commit,
		CommitBody:   json.RawMessage(fmt.Sprintf(`{"idempotency_key":"key of %s"}`, id)),
		EventBody:    json.RawMessage(fmt.Sprintf(`{"idempotency_key":"key of %s","subject":{"tenant":"acme"}}`, id)),
		RecordedAtMs: 1700000000000,
	}
}

// put writes a record as a process does that claims, writes and lets go.
func put(t testing.TB, d *Dir, r Record) {
	t.Helper()
	c := claim(t, d, r.ReservationID)
	require.NoError(t, c.Put(r))
	c.Release()
}

func claim(t testing.TB, d *Dir, id string) *Claim {
	t.Helper()
	c, err := d.Claim(id)
	require.NoError(t, err)
	require.NoError(t, c.Unsecured())
	return c
}

// write lays a file down as another SDK, or an accident, would.
func write(t testing.TB, d *Dir, name, content string) string {
	t.Helper()
	path := filepath.Join(d.Path(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func encoded(t testing.TB, r Record) string {
	t.Helper()
	data, err := encode(r, nil)
	require.NoError(t, err)
	return string(data)
}

// files lists what lies in the directory.
func files(t testing.TB, d *Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(d.Path())
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// replay takes every record there is and lets go of it again. It returns the
// reservation ids in the order they came and the errors by file name.
func replay(t testing.TB, d *Dir) (ids []string, errs map[string]error) {
	t.Helper()
	names, err := d.Names()
	require.NoError(t, err)
	require.True(t, slices.IsSorted(names))
	errs = map[string]error{}
	for _, name := range names {
		c, rec, err := d.Take(name)
		if err != nil {
			errs[name] = err
			continue
		}
		ids = append(ids, rec.ReservationID)
		c.Release()
	}
	return ids, errs
}

func at(now time.Time) func(*Config) {
	return func(c *Config) { c.Now = func() time.Time { return now } }
}
