package mockserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// agent is one caller with a budget of its own below the tenant's, and the
// model of it.
type agent struct {
	model
	t      *testing.T
	s      *mockserver.Server
	random *rand.Rand
	tenant string
	name   string
	n      int // requests so far, for new keys
}

const (
	agents     = 16
	rounds     = 10
	operations = 100_000
	above      = int64(1) << 50 // the tenant's budget: never the reason for anything
)

// A hundred thousand random operations of sixteen agents of three tenants at
// once. Every answer is what the model says; time moves between the rounds.
func TestConcurrentAgentsAgreeWithTheModel(t *testing.T) {
	opts := []mockserver.Option{mockserver.WithVirtualTime(epoch), mockserver.WithJournalSize(0)}
	tenants := []string{"acme", "globex", "initech"}
	for _, name := range tenants {
		opts = append(opts,
			mockserver.WithTenant(mockserver.Tenant{ID: name, Keys: []string{name}}),
			mockserver.WithBudget(mockserver.Budget{Scope: "tenant:" + name, Allocated: above}))
	}
	all := make([]*agent, agents)
	for i := range all {
		a := &agent{t: t, random: rand.New(rand.NewPCG(7, uint64(i))), tenant: tenants[i%len(tenants)], name: fmt.Sprintf("a%d", i)}
		a.now, a.allocated, a.limit = epoch.UnixMilli(), 2000, int64(i%3)*400
		all[i] = a
		opts = append(opts, mockserver.WithBudget(mockserver.Budget{Scope: a.scope(), Allocated: a.allocated, OverdraftLimit: a.limit}))
	}
	s := mockserver.New(opts...)
	clock := rand.New(rand.NewPCG(7, agents))
	for range rounds {
		var wg sync.WaitGroup
		for _, a := range all {
			a.s = s
			wg.Go(func() {
				for range operations / rounds / agents {
					if !a.act() {
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		step := clock.Int64N(40_000)
		s.Advance(time.Duration(step) * time.Millisecond)
		held, spent := map[string]int64{}, map[string]int64{}
		for _, a := range all {
			a.advance(step)
			a.check()
			held[a.tenant] += a.reserved
			spent[a.tenant] += a.spentAbove
		}
		for _, name := range tenants {
			b, err := s.Balance("tenant:"+name, usd)
			require.NoError(t, err)
			assert.Equal(t, [2]int64{held[name], spent[name]}, [2]int64{b.Reserved, b.Spent}, name)
			assert.Equal(t, above-b.Spent-b.Reserved, b.Remaining)
		}
	}
	assert.Greater(t, s.Counters().Replays, operations/100)
}

func (a *agent) scope() string { return "tenant:" + a.tenant + "/agent:" + a.name }

// check compares the budget with the model.
func (a *agent) check() {
	b, err := a.s.Balance(a.scope(), usd)
	require.NoError(a.t, err)
	assert.Equal(a.t, mockserver.Balance{
		Allocated: a.allocated, Remaining: a.remaining(), Reserved: a.reserved, Spent: a.spent, Debt: a.debt,
		OverdraftLimit: a.limit, OverLimit: a.over(), Status: map[bool]mockserver.BudgetStatus{false: mockserver.BudgetActive, true: mockserver.BudgetFrozen}[a.frozen],
	}, b, a.name)
	require.Equal(a.t, b.Allocated-b.Spent-b.Reserved-b.Debt, b.Remaining)
}

var policies = []gen.CommitOveragePolicy{
	gen.CommitOveragePolicyReject, gen.CommitOveragePolicyAllowIfAvailable, gen.CommitOveragePolicyAllowWithOverdraft,
}

// act does one random operation and reports whether the answer was right.
func (a *agent) act() bool {
	a.n++
	key := fmt.Sprintf("%s-%d", a.name, a.n)
	amount := a.random.Int64N(300)
	policy := policies[a.random.IntN(len(policies))]
	r := a.any(a.random)
	what := a.random.IntN(100)
	if r == nil {
		what = 0
	}
	subject := fmt.Sprintf(`{"tenant":%q,"agent":%q}`, a.tenant, a.name)
	switch {
	case what < 35:
		ttl, grace := 1_000+a.random.Int64N(60_000), a.random.Int64N(5_000)
		body := spendBody(key, "estimate", subject, amount, fmt.Sprintf(`"ttl_ms":%d,"grace_period_ms":%d,"overage_policy":%q`, ttl, grace, policy))
		want, made := a.reserve(amount, ttl, grace, policy)
		doc, ok := a.expect(want, "/v1/reservations", body)
		if ok && made != nil {
			made.id = doc.ReservationID
			if a.random.IntN(4) == 0 {
				again, ok := a.expect(want, "/v1/reservations", body)
				return ok && assert.Equal(a.t, made.id, again.ReservationID)
			}
		}
		return ok
	case what < 55:
		if r.finalOp == "commit" && a.random.IntN(2) == 0 {
			key = r.finalKey
			if a.random.IntN(2) == 0 {
				amount = r.finalArgs
			}
		}
		return a.settle(a.commit(r, key, amount), r, "commit", commitBody(key, amount))
	case what < 65:
		if r.finalOp == "release" && a.random.IntN(2) == 0 {
			key = r.finalKey
		}
		return a.settle(a.release(r, key), r, "release", releaseBody(key))
	case what < 80:
		by := 1 + a.random.Int64N(3)
		if r.lastExt != nil && a.random.IntN(3) == 0 {
			key = r.extKey
		}
		return a.settle(a.extend(r, key, by), r, "extend", extendBody(key, by))
	case what < 90:
		_, ok := a.expect(a.event(amount, policy), "/v1/events", spendBody(key, "actual", subject, amount, fmt.Sprintf(`"overage_policy":%q`, policy)))
		return ok
	case what < 94:
		want := modelAnswer{status: 200}
		denial := a.denial(amount)
		doc, ok := a.expect(want, "/v1/decide", spendBody(key, "estimate", subject, amount))
		if denial != "" {
			return ok && assert.Equal(a.t, string(denial), doc.Reason)
		}
		return ok && assert.Equal(a.t, "ALLOW", doc.Decision)
	case what < 98:
		body := fmt.Sprintf(`{"operation":"CREDIT","amount":{"unit":"USD_MICROCENTS","amount":%d}}`, amount)
		_, ok := a.expect(a.credit(amount), "/v1/admin/budgets/fund?unit=USD_MICROCENTS&scope="+a.scope(), body)
		return ok
	}
	a.frozen = !a.frozen && a.random.IntN(2) == 0
	status := mockserver.BudgetActive
	if a.frozen {
		status = mockserver.BudgetFrozen
	}
	return assert.NoError(a.t, a.s.SetBudgetStatus(a.scope(), usd, status))
}

func (a *agent) settle(want modelAnswer, r *modelReservation, op, body string) bool {
	_, ok := a.expect(want, "/v1/reservations/"+r.id+"/"+op, body)
	return ok
}

// answer is what the model looks at in any answer.
type answer struct {
	Error         gen.ErrorCode `json:"error"`
	ReservationID string        `json:"reservation_id"`
	Decision      string        `json:"decision"`
	Reason        string        `json:"reason_code"`
	Expires       int64         `json:"expires_at_ms"`
	Lead          int64         `json:"remaining_ttl_ms"`
	Charged       gen.Amount    `json:"charged"`
	Released      gen.Amount    `json:"released"`
	NewRemaining  gen.Amount    `json:"new_remaining"`
	Balances      []struct {
		Remaining gen.Amount `json:"remaining"`
	} `json:"balances"`
}

// expect sends a request and compares the answer with the model's.
func (a *agent) expect(want modelAnswer, path, body string) (answer, bool) {
	req, err := http.NewRequest("POST", a.s.URL()+path, strings.NewReader(body))
	require.NoError(a.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Cycles-API-Key", a.tenant)
	resp, err := a.s.Transport().RoundTrip(req)
	require.NoError(a.t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	var doc answer
	require.NoError(a.t, json.Unmarshal(raw, &doc))
	got := modelAnswer{
		status: resp.StatusCode, code: doc.Error, charged: doc.Charged.Amount, released: doc.Released.Amount,
		expires: doc.Expires, lead: doc.Lead, remaining: doc.NewRemaining.Amount,
	}
	if n := len(doc.Balances); n > 0 {
		got.remaining = doc.Balances[n-1].Remaining.Amount
	}
	// The comparison with reflection is for the message.
	return doc, want == got || assert.Equal(a.t, want, got, "%s %s %s: %s", a.name, path, body, raw)
}
