package conformance

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/schema"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// withContract is the active checks and the passive ones of the contract.
func withContract(t *testing.T, active ...suite.Check) []suite.Check {
	t.Helper()
	passive, err := schema.Checks()
	require.NoError(t, err)
	return append(active, passive...)
}

func TestContractViolationFailsItsOwnCheckAndNotTheOneThatSawIt(t *testing.T) {
	server := &little{answer: answering(http.StatusNotFound, `{"error":"NOT_FOUND","message":"no","request_id":"r","hint":"x"}`)}
	rep := judge(t, acme(server), Options{}, withContract(t,
		check("a.b", unknown), check("a.c", func(ctx context.Context, t *suite.T) { unknown(ctx, t); unknown(ctx, t) }))...)
	assert.Equal(t, report.Passed, result(t, rep, "a.b").Outcome)
	assert.Equal(t, report.Passed, result(t, rep, "a.c").Outcome)

	res := result(t, rep, "contract.extendReservation")
	assert.Equal(t, report.Failed, res.Outcome)
	require.Len(t, res.Findings, 1, "three answers with one fault are one finding")
	f := res.Findings[0]
	assert.Equal(t, "extendReservation 404 body", f.Where)
	assert.Contains(t, f.What, `"hint" is unsupported`)
	assert.Equal(t, 3, f.Count)
	assert.Contains(t, []string{"a.b", "a.c"}, f.Check)
	assert.Contains(t, f.Exchange.Curl, "/extend -H")
	assert.Equal(t, report.NotConformant, rep.Verdict)

	assert.Equal(t, report.Skipped, result(t, rep, "contract.decide").Outcome, "nobody asked")
	assert.Equal(t, "operation getEvidence is not in profile runtime", result(t, rep, "contract.getEvidence").Reason)
}

func TestContractThatIsKeptPasses(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{}, withContract(t, check("a.b", func(ctx context.Context, t *suite.T) { reserve(ctx, t); unknown(ctx, t) }))...)
	for _, op := range []string{"createReservation", "extendReservation", "releaseReservation"} {
		assert.Equal(t, report.Passed, result(t, rep, "contract."+op).Outcome, op)
	}
}

func TestPassiveChecksAloneAreFedByTheActiveOnes(t *testing.T) {
	server := &little{}
	rep := judge(t, acme(server), Options{Run: []string{"contract.extendReservation"}}, withContract(t, check("a.b", unknown), check("a.c", unknown, needs(target.Frozen)))...)
	assert.Equal(t, report.Passed, only(t, rep).Outcome)
	assert.Equal(t, "contract.extendReservation", only(t, rep).ID)
}

func TestPassiveShouldWarns(t *testing.T) {
	grumble := suite.Check{
		ID: "a.grumble", Level: suite.Should, Section: "TEST", Requirement: "Nothing is right.",
		Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
			return true, []suite.Wrong{{Where: "body", What: "is wrong"}, {Where: "all", What: "is wrong"}}
		},
	}
	rep := judge(t, acme(&little{}), Options{}, check("a.b", unknown), grumble)
	res := result(t, rep, "a.grumble")
	assert.Equal(t, report.Warned, res.Outcome)
	assert.Equal(t, "all is wrong (and 1 finding more)", res.Got)
}

func TestFaultThatAnAnswerHasTwiceIsOneFindingInOneAnswer(t *testing.T) {
	twice := suite.Check{
		ID: "a.twice", Level: suite.Must, Section: "TEST", Requirement: "Nothing is right.",
		Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
			w := suite.Wrong{Where: "list[].amount", What: "is wrong"}
			return true, []suite.Wrong{w, w}
		},
	}
	rep := judge(t, acme(&little{}), Options{}, check("a.b", unknown), twice)
	res := result(t, rep, "a.twice")
	require.Len(t, res.Findings, 1)
	assert.Equal(t, 1, res.Findings[0].Count)
	assert.Equal(t, 1, strings.Count(account(res), "list[].amount is wrong"), "what was got is the finding, and is not told twice")
}

func TestServerThatSaysYesToEverythingPassesNoContract(t *testing.T) {
	yes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, `{}`) })
	rep := judge(t, acme(yes), Options{Profile: Full}, withContract(t, check("a.b", func(ctx context.Context, t *suite.T) {
		b := t.Budget(target.Funded)
		t.Do(ctx, t.Create(b, 1))
		for _, r := range []*suite.Request{
			t.Decide(b, 1), t.Event(b, 1), t.List(b.Tenant), t.Balances(b), t.Get(t.Stranger(b)), t.Commit(t.Stranger(b), 1),
			t.Release(t.Stranger(b)), t.Extend(t.Stranger(b), 1), t.Evidence(strings.Repeat("0", 64)), t.JWKS(),
		} {
			t.Do(ctx, r)
		}
	}, func(c *suite.Check) { c.Ops = Full.operations() }))...)
	for _, res := range rep.Results[1:] {
		assert.Equal(t, report.Failed, res.Outcome, res.ID)
	}
	assert.Len(t, rep.Results, 12)
}
