package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func reserve(ctx context.Context, t *suite.T) *suite.Reservation {
	return t.Reserve(ctx, t.Budget(target.Funded), 1)
}

func TestReservationsLeftOpenAreReleasedHoweverTheCheckEnds(t *testing.T) {
	for name, run := range map[string]func(context.Context, *suite.T){
		"passes":  func(ctx context.Context, t *suite.T) { reserve(ctx, t) },
		"fails":   func(ctx context.Context, t *suite.T) { reserve(ctx, t); t.Fail("a", "b") },
		"panics":  func(ctx context.Context, t *suite.T) { reserve(ctx, t); panic("oops") },
		"skips":   func(ctx context.Context, t *suite.T) { reserve(ctx, t); t.Skip("no") },
		"by hand": func(ctx context.Context, t *suite.T) { t.Do(ctx, t.Create(t.Budget(target.Funded), 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			server := &little{}
			judge(t, acme(server), Options{}, check("a.b", run))
			assert.Len(t, server.made, 1)
			assert.Empty(t, server.open())
		})
	}
}

func TestSettledReservationIsNotReleasedAgain(t *testing.T) {
	server := &little{}
	judge(t, acme(server), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		t.Do(ctx, t.Commit(reserve(ctx, t), 1))
	}))
	assert.Len(t, server.made, 1)
	assert.Empty(t, server.released)
}

func TestInterruptedRunCleansUpAndReportsWhatItHas(t *testing.T) {
	server := &little{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	rep, err := run(ctx, []suite.Check{
		check("a.first", func(ctx context.Context, t *suite.T) {
			reserve(ctx, t)
			cancel(cause)
			t.Wait(ctx, time.Hour)
		}, waits),
		check("a.second", unknown),
	}, acme(server), Options{Parallel: 1})
	require.ErrorIs(t, err, cause)
	assert.True(t, rep.Interrupted)
	assert.Equal(t, report.Errored, result(t, rep, "a.first").Outcome)
	assert.NotEqual(t, report.Passed, result(t, rep, "a.second").Outcome)
	assert.Equal(t, report.Undecided, rep.Verdict)
	assert.Empty(t, server.open())
}

func TestCleanupOfAServerThatHangsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &little{answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/release") {
				return false
			}
			<-r.Context().Done()
			return true
		}}
		rep := judge(t, acme(server), Options{RequestTimeout: time.Hour}, check("a.b", func(ctx context.Context, t *suite.T) {
			reserve(ctx, t)
			reserve(ctx, t)
		}))
		assert.Equal(t, report.Passed, only(t, rep).Outcome)
		assert.InDelta(t, cleanupTimeout.Seconds(), rep.Seconds, 0.001)
	})
}

func TestSubjectsAndKeysAreUniqueAcrossChecksAndRuns(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]int)
	note := func(_ context.Context, t *suite.T) {
		for range 3 {
			r := t.Create(t.Budget(target.Funded), 1)
			agent, _ := suite.Lookup(any(r.Body), "subject.agent")
			mu.Lock()
			seen[r.Key()]++
			seen[agent.(string)]++
			mu.Unlock()
		}
	}
	for range 2 {
		judge(t, acme(&little{}), Options{}, check("a.b", note), check("a.c", note), check("a.d", note, waits))
	}
	assert.Len(t, seen, 2*3*3*2)
	for name, n := range seen {
		assert.Equal(t, 1, n)
		assert.LessOrEqual(t, len(name), 40)
		assert.Regexp(t, `^[a-z0-9-]+$`, name)
	}
}

func TestNoMoreChecksWorkAtATimeThanParallelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var working, most atomic.Int32
		server := &little{answer: func(_ http.ResponseWriter, r *http.Request) bool {
			n := working.Add(1)
			defer working.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return false
		}}
		var checks []suite.Check
		for i := range 10 {
			checks = append(checks, check(fmt.Sprintf("a.c%d", i), unknown))
		}
		rep := judge(t, acme(server), Options{Parallel: 3}, checks...)
		assert.Equal(t, int32(3), most.Load())
		assert.Equal(t, 10, rep.Counts.Pass)
		assert.InDelta(t, 1+4, rep.Seconds, 0.001, "the knock, and ten checks in rounds of three")
	})
}

func TestWaitingOverlapsAndTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks []suite.Check
		for i := range 20 {
			checks = append(checks, check(fmt.Sprintf("a.w%d", i), func(ctx context.Context, t *suite.T) {
				t.Wait(ctx, 10*time.Second)
				unknown(ctx, t)
			}, waits))
		}
		rep := judge(t, acme(&little{}), Options{Parallel: 1}, checks...)
		assert.Equal(t, 20, rep.Counts.Pass)
		assert.InDelta(t, 10, rep.Seconds, 0.001)
	})
}

func TestRateSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := judge(t, acme(&little{}), Options{Rate: 2}, check("a.b", func(ctx context.Context, t *suite.T) {
			for range 4 {
				unknown(ctx, t)
			}
		}))
		assert.Equal(t, 5, rep.Requests)
		assert.InDelta(t, 2, rep.Seconds, 0.001, "five requests have four gaps of half a second")
	})
}

func TestUnexpectedThrottlingIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused int
		server := &little{answer: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/extend") || refused == 2 {
				return false
			}
			refused++
			w.Header().Set("Retry-After", "7")
			refuse(w, http.StatusTooManyRequests, "LIMIT_EXCEEDED")
			return true
		}}
		rep := judge(t, acme(server), Options{}, check("a.b", unknown))
		assert.Equal(t, report.Passed, only(t, rep).Outcome)
		assert.InDelta(t, 14, rep.Seconds, 0.001)
	})
}

func TestThrottlingWithoutEndIsAnErrorWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &little{answer: func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/extend") {
				refuse(w, http.StatusTooManyRequests, "LIMIT_EXCEEDED")
			}
			return strings.HasSuffix(r.URL.Path, "/extend")
		}}
		rep := judge(t, acme(server), Options{ThrottleBound: 10 * time.Second}, check("a.b", unknown))
		assert.Equal(t, report.Errored, only(t, rep).Outcome)
		assert.Contains(t, only(t, rep).Reason, "throttles")
		assert.InDelta(t, 10, rep.Seconds, 0.001)
	})
}

func TestExpectedThrottlingIsAnAnswer(t *testing.T) {
	server := &little{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/extend") {
			refuse(w, http.StatusTooManyRequests, "LIMIT_EXCEEDED")
		}
		return strings.HasSuffix(r.URL.Path, "/extend")
	}}
	rep := judge(t, acme(server), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		a := t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1).Throttle())
		t.WantError(a, http.StatusTooManyRequests, "LIMIT_EXCEEDED")
	}))
	assert.Equal(t, report.Passed, only(t, rep).Outcome)
}

func TestProgressCountsEveryReportedCheckOnce(t *testing.T) {
	var told []Progress
	judge(t, acme(&little{}), Options{Profile: Core, Progress: func(p Progress) { told = append(told, p) }},
		check("a.b", unknown), check("a.c", unknown, needs(target.Frozen)),
		suite.Check{ID: "a.watch", Level: suite.Must, Section: "TEST", Requirement: "Nothing.", Watch: func(*suite.Answer) (bool, []suite.Wrong) { return true, nil }})
	require.Len(t, told, 3)
	for i, p := range told {
		assert.Equal(t, i+1, p.Done)
		assert.Equal(t, 3, p.Total)
	}
}

func TestRedirectIsAnAnswerAndNotFollowed(t *testing.T) {
	var elsewhere bool
	server := &little{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/elsewhere" {
			elsewhere = true
		}
		if strings.HasSuffix(r.URL.Path, "/extend") {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return true
		}
		return false
	}}
	rep := judge(t, acme(server), Options{}, check("a.b", unknown))
	assert.Equal(t, report.Failed, only(t, rep).Outcome)
	assert.Contains(t, only(t, rep).Got, "302")
	assert.False(t, elsewhere)
}
