package journal

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecordGoesFromWrittenToRewrittenToGone(t *testing.T) {
	d := openDir(t)
	c := claim(t, d, "rsv_1")
	_, err := c.Load()
	require.ErrorIs(t, err, ErrGone)

	rec := record("rsv_1")
	require.NoError(t, c.Put(rec))
	got, err := c.Load()
	require.NoError(t, err)
	assert.Equal(t, rec, got)

	floor := int64(1700000005000)
	rec.Mode, rec.NotBeforeMs = Event, &floor
	require.NoError(t, c.Rewrite(rec))
	got, err = c.Load()
	require.NoError(t, err)
	assert.Equal(t, rec, got)

	require.NoError(t, c.Discard())
	require.NoError(t, c.Discard(), "already gone is as good")
	c.Release()
	assert.Empty(t, files(t, d), "neither record nor claim is left")
}

func TestRewriteDoesNotBringASettledRecordBack(t *testing.T) {
	d := openDir(t)
	c := claim(t, d, "rsv_1")
	defer c.Release()
	require.NoError(t, c.Put(record("rsv_1")))
	// Another SDK, which knows no claims, settles it.
	require.NoError(t, os.Remove(filepath.Join(d.Path(), Name("rsv_1"))))
	assert.ErrorIs(t, c.Rewrite(record("rsv_1")), ErrGone)
	assert.NotContains(t, files(t, d), Name("rsv_1"))
}

func TestDiscardRemovesALegacyFileOnlyOfTheSameReservation(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv/a"))
	// rsv/a and rsv_a share this legacy name.
	write(t, d, "rsv_a.json", encoded(t, record("rsv_a")))
	c := claim(t, d, "rsv/a")
	require.NoError(t, c.Discard())
	c.Release()
	assert.Equal(t, []string{"rsv_a.json"}, files(t, d), "the other reservation's spend")

	write(t, d, "rsv_b.json", "no record")
	c = claim(t, d, "rsv/b")
	require.NoError(t, c.Discard())
	c.Release()
	assert.Contains(t, files(t, d), "rsv_b.json", "nobody knows whose it is")

	put(t, d, record("r🚀"))
	write(t, d, "r_.json", encoded(t, record("r🚀")))
	write(t, d, "r__.json", encoded(t, record("r🚀")))
	c = claim(t, d, "r🚀")
	require.NoError(t, c.Discard())
	c.Release()
	assert.Equal(t, []string{"rsv_a.json", "rsv_b.json"}, files(t, d))
}

func TestDeadLetterKeepsTheRecordWhereNoSDKReplaysIt(t *testing.T) {
	now := time.UnixMilli(1700000009000)
	d := openDir(t, at(now))
	c := claim(t, d, "rsv_1")
	require.NoError(t, c.Put(record("rsv_1")))
	require.NoError(t, c.Bury(record("rsv_1"), DeadLetter{Reason: "rejected", Detail: "unit", Status: 400, Code: "UNIT_MISMATCH"}))
	c.Release()

	name := strings.TrimSuffix(Name("rsv_1"), ".json") + ".dead"
	assert.Equal(t, []string{name}, files(t, d))
	list, err := d.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, Dead, list[0].State)
	assert.Equal(t, record("rsv_1"), list[0].Record)
	assert.Equal(t, &DeadLetter{Reason: "rejected", Detail: "unit", Status: 400, Code: "UNIT_MISMATCH", AtMs: 1700000009000}, list[0].Dead)

	// An operator who mended the cause renames it back.
	require.NoError(t, os.Rename(filepath.Join(d.Path(), name), filepath.Join(d.Path(), Name("rsv_1"))))
	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_1"}, ids)
	assert.Empty(t, errs)
}

func TestClaimExcludesASecondOneUntilReleased(t *testing.T) {
	d := openDir(t)
	same, err := Open(Config{Base: filepath.Dir(d.Path()), Fingerprint: testFingerprint, BaseURL: testURL})
	require.NoError(t, err)
	c := claim(t, d, "rsv_1")
	_, err = same.Claim("rsv_1")
	require.ErrorIs(t, err, ErrClaimed)
	other := claim(t, same, "rsv_2")
	other.Release()
	c.Release()
	c.Release()
	again := claim(t, same, "rsv_1")
	again.Release()
	assert.Empty(t, files(t, d))
}

// Removing the claim's file on release must not let two holders in, one on the
// removed file and one on its successor.
func TestClaimIsHeldByOneOfManyAtAnyTime(t *testing.T) {
	d := openDir(t)
	var holders, granted atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				c, err := d.Claim("rsv_1")
				if err != nil {
					continue
				}
				granted.Add(1)
				assert.EqualValues(t, 1, holders.Add(1))
				holders.Add(-1)
				c.Release()
			}
		})
	}
	wg.Wait()
	assert.Positive(t, granted.Load())
	assert.Empty(t, files(t, d))
}

func TestOneSweepAtATime(t *testing.T) {
	d := openDir(t)
	s, err := d.Sweep()
	require.NoError(t, err)
	_, err = d.Sweep()
	require.ErrorIs(t, err, ErrClaimed)
	s.Close()
	s, err = d.Sweep()
	require.NoError(t, err)
	s.Close()
}

func TestFrozenSweepDoesNotHoldUpTheOthers(t *testing.T) {
	now := time.Now()
	d := openDir(t, func(c *Config) { c.Now = func() time.Time { return now } })
	frozen, err := d.Sweep()
	require.NoError(t, err)
	defer frozen.Close()

	now = now.Add(9 * time.Minute)
	frozen.Touch()
	now = now.Add(9 * time.Minute)
	_, err = d.Sweep()
	require.ErrorIs(t, err, ErrClaimed, "it showed a sign of life")
	now = now.Add(2 * time.Minute)
	s, err := d.Sweep()
	require.NoError(t, err)
	s.Close()
	_, err = os.Lstat(filepath.Join(d.Path(), "sweep.claim"))
	assert.NoError(t, err, "the frozen one's claim is not removed under it")
}
