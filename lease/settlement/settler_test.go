package settlement_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestSettledSpendLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	s := w.settler()
	spend := w.reserve(42)
	x := w.begin(s, spend)
	assert.Empty(t, w.files(), "begun, nothing written yet")

	result, err := x.Settle(t.Context())
	require.NoError(t, err)
	assert.Equal(t, settlement.Committed, result.Disposition)
	assert.True(t, result.Settled())
	assert.True(t, result.Journaled)
	assert.Equal(t, 1, result.Attempts)
	assert.EqualValues(t, 42, result.Commit.Charged.Amount)
	assert.Equal(t, spend.ReservationID, result.ReservationID)
	assert.Equal(t, result, x.Result())
	assert.EqualValues(t, 42, w.spent())
	assert.Empty(t, w.files())

	again, err := x.Settle(t.Context())
	require.NoError(t, err)
	assert.Equal(t, result, again)
	assert.Len(t, w.requests(mockserver.CommitReservation), 1, "a decided settlement sends nothing more")
}

// What each answer of the server means for the spend and for its record.
func TestAnswersToACommit(t *testing.T) {
	const proof = `{"status":"COMMITTED","charged":{"unit":"USD_MICROCENTS","amount":42}}`
	for name, c := range map[string]struct {
		status int // 0: the connection breaks
		body   string
		want   settlement.Disposition
		reason string // of the dead letter
	}{
		"proved":                   {status: 200, body: proof, want: settlement.Committed},
		"connection lost":          {want: settlement.Pending},
		"server error":             {status: 500, body: refusal(gen.ErrorCodeInternalError), want: settlement.Pending},
		"gateway":                  {status: 502, body: "<html>", want: settlement.Pending},
		"unproved 200":             {status: 200, body: "{}", want: settlement.Pending},
		"released instead":         {status: 200, body: `{"status":"RELEASED","released":{"unit":"USD_MICROCENTS","amount":42}}`, want: settlement.Pending},
		"explicit null":            {status: 200, body: `{"status":"COMMITTED","charged":{"unit":"USD_MICROCENTS","amount":42},"released":null}`, want: settlement.Pending},
		"another 2xx":              {status: 202, body: proof, want: settlement.Pending},
		"redirect":                 {status: 307, want: settlement.Pending},
		"throttled":                {status: 429, body: refusal(gen.ErrorCodeLimitExceeded), want: settlement.Pending},
		"throttled, known code":    {status: 429, body: refusal(gen.ErrorCodeBudgetExceeded), want: settlement.Pending},
		"bodyless 429":             {status: 429, want: settlement.Pending},
		"unauthorized":             {status: 401, body: refusal(gen.ErrorCodeUnauthorized), want: settlement.Pending},
		"forbidden":                {status: 403, body: refusal(gen.ErrorCodeForbidden), want: settlement.Pending},
		"codeless 4xx":             {status: 400, body: "<html>", want: settlement.Pending},
		"bodyless 404":             {status: 404, want: settlement.Pending},
		"unknown code":             {status: 409, body: refusal("NEW_CODE"), want: settlement.Pending},
		"4xx with a server's code": {status: 409, body: refusal(gen.ErrorCodeInternalError), want: settlement.Pending},
		"limit on another 4xx":     {status: 400, body: refusal(gen.ErrorCodeLimitExceeded), want: settlement.Pending},
		"finalized":                {status: 409, body: refusal(gen.ErrorCodeReservationFinalized), want: settlement.Rejected, reason: "finalized"},
		"key used otherwise":       {status: 409, body: refusal(gen.ErrorCodeIdempotencyMismatch), want: settlement.Rejected, reason: "mismatch"},
		"over the budget":          {status: 409, body: refusal(gen.ErrorCodeBudgetExceeded), want: settlement.Rejected, reason: "rejected"},
		"wrong unit":               {status: 400, body: refusal(gen.ErrorCodeUnitMismatch), want: settlement.Rejected, reason: "rejected"},
		"tenant closed":            {status: 409, body: refusal(gen.ErrorCodeTenantClosed), want: settlement.Rejected, reason: "rejected"},
		"no such reservation":      {status: 404, body: refusal(gen.ErrorCodeNotFound), want: settlement.Rejected, reason: "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spend := w.reserve(42)
			w.wire.set(func(r *http.Request) (*http.Response, error) {
				if c.status == 0 {
					return nil, errDown
				}
				return answer(r, c.status, c.body), nil
			})
			x := w.begin(w.settler(settlement.WithoutBackground()), spend)
			result, err := x.Settle(t.Context())
			assert.Equal(t, c.want, result.Disposition)
			assert.Equal(t, 1, result.Attempts, "one attempt, no retry inside the call")

			list, listErr := settlement.List(w.base)
			require.NoError(t, listErr)
			if c.want == settlement.Committed {
				require.NoError(t, err)
				assert.Empty(t, list)
				return
			}
			assert.Nil(t, result.Commit)
			var unsettled *settlement.Error
			require.ErrorAs(t, err, &unsettled)
			assert.Equal(t, settlement.Error{
				ReservationID: spend.ReservationID, IdempotencyKey: result.IdempotencyKey, Disposition: c.want, Err: result.Err,
			}, *unsettled)
			assert.ErrorContains(t, err, "is not settled ("+c.want.String())
			require.Len(t, list, 1, "kept on disk")
			assert.Equal(t, spend.ReservationID, list[0].ReservationID)
			assert.Equal(t, amount(42), *list[0].Actual)
			if c.want == settlement.Pending {
				assert.Equal(t, "pending", list[0].State)
				return
			}
			assert.Equal(t, "dead", list[0].State)
			assert.Contains(t, list[0].Reason, c.reason+": ")
			w.wire.set(nil)
			_, err = x.Settle(t.Context())
			assert.Error(t, err)
			assert.Zero(t, w.spent(), "what was rejected is not sent again")
		})
	}
}

