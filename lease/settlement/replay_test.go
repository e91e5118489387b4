package settlement_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// The directory is found by the same name as by the SDKs of other languages.
func TestKnownFingerprints(t *testing.T) {
	for _, c := range []struct{ url, key, tenant, want string }{
		{"http://localhost", "test-key", "", "68c905017df7dbfc"},
		{"http://localhost", "test-key", "  ", "68c905017df7dbfc"},
		{"http://localhost", "any", "acme", "8baba538fb970da4"},
		{"http://localhost", "any", " acme ", "44f607a3271b92a5"},
		{"http://localhost:7878", "cyc_live_k", "acme", "4eb53c28893cdf51"},
		{"http://localhost", "k", "テナント", "41031aa679999187"},
		{memoryURL, "any", mockserver.DefaultTenant, fingerprint},
	} {
		t.Setenv("CYCLES_BASE_URL", c.url)
		t.Setenv("CYCLES_API_KEY", c.key)
		t.Setenv("CYCLES_TENANT", c.tenant)
		base := t.TempDir()
		t.Setenv("CYCLES_JOURNAL_DIR", base)
		fromEnv, err := client.FromEnv()
		require.NoError(t, err)
		s, err := settlement.New(fromEnv, settlement.WithoutBackground())
		require.NoError(t, err)
		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(base, c.want), status.Dir)
		stop(t, s)
	}
}

// The bodies of a record reach the server with the meaning they were written
// with, whichever SDK wrote them.
func TestRecordsOfOtherSDKsAreSettled(t *testing.T) {
	body := map[string]string{
		"TypeScript, commit": `{"idempotency_key":"key-é","actual":{"unit":"USD_MICROCENTS","amount":42},"metadata":{"name":"Zoë <b>","big":9007199254740993,"ratio":1.50}}`,
		"Python, commit":     `{"idempotency_key": "key-\u00e9", "actual": {"unit": "USD_MICROCENTS", "amount": 42}, "metadata": {"name": "Zo\u00eb <b>", "big": 9007199254740993, "ratio": 1.5}}`,
		"TypeScript, event":  `{"idempotency_key":"key-é","subject":{"tenant":"demo"},"action":{"kind":"k","name":"🚀"},"actual":{"unit":"USD_MICROCENTS","amount":42}}`,
		"Python, event":      `{"idempotency_key": "key-\u00e9", "subject": {"tenant": "demo"}, "action": {"kind": "k", "name": "\ud83d\ude80"}, "actual": {"unit": "USD_MICROCENTS", "amount": 42}}`,
	}
	for name, own := range body {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				id := w.reserve(42).ReservationID
				sdk, mode, _ := strings.Cut(name, ", ")
				commit, event, path := own, body[sdk+", event"], "/commit"
				if mode == "event" {
					// As the record of an expired first attempt is written.
					commit, event, path = "null", own, "/v1/events"
				}
				format := `{"version":1,"reservation_id":"%s","base_url":"%s","mode":"%s","commit_body":%s,"event_fallback_body":%s,"recorded_at_ms":%d,"not_before_ms":null}`
				if sdk == "Python" {
					format = strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(format)
				}
				w.leave(journal.Name(id), fmt.Sprintf(format, id, memoryURL, mode, commit, event, time.Now().UnixMilli()))
				var n notes
				w.settler(n.option())
				time.Sleep(time.Second)
				sent := w.wire.bodies(path)
				require.Len(t, sent, 1)
				sameJSON(t, []byte(own), []byte(sent[0]))
				assert.EqualValues(t, 42, w.spent())
				assert.Empty(t, w.files())
				require.Len(t, n.results(), 1)
				assert.Equal(t, id, n.results()[0].ReservationID)
				assert.Equal(t, "key-é", n.results()[0].IdempotencyKey)
				assert.True(t, n.results()[0].Settled())
			})
		})
	}
}

