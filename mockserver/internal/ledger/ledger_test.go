package ledger_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

const usd = gen.UnitEnumUSDMicrocents

// chain is a tenant with a budget at each of three levels.
func chain(t *testing.T, rows ...ledger.Budget) *ledger.Ledger {
	t.Helper()
	l := ledger.New(1)
	require.Nil(t, l.AddTenant(0, ledger.Tenant{ID: "t", Policy: ledger.DefaultPolicy()}))
	for _, b := range rows {
		b.Tenant, b.Unit = "t", usd
		_, d := l.AddBudget(0, b)
		require.Nil(t, d)
	}
	return l
}

var scopes = []string{"tenant:t", "tenant:t/workspace:w", "tenant:t/workspace:w/agent:a"}

func subject(depth int) (s ledger.Subject) {
	s.Level[0] = "t"
	if depth > 0 {
		s.Level[1] = "w"
	}
	if depth > 1 {
		s.Level[4] = "a"
	}
	return s
}

func print(n int64) (p ledger.Print) {
	binary.BigEndian.PutUint64(p[:], uint64(n))
	return p
}

// Random steps on three nested budgets: whatever is refused changes nothing,
// whatever is applied charges every scope the same, holds are what the active
// reservations add up to, and no debt passes its limit.
func TestEveryStepIsAllOrNothingOnEveryScope(t *testing.T) {
	policies := []gen.CommitOveragePolicy{
		gen.CommitOveragePolicyReject, gen.CommitOveragePolicyAllowIfAvailable, gen.CommitOveragePolicyAllowWithOverdraft,
	}
	type state struct {
		ledger.Row
		over bool
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var rows []ledger.Budget
		for _, s := range scopes {
			rows = append(rows, ledger.Budget{
				Scope: s, Row: ledger.Row{Allocated: random.Int64N(3000)}, OverdraftLimit: random.Int64N(3) * random.Int64N(500),
			})
		}
		l := chain(t, rows...)
		type held struct {
			id            string
			depth         int
			amount, until int64
		}
		look := func(now int64) (out [3]state) {
			for i, b := range l.Budgets(now, "") {
				out[i] = state{b.Row, b.OverLimit()}
				if b.Remaining() != b.Allocated-b.Spent-b.Reserved-b.Debt || b.Debt > b.OverdraftLimit {
					require.Fail(t, "the balance does not add up", "%+v", b)
				}
			}
			return out
		}
		var active []held
		now := int64(0)
		for i := range int64(3000) {
			now += random.Int64N(200)
			l.ExpireDue(now)
			before := look(now)
			depth, amount := random.IntN(3), random.Int64N(400)
			id := ledger.Identity{Tenant: "t", Key: fmt.Sprint(i), Print: print(i)}
			spend := ledger.Spend{Identity: id, Subject: subject(depth), Unit: usd, Amount: amount}
			charged := int64(-1)
			var d *ledger.Denial
			switch what := random.IntN(10); {
			case what < 5:
				var out ledger.Reserved
				ttl := 1000 + random.Int64N(5000)
				out, d = l.Reserve(now, &ledger.Reserve{Spend: spend, TTL: &ttl, Grace: 10, Overage: policies[random.IntN(3)]})
				if d == nil {
					active = append(active, held{out.ReservationID, depth, amount, now + ttl + 10})
				}
			case what < 8 && len(active) > 0:
				n := random.IntN(len(active))
				h := active[n]
				depth = h.depth
				var out ledger.Settled
				out, d = l.Commit(now, &ledger.Commit{Identity: id, ReservationID: h.id, Unit: usd, Amount: amount})
				if d == nil {
					charged = out.Charged
					assert.LessOrEqual(t, charged, max(amount, h.amount))
				}
				if d == nil || d.Code == gen.ErrorCodeReservationExpired {
					active = append(active[:n], active[n+1:]...)
				}
			case what < 9:
				var out ledger.Recorded
				out, d = l.Event(now, &ledger.Event{Spend: spend, Overage: policies[random.IntN(3)]})
				if d == nil {
					charged = out.Charged
					assert.Equal(t, charged < amount, out.Capped)
				}
			default:
				depth = random.IntN(3)
				_, d = l.Fund(now, "t", &ledger.Fund{Scope: scopes[depth], Unit: usd, Operation: ledger.Credit, Amount: amount})
			}
			after := look(now)
			if d != nil && before != after {
				require.Equal(t, before, after, "step %d was refused: %v", i, d)
			}
			if charged >= 0 {
				for s := range scopes {
					moved := after[s].Spent + after[s].Debt - before[s].Spent - before[s].Debt
					if s <= depth {
						assert.Equal(t, charged, moved)
					} else {
						assert.Zero(t, moved)
					}
				}
			}
			var reserved [3]int64
			for _, h := range active {
				for s := range scopes {
					if s <= h.depth && now <= h.until {
						reserved[s] += h.amount
					}
				}
			}
			if got := [3]int64{after[0].Reserved, after[1].Reserved, after[2].Reserved}; got != reserved {
				require.Equal(t, reserved, got, "step %d", i)
			}
		}
	}
}

