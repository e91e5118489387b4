package lease

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

var errWork = errors.New("the work failed")

func TestRunSettlesAsTheWorkEnded(t *testing.T) {
	lost := func(c *wireCall) (*http.Response, bool) { return nil, c.op == "commit" || c.op == "release" }
	for name, test := range map[string]struct {
		usage      Usage
		err        error
		faults     func(*wireCall) (*http.Response, bool)
		settledBy  string
		want       settlement.Disposition
		alsoFailed bool
	}{
		"success":                     {usage: Usage{Actual: tokens(42)}, settledBy: "commit", want: settlement.Committed},
		"success that used nothing":   {usage: Usage{}, settledBy: "commit", want: settlement.Committed},
		"failure that used something": {usage: Usage{Actual: tokens(7)}, err: errWork, settledBy: "commit", want: settlement.Committed},
		"failure that used nothing":   {usage: Usage{}, err: errWork, settledBy: "release", want: settlement.Released},
		"success, commit unanswered":  {usage: Usage{Actual: tokens(42)}, faults: lost, settledBy: "commit", want: settlement.Pending, alsoFailed: true},
		"failure, commit unanswered":  {usage: Usage{Actual: tokens(42)}, err: errWork, faults: lost, settledBy: "commit", want: settlement.Pending, alsoFailed: true},
		"failure, release unanswered": {err: errWork, faults: lost, settledBy: "release", want: settlement.None, alsoFailed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := steady(60_000)
				if test.faults != nil {
					w = scripted(60_000, test.faults)
				}
				value, res, err := Run(t.Context(), manage(t, w), reserve(60_000), func(context.Context, *Lease) (string, Usage, error) {
					time.Sleep(90 * time.Second)
					return "value", test.usage, test.err
				})
				assert.Equal(t, "value", value, "the value is always returned")
				assert.Equal(t, test.want, res.Disposition)
				assert.Equal(t, "rsv", res.ReservationID)
				switch {
				case test.alsoFailed:
					require.Error(t, err)
					if test.err != nil {
						assert.ErrorIs(t, err, errWork)
					}
				case test.err != nil:
					assert.Equal(t, errWork, err, "the work's own error, not wrapped")
				default:
					require.NoError(t, err)
				}
				other := map[string]string{"commit": "release", "release": "commit"}[test.settledBy]
				require.NotEmpty(t, w.sent(test.settledBy))
				assert.Empty(t, w.sent(other))
				assert.Len(t, w.sent("extend"), 2, "kept alive while the work ran")
				if test.settledBy == "commit" {
					body := w.sent("commit")[0].body
					assert.EqualValues(t, test.usage.Actual.Amount, body["actual"].(map[string]any)["amount"])
					assert.EqualValues(t, 90_000, body["metrics"].(map[string]any)["latency_ms"])
				}
			})
		})
	}
}

func TestRunReportsMetricsAndMetadataAsGiven(t *testing.T) {
	w := steady(60_000)
	usage := Usage{Actual: tokens(1), Metrics: &gen.StandardMetrics{LatencyMs: ptr(int64(5)), TokensOutput: ptr(int64(9))}, Metadata: map[string]any{"k": "v"}}
	_, _, err := Run(t.Context(), manage(t, w), reserve(60_000), func(context.Context, *Lease) (int, Usage, error) { return 0, usage, nil })
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"latency_ms": 5.0, "tokens_output": 9.0}, w.sent("commit")[0].body["metrics"])
	assert.Equal(t, map[string]any{"k": "v"}, w.sent("commit")[0].body["metadata"])

	_, _, err = Run(t.Context(), manage(t, w), reserve(60_000), func(_ context.Context, l *Lease) (int, Usage, error) { return 0, Estimated(l), nil })
	require.NoError(t, err)
	body := w.sent("commit")[1].body
	assert.Equal(t, map[string]any{"actual_source": "estimate"}, body["metadata"])
	assert.EqualValues(t, 100, body["actual"].(map[string]any)["amount"])
}

func TestRunDoesNotWorkWithoutALease(t *testing.T) {
	w := &wire{handle: func(*wireCall) *http.Response { return replyRefused(409, gen.ErrorCodeBudgetExceeded) }}
	_, res, err := Run(t.Context(), manage(t, w), reserve(60_000), func(context.Context, *Lease) (int, Usage, error) {
		t.Error("worked without budget")
		return 0, Usage{}, nil
	})
	var failed *AcquireError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, settlement.Result{}, res)
}

func TestRunReleasesWhenTheWorkPanics(t *testing.T) {
	w := steady(60_000)
	m := manage(t, w)
	assert.PanicsWithValue(t, "boom", func() {
		_, _, _ = Run(t.Context(), m, reserve(60_000), func(context.Context, *Lease) (int, Usage, error) { panic("boom") })
	})
	assert.Len(t, w.sent("release"), 1)
	assert.Empty(t, w.sent("commit"))

	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, _ = Run(context.Background(), m, reserve(60_000), func(context.Context, *Lease) (int, Usage, error) {
			runtime.Goexit()
			return 0, Usage{}, nil
		})
	})
	wg.Wait()
	assert.Len(t, w.sent("release"), 2)
	assert.Zero(t, m.Stats().Active)
}

func TestRunSettlesAfterItsContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := steady(60_000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, res, err := Run(ctx, manage(t, w), reserve(60_000), func(ctx context.Context, _ *Lease) (int, Usage, error) {
			<-ctx.Done()
			return 0, Usage{Actual: tokens(7)}, ctx.Err()
		})
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, settlement.Committed, res.Disposition)
	})
}

func TestRunDoesNotSendTheWorksErrorToTheServer(t *testing.T) {
	w := steady(60_000)
	secret := errors.New(strings.Repeat("secret ", 100))
	_, _, err := Run(t.Context(), manage(t, w), reserve(60_000), func(context.Context, *Lease) (int, Usage, error) { return 0, Usage{}, secret })
	require.Equal(t, secret, err)
	assert.Equal(t, "guarded_method_failed", w.sent("release")[0].body["reason"])
}
