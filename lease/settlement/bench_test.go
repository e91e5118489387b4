package settlement_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// What the journal costs a commit: the same commit, answered in memory, without
// one, with one that survives a crash, and with one that survives a loss of
// power. Compare the three.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []settlement.Option
	}{
		{"unjournaled", []settlement.Option{settlement.WithoutJournal()}},
		{"journaled, no fsync", nil},
		{"journaled, with fsync", []settlement.Option{settlement.WithSync()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b)
			w.wire.set(func(r *http.Request) (*http.Response, error) {
				return answer(r, 200, `{"status":"COMMITTED","charged":{"unit":"USD_MICROCENTS","amount":42}}`), nil
			})
			s := w.settler(append(c.opts, settlement.WithoutBackground())...)
			spend := w.reserve(42)
			b.ReportAllocs()
			for b.Loop() {
				x, err := s.Begin(spend)
				if err == nil {
					_, err = x.Settle(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A process finds 10,000 records of its predecessors and settles them against
// the mock over loopback. The bar is 20 s.
func BenchmarkReplayOf10000Records(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		srv := mockserver.Start(b, mockserver.WithJournalSize(0))
		c, err := crashClient(srv.URL(), http.DefaultTransport)
		require.NoError(b, err)
		base := b.TempDir()
		dir := filepath.Join(base, c.JournalIdentity().Fingerprint())
		require.NoError(b, os.MkdirAll(dir, 0o700))
		w := &world{t: b, srv: srv}
		for i := range n {
			spend := w.reserve(1)
			record := w.recordFor(srv.URL(), spend, fmt.Sprint("key", i), "commit", time.Now())
			require.NoError(b, os.WriteFile(filepath.Join(dir, journal.Name(spend.ReservationID)), []byte(record), 0o600))
		}
		b.StartTimer()
		s, err := settlement.New(c, settlement.WithJournal(base))
		require.NoError(b, err)
		require.NoError(b, s.Flush(context.Background()))
		b.StopTimer()
		require.NoError(b, s.Close(context.Background()))
		require.EqualValues(b, n, w.spent())
		srv.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