func TestRowsThatWouldOverflowAreRefused(t *testing.T) {
	const most = math.MaxInt64
	for name, row := range map[string]ledger.Row{
		"negative allocation":   {Allocated: -1},
		"negative spending":     {Spent: -1},
		"negative hold":         {Reserved: -1},
		"negative debt":         {Debt: -1},
		"two largest":           {Spent: most, Debt: most},
		"below the smallest":    {Spent: most, Reserved: 2},
		"far below the largest": {Allocated: most, Spent: most, Reserved: most, Debt: 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := chain(t)
			_, d := l.AddBudget(0, ledger.Budget{Tenant: "t", Scope: "tenant:t", Unit: usd, Row: row})
			require.NotNil(t, d)
			assert.Equal(t, gen.ErrorCodeInvalidRequest, d.Code)
			assert.Empty(t, l.Budgets(0, ""))
		})
	}
	l := chain(t, ledger.Budget{Scope: "tenant:t", Row: ledger.Row{Spent: most, Debt: 1}})
	assert.EqualValues(t, int64(math.MinInt64), l.Budgets(0, "")[0].Remaining())
}

func TestIDsSortByCreationAcrossMillisecondsAndWithinThem(t *testing.T) {
	l := chain(t, ledger.Budget{Scope: "tenant:t", Row: ledger.Row{Allocated: math.MaxInt64}})
	last := ""
	for i := range int64(5000) {
		out, d := l.Reserve(i/1000, &ledger.Reserve{Spend: ledger.Spend{
			Identity: ledger.Identity{Tenant: "t", Key: fmt.Sprint(i)}, Subject: subject(0), Unit: usd, Amount: 1,
		}})
		require.Nil(t, d)
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, out.ReservationID)
		assert.Greater(t, out.ReservationID, last)
		last = out.ReservationID
	}
}

func TestTimeThatGoesBackIsHeld(t *testing.T) {
	l := chain(t, ledger.Budget{Scope: "tenant:t", Row: ledger.Row{Allocated: 10}})
	ttl := int64(1000)
	q := &ledger.Reserve{Spend: ledger.Spend{Identity: ledger.Identity{Tenant: "t", Key: "k"}, Subject: subject(0), Unit: usd, Amount: 5}, TTL: &ttl}
	_, d := l.Reserve(5000, q)
	require.Nil(t, d)
	q.Key = "k2"
	out, d := l.Reserve(10, q)
	require.Nil(t, d)
	assert.EqualValues(t, 6000, out.ExpiresAt)
	l.ExpireDue(6001)
	l.ExpireDue(10)
	b, d := l.Budget(10, "t", "tenant:t", usd)
	require.Nil(t, d)
	assert.Zero(t, b.Reserved)
}

func TestPatterns(t *testing.T) {
	for pattern, paths := range map[string]map[string]bool{
		"*":                  {"tenant:t": true, "workspace:w/agent:a": true},
		"tenant:t":           {"tenant:t": true, "tenant:tt": false, "tenant:t/agent:a": false},
		"tenant:t/*":         {"tenant:t": true, "tenant:t/agent:a": true, "tenant:t/workspace:w/agent:a": true, "tenant:x/agent:a": false},
		"tenant:t/agent:*":   {"tenant:t/agent:a": true, "tenant:t": false, "tenant:t/workspace:w": false, "tenant:t/agent:a/toolset:x": false},
		"tenant:*/agent:*/*": {"tenant:t/agent:a/toolset:x": true, "tenant:t/workspace:w/agent:a": false},
	} {
		for path, want := range paths {
			l := ledger.New(1)
			require.Nil(t, l.AddTenant(0, ledger.Tenant{ID: "t", Policy: ledger.DefaultPolicy()}))
			tokens := int64(1)
			_, d := l.AddPolicy(0, ledger.ScopePolicy{Tenant: "t", Pattern: pattern, Caps: &gen.Caps{MaxTokens: &tokens}})
			require.Nil(t, d, pattern)
			var s ledger.Subject
			for i, level := range ledger.Levels {
				for _, scope := range ledger.Scopes(path) {
					if leaf := ledger.Leaf(scope); len(leaf) > len(level) && leaf[:len(level)+1] == level+":" {
						s.Level[i] = leaf[len(level)+1:]
					}
				}
			}
			require.Equal(t, path, s.Path())
			if s.Level[0] != "t" && s.Level[0] != "" {
				continue // another tenant's subject never gets here
			}
			_, d = l.AddBudget(0, ledger.Budget{Tenant: "t", Scope: path, Unit: usd})
			require.Nil(t, d)
			out, d := l.Decide(0, &ledger.Decide{Spend: ledger.Spend{Identity: ledger.Identity{Tenant: "t", Key: path}, Subject: s, Unit: usd}})
			require.Nil(t, d)
			assert.Equal(t, want, out.Caps != nil, "%s on %s", pattern, path)
		}
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for _, pattern := range []string{"", "/*", "tenant", "agent:a/tenant:t", "tenant:t/*/agent:a", "tenant:t/agent:a*", "tenant:"} {
		_, err := ledger.ParsePattern(pattern)
		assert.Error(t, err, pattern)
	}
}
