package conformance_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/internal/mocktarget"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func run(t testing.TB, tgt conformance.Target, o conformance.Options) *conformance.Report {
	t.Helper()
	rep, err := conformance.Run(t.Context(), tgt, o)
	require.NoError(t, err)
	return rep
}

// clean wants nothing but passes and skips.
func clean(t testing.TB, rep *conformance.Report) {
	t.Helper()
	for _, res := range rep.With(report.Failed, report.Errored, report.Warned) {
		t.Errorf("%s: %s: expected %s, got %s%s", res.ID, res.Outcome, res.Expected, res.Got, res.Reason)
	}
	assert.Equal(t, report.Conformant, rep.Verdict)
}

func outcomes(rep *conformance.Report) map[string]report.Outcome {
	m := make(map[string]report.Outcome)
	for _, res := range rep.Results {
		m[res.ID] = res.Outcome
	}
	return m
}

func TestMockPassesEveryMustOfProfileFull(t *testing.T) {
	rep := run(t, mocktarget.New(mocktarget.Options{Virtual: true}), conformance.Options{Profile: conformance.Full})
	clean(t, rep)
	for _, res := range rep.With(report.Skipped) {
		assert.NotEqual(t, report.Must, res.Level, "%s: %s", res.ID, res.Reason)
	}
}

func TestMockOfTheOldEditionPassesAsLegacy(t *testing.T) {
	clean(t, run(t, mocktarget.New(mocktarget.Options{Virtual: true, Legacy: true, Unsigned: true}), conformance.Options{Legacy: true}))
}

func TestMockOfTheOldEditionIsWarnedAboutTheTimeLeft(t *testing.T) {
	rep := run(t, mocktarget.New(mocktarget.Options{Virtual: true, Legacy: true, Unsigned: true}), conformance.Options{Run: []string{"remaining.*"}})
	assert.Positive(t, rep.Counts.Warn)
	assert.Zero(t, rep.Counts.Fail)
}

// coreOnly serves create, commit, release and extend and nothing else.
func coreOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
		if r.Method != http.MethodPost || part[0] != "reservations" {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestServerOfTheFourCoreOperationsPassesProfileCore(t *testing.T) {
	tgt := mocktarget.New(mocktarget.Options{Virtual: true, Unsigned: true})
	tgt.Handler = coreOnly(tgt.Handler)
	rep := run(t, tgt, conformance.Options{Profile: conformance.Core})
	for _, res := range rep.With(report.Failed, report.Errored) {
		t.Errorf("%s: %s: expected %s, got %s%s", res.ID, res.Outcome, res.Expected, res.Got, res.Reason)
	}
	assert.Equal(t, report.Conformant, rep.Verdict)
	assert.Greater(t, rep.Counts.Pass, 100)
}

// bare takes everything away but the keys and one funded budget of each tenant.
type bare struct{ target.Provisioner }

func (b bare) Provision(ctx context.Context, want target.Wanted) (*target.Provisioned, error) {
	var funded []target.Want
	for _, w := range want.Fixtures {
		if w.Kind == target.Funded || w.Kind == target.FundedB {
			funded = append(funded, w)
		}
	}
	want.Fixtures = funded
	made, err := b.Provisioner.Provision(ctx, want)
	if err == nil {
		made.AdminKey = ""
	}
	return made, err
}

func TestTwoKeysAndOneFundedBudgetEachAreEnough(t *testing.T) {
	tgt := mocktarget.New(mocktarget.Options{Virtual: true, Unsigned: true})
	tgt.Provisioner, tgt.AdminKey = bare{tgt.Provisioner}, ""
	rep := run(t, tgt, conformance.Options{})
	clean(t, rep)
	assert.Greater(t, rep.Counts.Pass, 200)
	for _, res := range rep.With(report.Skipped) {
		assert.NotEmpty(t, res.Reason, res.ID)
	}
}

// repeats is how often a run is repeated; the soak does more.
func repeats() int {
	if os.Getenv("CYCLES_SOAK") != "" {
		return 20
	}
	return 2
}

func TestSoakMockPassesEveryMustOfProfileRuntimeEveryTime(t *testing.T) {
	tgt := mocktarget.New(mocktarget.Options{Virtual: true})
	first := run(t, tgt, conformance.Options{})
	clean(t, first)
	for _, res := range first.With(report.Skipped) {
		if res.Level == report.Must {
			assert.Contains(t, res.Reason, "is not in profile runtime", res.ID)
		}
	}
	for range repeats() - 1 {
		assert.Equal(t, outcomes(first), outcomes(run(t, tgt, conformance.Options{})))
	}
}

func TestTwoRunsAtATimeOnOneServerInRealTime(t *testing.T) {
	tgt := mocktarget.New(mocktarget.Options{Unsigned: true})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			rep, err := conformance.Run(t.Context(), tgt, conformance.Options{})
			if assert.NoError(t, err) {
				clean(t, rep)
			}
		})
	}
	wg.Wait()
}

func TestEveryReportedCheckBecomesASubtest(t *testing.T) {
	conformance.Test(t, mocktarget.New(mocktarget.Options{Virtual: true}), conformance.Options{Run: []string{"extend.*", "contract.extendReservation"}})
}

func BenchmarkWholeRunOnVirtualTime(b *testing.B) {
	for b.Loop() {
		clean(b, run(b, mocktarget.New(mocktarget.Options{Virtual: true}), conformance.Options{}))
	}
}

func BenchmarkWholeRunOnRealTime(b *testing.B) {
	for b.Loop() {
		clean(b, run(b, mocktarget.New(mocktarget.Options{}), conformance.Options{}))
	}
}