func TestAnswersToAnEvent(t *testing.T) {
	const proof = `{"status":"APPLIED","event_id":""}`
	for name, c := range map[string]struct {
		status int
		body   string
		want   settlement.Disposition
	}{
		"proved":             {201, proof, settlement.RecoveredByEvent},
		"wrong 2xx":          {200, proof, settlement.Pending},
		"not applied":        {201, `{"status":"RECORDED","event_id":"e"}`, settlement.Pending},
		"connection lost":    {0, "", settlement.Pending},
		"server error":       {503, "", settlement.Pending},
		"throttled":          {429, "", settlement.Pending},
		"unauthorized":       {401, refusal(gen.ErrorCodeUnauthorized), settlement.Pending},
		"codeless 4xx":       {400, "", settlement.Pending},
		"codeless 410":       {410, "", settlement.Pending},
		"expired, by name":   {410, refusal(gen.ErrorCodeReservationExpired), settlement.Rejected},
		"budget frozen":      {409, refusal(gen.ErrorCodeBudgetFrozen), settlement.Rejected},
		"key used otherwise": {409, refusal(gen.ErrorCodeIdempotencyMismatch), settlement.Rejected},
		"finalized":          {409, refusal(gen.ErrorCodeReservationFinalized), settlement.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spend := w.reserve(42)
			w.wire.set(func(r *http.Request) (*http.Response, error) {
				switch {
				case r.URL.Path != "/v1/events":
					return answer(r, 410, ""), nil
				case c.status == 0:
					return nil, errDown
				}
				return answer(r, c.status, c.body), nil
			})
			result, err := w.begin(w.settler(settlement.WithoutBackground()), spend).Settle(t.Context())
			assert.Equal(t, c.want, result.Disposition)
			assert.Equal(t, c.want == settlement.RecoveredByEvent, err == nil)
			assert.Equal(t, 2, result.Attempts, "the event follows the 410 at once: %v", err)
			assert.Equal(t, map[settlement.Disposition]map[string]int{
				settlement.RecoveredByEvent: {}, settlement.Pending: {".json": 1}, settlement.Rejected: {".dead": 1},
			}[c.want], w.files())
			if c.want == settlement.Pending {
				assert.Equal(t, "event", w.onDisk(spend.ReservationID)["mode"])
			}
		})
	}
}

// A record is sent as it was frozen, whatever the caller does to his maps.
func TestSettleAgainSendsTheSameBytesUntilItIsDecided(t *testing.T) {
	w := newWorld(t)
	spend := w.reserve(42)
	spend.Commit.Metadata = map[string]any{"n": json.Number("9007199254740993")}
	w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Status: 500})
	w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Nth: 2, Status: 503})
	x := w.begin(w.settler(settlement.WithoutBackground()), spend)
	for range 2 {
		spend.Commit.Metadata["n"] = "changed afterwards"
		_, err := x.Settle(t.Context())
		require.Error(t, err)
	}
	for range 3 {
		result, err := x.Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, result.Attempts)
	}
	sent := w.wire.bodies("/commit")
	require.Len(t, sent, 3)
	assert.Equal(t, sent[0], sent[1])
	assert.Equal(t, sent[0], sent[2])
	assert.Contains(t, sent[0], `{"n":9007199254740993}`)
	assert.Contains(t, sent[0], x.Result().IdempotencyKey)
	assert.Equal(t, amount(42), x.Actual())
}

