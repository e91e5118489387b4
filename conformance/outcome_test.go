package conformance

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// unknown is the check of an extend that names no reservation.
func unknown(ctx context.Context, t *suite.T) {
	a := t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1000))
	t.WantError(a, http.StatusNotFound, "NOT_FOUND")
}

func TestServerThatAnswersAsRequiredPasses(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{}, check("extend.unknown", unknown))
	res := only(t, rep)
	assert.Equal(t, report.Passed, res.Outcome)
	assert.Empty(t, res.Exchanges, "a pass needs no evidence")
	assert.Equal(t, report.Conformant, rep.Verdict)
	assert.Equal(t, report.Counts{Pass: 1}, rep.Counts)
	assert.Equal(t, 2, rep.Requests, "the first knock and the check")
}

func answering(status int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.URL.Path == "/v1/reservations" {
			return false
		}
		say(w, status, body)
		return true
	}
}

func TestBrokenMustFailsAndNamesWhatCameInstead(t *testing.T) {
	for name, body := range map[string]string{
		"another status": `{"error":"NOT_FOUND","message":"gone","request_id":"r"}`,
		"another code":   `{"error":"INVALID_REQUEST","message":"gone","request_id":"r"}`,
	} {
		t.Run(name, func(t *testing.T) {
			status := http.StatusNotFound
			if name == "another status" {
				status = http.StatusGone
			}
			rep := judge(t, acme(&little{answer: answering(status, body)}), Options{}, check("extend.unknown", unknown))
			res := only(t, rep)
			assert.Equal(t, report.Failed, res.Outcome)
			assert.Equal(t, "404 NOT_FOUND", res.Expected)
			assert.Contains(t, res.Got, "gone")
			require.NotNil(t, res.Decisive)
			assert.Equal(t, status, res.Exchanges[*res.Decisive].Status)
			assert.Equal(t, report.NotConformant, rep.Verdict)
		})
	}
}

func TestBrokenShouldWarnsAndIsConformantBesideAPass(t *testing.T) {
	should := func(c *suite.Check) { c.Level = suite.Should }
	rep := judge(t, acme(&little{answer: answering(410, `{}`)}), Options{},
		check("extend.unknown", unknown, should), check("extend.other", passing))
	assert.Equal(t, report.Warned, result(t, rep, "extend.unknown").Outcome)
	assert.Equal(t, report.Conformant, rep.Verdict)
}

func TestWarningKeepsAMustFromPassingButNotFromFailing(t *testing.T) {
	warn := func(ctx context.Context, t *suite.T) *suite.Answer {
		a := t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1000))
		t.WarnAt(a, "something nicer", "this")
		return a
	}
	rep := judge(t, acme(&little{}), Options{},
		check("a.warns", func(ctx context.Context, t *suite.T) { warn(ctx, t) }),
		check("a.warns-and-fails", func(ctx context.Context, t *suite.T) { t.WantStatus(warn(ctx, t), 200) }))
	assert.Equal(t, report.Warned, result(t, rep, "a.warns").Outcome)
	assert.Equal(t, "this", result(t, rep, "a.warns").Got)
	assert.Equal(t, report.Failed, result(t, rep, "a.warns-and-fails").Outcome)
}

func TestHarnessTroubleIsAnErrorAndNeitherPassNorFail(t *testing.T) {
	hangUp := &little{answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/reservations" {
			panic(http.ErrAbortHandler)
		}
		return false
	}}
	for name, c := range map[string]struct {
		server *little
		run    func(context.Context, *suite.T)
		reason string
	}{
		"connection breaks": {hangUp, unknown, "gave up without an answer"},
		"ground cannot be laid": {&little{}, func(ctx context.Context, t *suite.T) {
			t.Given(t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1)), 200)
		}, "no ground for the check: it needs a 200"},
		"check panics":               {&little{}, func(context.Context, *suite.T) { panic("oops") }, "the check itself is broken: oops"},
		"check uses another fixture": {&little{}, func(_ context.Context, t *suite.T) { t.Budget(target.Frozen) }, "without needing it"},
		"check uses another operation": {&little{}, func(ctx context.Context, t *suite.T) {
			t.Do(ctx, t.Decide(t.Budget(target.Funded), 1))
		}, "without declaring it"},
		"check waits unannounced": {&little{}, func(ctx context.Context, t *suite.T) { t.Wait(ctx, time.Hour) }, "waits without saying so"},
	} {
		t.Run(name, func(t *testing.T) {
			rep := judge(t, acme(c.server), Options{}, check("a.b", c.run))
			res := only(t, rep)
			assert.Equal(t, report.Errored, res.Outcome)
			assert.Contains(t, res.Reason, c.reason)
			assert.Equal(t, report.Undecided, rep.Verdict)
			assert.Equal(t, report.Counts{Error: 1}, rep.Counts)
		})
	}
}

func TestSkippedRunIsNotConformant(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{}, check("a.b", func(_ context.Context, t *suite.T) { t.Skip("not %s", "here") }))
	res := only(t, rep)
	assert.Equal(t, report.Skipped, res.Outcome)
	assert.Equal(t, "not here", res.Reason)
	assert.Equal(t, report.Undecided, rep.Verdict)
}

func TestFailureInsideTogetherEndsTheCheck(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		t.Together(4, func(i int) {
			a := t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1000))
			if i == 2 {
				t.WantStatus(a, 200)
			}
		})
		t.Skip("it went on")
	}))
	res := only(t, rep)
	assert.Equal(t, report.Failed, res.Outcome)
	assert.Len(t, res.Exchanges, 4, "the others came to their end")
}

func TestWaitingInsideTogetherIsAFaultOfTheCheck(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{}, check("a.b", func(ctx context.Context, t *suite.T) {
		t.Together(2, func(int) { t.Wait(ctx, time.Hour) })
	}, waits))
	assert.Contains(t, only(t, rep).Reason, "waits inside Together")
}

func TestServerThatNeverAnswersACheckIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := &little{answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/reservations" {
				return false
			}
			<-r.Context().Done()
			return true
		}}
		rep := judge(t, acme(hangs), Options{RequestTimeout: 3 * time.Second}, check("a.b", unknown))
		assert.Equal(t, "no complete answer within 3s", only(t, rep).Reason)
		assert.InDelta(t, 3, rep.Seconds, 0.001)
	})
}

func TestCheckThatComesToNoEndIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &little{}
		rep := judge(t, acme(server), Options{CheckTimeout: time.Minute}, check("a.b", func(ctx context.Context, t *suite.T) {
			t.Reserve(ctx, t.Budget(target.Funded), 1)
			t.Wait(ctx, time.Hour)
		}, waits))
		assert.Contains(t, only(t, rep).Reason, "the check came to no end within 1m0s")
		assert.Empty(t, server.open(), "it cleaned up all the same")
		assert.InDelta(t, 60, rep.Seconds, 0.001)
	})
}