func TestJournalOfATenantSurvivesKeyRotationAndStoresNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, w.srv.AddKey(mockserver.DefaultTenant, "cyc_live_new"))
		spend := w.reserve(42)
		w.wire.set(down)
		before := w.settler()
		w.unsettled(before, spend)
		stop(t, before)
		for name := range w.files() {
			assert.Equal(t, ".json", name)
		}
		content, err := os.ReadFile(filepath.Join(w.dir(), journal.Name(spend.ReservationID)))
		require.NoError(t, err)
		assert.NotContains(t, string(content), mockserver.DefaultAPIKey)

		w.wire.set(nil)
		require.NoError(t, w.srv.RevokeKey(mockserver.DefaultAPIKey))
		w.settlerOf(w.client(client.WithAPIKey("cyc_live_new")))
		time.Sleep(time.Second)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())
	})
}

func TestJournalsOfOtherIdentitiesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(down)
		s := w.settler()
		w.unsettled(s, spend)
		stop(t, s)
		w.wire.set(nil)
		// Without a tenant the key is the identity.
		blank := " "
		w.settlerOf(w.client(client.WithSubject(gen.Subject{Tenant: &blank})))
		time.Sleep(time.Hour)
		assert.Zero(t, w.spent())
		assert.Equal(t, map[string]int{".json": 1}, w.files())
	})
}

func TestBadRecordsAreQuarantinedAndReportedWhileTheOthersAreSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		good := w.record(w.reserve(42), "key", "commit", time.Now())
		w.leave("b.json", good)
		w.leave("a.json", "{")
		w.leave("c.json", strings.Replace(good, `"version":1`, `"version":2`, 1))
		w.leave("d.json", strings.Replace(good, `"mode":"commit"`, `"mode":null`, 1))
		w.leave("e.json", "")
		w.leave("f.json", strings.Replace(good, memoryURL, memoryURL+"/other", 1))
		require.NoError(t, os.Mkdir(filepath.Join(w.dir(), "g.json"), 0o700))
		logged := &logBuffer{}
		s := w.settler(settlement.WithLogger(logged.logger()))
		time.Sleep(3 * time.Hour)
		assert.EqualValues(t, 42, w.spent())

		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, settlement.Status{Dir: w.dir(), Quarantined: 4, Foreign: 1, Unreadable: 1}, status)
		for _, name := range []string{"a.corrupt", "c.corrupt", "d.corrupt", "e.corrupt", "g.json"} {
			assert.Equal(t, 1, strings.Count(logged.String(), filepath.Join(w.dir(), name)), "%s is reported once", name)
		}
		assert.NoError(t, w.flush(s, time.Second), "what cannot be settled is not waited for")
	})
}

func TestLegacyRecordIsSettledOnceAndItsFileGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		record := w.record(spend, "key", "commit", time.Now())
		w.leave(journal.Name(spend.ReservationID), record)
		w.leave(spend.ReservationID+".json", record)
		w.settler()
		time.Sleep(time.Second)
		assert.Len(t, w.wire.times(), 1)
		assert.EqualValues(t, 42, w.spent())
		assert.Empty(t, w.files())
	})
}

func TestTwoSettlersOnOneJournalSettleEachRecordOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const n = 50
		for i := range n {
			w.leave(fmt.Sprintf("%d.json", i), w.record(w.reserve(1), fmt.Sprint("key", i), "commit", time.Now()))
		}
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 100 * time.Millisecond, Count: -1})
		for range 3 {
			w.settler(settlement.WithRescan(time.Second))
		}
		time.Sleep(time.Minute)
		assert.Len(t, w.requests(mockserver.CommitReservation), n)
		assert.EqualValues(t, n, w.spent())
		assert.Empty(t, w.files())
	})
}

// While one sweeps, the other does not: else many processes would send all that
// is pending as many times.
func TestOutageIsNotMultipliedByTheNumberOfProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 20 {
			w.leave(fmt.Sprintf("%d.json", i), w.record(w.reserve(1), fmt.Sprint("key", i), "commit", time.Now()))
		}
		w.wire.set(func(r *http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return nil, errDown
		})
		for range 5 {
			w.settler(settlement.WithRescan(time.Hour))
		}
		time.Sleep(3 * time.Second)
		assert.LessOrEqual(t, len(w.wire.times()), 20+16)
	})
}