func TestBeginKeepsTheCallersKeyAndFillsAnEmptyOne(t *testing.T) {
	w := newWorld(t)
	s := w.settler()
	spend := w.reserve(42)
	spend.Commit.IdempotencyKey = "mine"
	assert.Equal(t, "mine", w.begin(s, spend).Result().IdempotencyKey)
	spend.Commit.IdempotencyKey = ""
	keys := map[string]bool{}
	for range 10 {
		keys[w.begin(s, spend).Result().IdempotencyKey] = true
	}
	assert.Len(t, keys, 10)
}

func TestBeginRefusesWhatTheServerWouldRefuseForItsForm(t *testing.T) {
	w := newWorld(t)
	s := w.settler()
	minus := int64(-1)
	model := string(make([]byte, 129))
	for field, spoil := range map[string]func(*gen.CommitRequest){
		"metadata":              func(c *gen.CommitRequest) { c.Metadata = map[string]any{"f": func() {}} },
		"idempotency_key":       func(c *gen.CommitRequest) { c.IdempotencyKey = string(make([]byte, 257)) },
		"actual.amount":         func(c *gen.CommitRequest) { c.Actual.Amount = -1 },
		"actual.unit":           func(c *gen.CommitRequest) { c.Actual.Unit = "" },
		"metrics.tokens_input":  func(c *gen.CommitRequest) { c.Metrics = &gen.StandardMetrics{TokensInput: &minus} },
		"metrics.tokens_output": func(c *gen.CommitRequest) { c.Metrics = &gen.StandardMetrics{TokensOutput: &minus} },
		"metrics.latency_ms":    func(c *gen.CommitRequest) { c.Metrics = &gen.StandardMetrics{LatencyMs: &minus} },
		"metrics.model_version": func(c *gen.CommitRequest) { c.Metrics = &gen.StandardMetrics{ModelVersion: &model} },
	} {
		spend := settlement.Spend{ReservationID: "r", Commit: gen.CommitRequest{Actual: amount(1)}}
		spoil(&spend.Commit)
		_, err := s.Begin(spend)
		var bad *client.RequestError
		require.ErrorAs(t, err, &bad, field)
		assert.Equal(t, field, bad.Field)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, opt := range map[string]settlement.Option{
		"nil option":    nil,
		"no directory":  settlement.WithJournal(""),
		"no rescan":     settlement.WithRescan(0),
		"flush before":  settlement.WithFlushTimeout(-1),
		"nil logger":    settlement.WithLogger(nil),
		"notify nobody": settlement.WithNotify(nil),
	} {
		_, err := settlement.New(w.client(), opt)
		assert.ErrorAs(t, err, new(*client.ConfigError), name)
	}
	_, err := settlement.New(nil)
	assert.ErrorAs(t, err, new(*client.ConfigError))
}

func TestDispositionsHaveNames(t *testing.T) {
	for d, want := range map[settlement.Disposition]string{
		settlement.Pending: "pending", settlement.Committed: "committed",
		settlement.RecoveredByEvent: "recovered-by-event", settlement.Released: "released",
		settlement.Rejected: "rejected", settlement.Parked: "parked", settlement.HandedOver: "handed-over",
		17: "unknown", -1: "unknown",
	} {
		assert.Equal(t, want, d.String())
	}
	assert.Zero(t, settlement.Result{}.Disposition, "an unset result claims nothing")
	assert.True(t, settlement.Result{Disposition: settlement.RecoveredByEvent}.Settled())
	assert.False(t, settlement.Result{Disposition: settlement.HandedOver}.Settled())
}

// A caller that gives up does not lose the spend, and does not learn its fate.
func TestCancelledCallerLeavesTheSpendPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		spend := w.reserve(42)
		w.srv.Inject(mockserver.Fault{Operation: mockserver.CommitReservation, Delay: 3 * time.Second})
		s := w.settler()
		x := w.begin(s, spend)
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		result, err := x.Settle(ctx)
		require.Error(t, err)
		assert.Equal(t, settlement.Pending, result.Disposition)
		assert.Equal(t, client.Canceled, client.OutcomeOf(err))

		time.Sleep(10 * time.Second)
		assert.Equal(t, settlement.Committed, x.Result().Disposition)
		assert.EqualValues(t, 42, w.spent())
	})
}
