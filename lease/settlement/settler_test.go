package settlement_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// answers is a server that gives one answer after the other and keeps what it
// was sent.
type answers struct {
	next   []answer
	bodies []string
}

type answer struct {
	status int
	body   string
	want   settlement.Disposition
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.bodies = append(a.bodies, string(body))
	n := a.next[len(a.bodies)-1]
	if n.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{
		StatusCode: n.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(n.body)), ContentLength: int64(len(n.body)), Request: r,
	}, nil
}

func settler(t *testing.T, a *answers) *settlement.Settler {
	t.Helper()
	c, err := client.New("http://budget.test", client.WithAPIKey("k"), client.WithHTTPClient(&http.Client{Transport: a}))
	require.NoError(t, err)
	return settlement.New(c)
}

func spend() settlement.Spend {
	return settlement.Spend{ReservationID: "rsv", Commit: gen.CommitRequest{
		Actual: gen.Amount{Unit: gen.UnitEnumTokens, Amount: 42}, Metadata: map[string]any{"n": json.Number("9007199254740993")},
	}}
}

const proof = `{"status":"COMMITTED","charged":{"unit":"TOKENS","amount":42}}`

func refusal(code gen.ErrorCode) string {
	return `{"error":"` + string(code) + `","message":"no","request_id":"r"}`
}

func TestSettleSaysHonestlyWhatBecameOfTheSpend(t *testing.T) {
	for name, a := range map[string]answer{
		"proved":             {200, proof, settlement.Committed},
		"connection lost":    {0, "", settlement.Pending},
		"server error":       {500, "", settlement.Pending},
		"unproved 200":       {200, "{}", settlement.Pending},
		"another 2xx":        {202, proof, settlement.Pending},
		"redirect":           {307, "", settlement.Pending},
		"throttled":          {429, refusal(gen.ErrorCodeLimitExceeded), settlement.Pending},
		"bodyless 429":       {429, "", settlement.Pending},
		"unauthorized":       {401, refusal(gen.ErrorCodeUnauthorized), settlement.Pending},
		"forbidden":          {403, refusal(gen.ErrorCodeForbidden), settlement.Pending},
		"expired":            {410, refusal(gen.ErrorCodeReservationExpired), settlement.Pending},
		"bodyless 410":       {410, "", settlement.Pending},
		"codeless 4xx":       {400, "<html>", settlement.Pending},
		"unknown code":       {409, refusal("NEW_CODE"), settlement.Pending},
		"finalized":          {409, refusal(gen.ErrorCodeReservationFinalized), settlement.Rejected},
		"key used otherwise": {409, refusal(gen.ErrorCodeIdempotencyMismatch), settlement.Rejected},
		"over the budget":    {409, refusal(gen.ErrorCodeBudgetExceeded), settlement.Rejected},
		"bad request":        {400, refusal(gen.ErrorCodeInvalidRequest), settlement.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			server := &answers{next: []answer{a}}
			s, err := settler(t, server).Begin(spend())
			require.NoError(t, err)
			res, err := s.Settle(t.Context())
			assert.Equal(t, a.want, res.Disposition)
			assert.Equal(t, a.want == settlement.Committed, res.Settled())
			assert.Len(t, server.bodies, 1, "one attempt, no retry of its own")
			assert.Equal(t, 1, res.Attempts)
			assert.Equal(t, res, s.Result())
			if res.Settled() {
				require.NoError(t, err)
				require.NoError(t, res.Err)
				assert.EqualValues(t, 42, res.Commit.Charged.Amount)
				return
			}
			assert.Nil(t, res.Commit)
			var unsettled *settlement.Error
			require.ErrorAs(t, err, &unsettled)
			assert.Equal(t, a.want, unsettled.Disposition)
			assert.Equal(t, "rsv", unsettled.ReservationID)
			assert.Equal(t, res.IdempotencyKey, unsettled.IdempotencyKey)
			assert.ErrorIs(t, err, res.Err)
			assert.ErrorContains(t, err, `reservation "rsv" is not settled (`+a.want.String())
		})
	}
}

func TestSettleAgainSendsTheSameBytesUntilItIsDecided(t *testing.T) {
	server := &answers{next: []answer{{status: 0}, {status: 503}, {status: 200, body: proof}}}
	what := spend()
	s, err := settler(t, server).Begin(what)
	require.NoError(t, err)
	for range 2 {
		what.Commit.Metadata["n"] = "changed afterwards"
		_, err = s.Settle(t.Context())
		require.Error(t, err)
	}
	for range 3 {
		res, err := s.Settle(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, res.Attempts)
	}
	require.Len(t, server.bodies, 3, "a decided settlement sends nothing more")
	assert.Equal(t, server.bodies[0], server.bodies[1])
	assert.Equal(t, server.bodies[0], server.bodies[2])
	assert.Contains(t, server.bodies[0], `{"n":9007199254740993}`)
	assert.Contains(t, server.bodies[0], s.Result().IdempotencyKey)
	assert.EqualValues(t, 42, s.Actual().Amount)
}

func TestBeginKeepsTheCallersKeyAndFillsAnEmptyOne(t *testing.T) {
	from := settler(t, &answers{})
	what := spend()
	what.Commit.IdempotencyKey = "mine"
	s, err := from.Begin(what)
	require.NoError(t, err)
	assert.Equal(t, "mine", s.Result().IdempotencyKey)

	keys := map[string]bool{}
	for range 10 {
		s, err := from.Begin(spend())
		require.NoError(t, err)
		keys[s.Result().IdempotencyKey] = true
	}
	assert.Len(t, keys, 10)
}

func TestBeginRefusesWhatJSONCannotHold(t *testing.T) {
	what := spend()
	what.Commit.Metadata["f"] = func() {}
	_, err := settler(t, &answers{}).Begin(what)
	var bad *client.RequestError
	require.ErrorAs(t, err, &bad)
}

func TestDispositionsHaveNames(t *testing.T) {
	for d, want := range map[settlement.Disposition]string{
		settlement.Pending: "pending", settlement.Committed: "committed",
		settlement.RecoveredByEvent: "recovered-by-event", settlement.Released: "released", settlement.Rejected: "rejected", 17: "unknown", -1: "unknown",
	} {
		assert.Equal(t, want, d.String())
	}
	assert.Zero(t, settlement.Result{}.Disposition, "an unset result claims nothing")
	assert.True(t, settlement.Result{Disposition: settlement.RecoveredByEvent}.Settled())
}