// With refused credentials every record would be refused; asking once is enough.
func TestSweepEndsWhenTheCredentialsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const n = 200
		for i := range n {
			w.leave(fmt.Sprintf("%d.json", i), w.record(w.reserve(1), fmt.Sprint("key", i), "commit", time.Now()))
		}
		refuse := always(401, refusal(gen.ErrorCodeUnauthorized))
		w.wire.set(refuse)
		s := w.settler(settlement.WithRescan(time.Hour))
		time.Sleep(500 * time.Millisecond)
		assert.LessOrEqual(t, len(w.wire.times()), 16)
		status, err := s.Status()
		require.NoError(t, err)
		assert.Equal(t, n, status.Pending)

		w.wire.set(nil)
		require.NoError(t, w.flush(s, time.Minute))
		assert.EqualValues(t, n, w.spent())
	})
}

// A spend that waits for its next attempt is not attempted by the sweep of its
// own process as well.
func TestSweepLeavesTheSpendsOfItsOwnProcessToThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.wire.set(always(429, "", "Retry-After", "1800"))
		w.unsettled(w.settler(settlement.WithRescan(10*time.Second)), spend)
		w.wire.set(nil)
		time.Sleep(29 * time.Minute)
		assert.Len(t, w.wire.times(), 1)
		time.Sleep(2 * time.Minute)
		assert.Len(t, w.wire.times(), 3, "the commit, and the event since it expired")
	})
}

func TestRecordsLeftLaterAreFoundByTheRescan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.settler()
		time.Sleep(time.Hour)
		w.leave("late.json", w.record(w.reserve(42), "key", "commit", time.Now()))
		time.Sleep(settlement.DefaultRescan)
		assert.EqualValues(t, 42, w.spent())
	})
}

// Rejected records of other processes become dead letters too.
func TestReplayedRecordThatIsRejectedIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("left.json", strings.Replace(w.record(w.reserve(42), "key", "commit", time.Now()), "USD_MICROCENTS", "TOKENS", 1))
		var n notes
		w.settler(n.option())
		time.Sleep(time.Second)
		assert.Equal(t, []settlement.Disposition{settlement.Rejected}, n.dispositions())
		assert.ErrorIs(t, n.results()[0].Err, client.ErrUnitMismatch)
		assert.Equal(t, map[string]int{".dead": 1}, w.files())
	})
}

// A record that no request can be made of would be tried for ever.
func TestRecordThatCannotBeSentIsSetAside(t *testing.T) {
	for name, record := range map[string]string{
		"no key":        `{"version":1,"reservation_id":"r","base_url":"` + memoryURL + `","commit_body":{"actual":{"unit":"TOKENS","amount":1}}}`,
		"id is a path":  `{"version":1,"reservation_id":"..","base_url":"` + memoryURL + `","commit_body":{"idempotency_key":"k"}}`,
		"id is endless": `{"version":1,"reservation_id":"` + strings.Repeat("r", 200) + `","base_url":"` + memoryURL + `","commit_body":{"idempotency_key":"k"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.leave("left.json", record)
				w.settler()
				time.Sleep(time.Hour)
				assert.Empty(t, w.wire.times())
				assert.Equal(t, map[string]int{".dead": 1}, w.files())
			})
		})
	}
}

// The fault is the client's and not the record's.
func TestClientWithoutAKeyBuriesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.leave("left.json", w.record(w.reserve(42), "key", "commit", time.Now()))
		tenant := mockserver.DefaultTenant
		c, err := client.New(memoryURL, client.WithSubject(gen.Subject{Tenant: &tenant}), client.WithHTTPClient(&http.Client{Transport: w.wire}))
		require.NoError(t, err)
		w.settlerOf(c)
		time.Sleep(time.Hour)
		assert.Equal(t, map[string]int{".json": 1}, w.files())
	})
}

// Without a known actual there is no record, so nothing is sent: the process
// died while it worked, and the reservation runs out by itself.
func TestWithoutAKnownActualNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		crashed := w.settler(settlement.WithoutBackground())
		w.begin(crashed, spend) // known, but not yet handed over: still nothing
		assert.Empty(t, w.files())
		stop(t, crashed)
		w.settler()
		time.Sleep(time.Hour)
		assert.Empty(t, w.wire.times())
		assert.Zero(t, w.spent())
	})
}
