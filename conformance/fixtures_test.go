package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func ledger(id string) *target.Fixture {
	return &target.Fixture{Kind: target.Ledger, ID: id, Budgets: []*target.Budget{{
		Subject: map[string]string{"tenant": "acme", "workspace": id}, Unit: "TOKENS", Allocated: 1000,
	}}}
}

func TestCheckWithoutItsFixtureIsSkippedAndNamesIt(t *testing.T) {
	for kind, reason := range map[target.Kind]string{
		target.Frozen:         "the target lacks fixture frozen",
		target.TenantB:        "the target lacks tenant-b",
		target.AdminKey:       "the target lacks admin-key",
		target.Evidence:       "the target lacks evidence",
		target.CanCloseTenant: "the target lacks can-close-tenant",
	} {
		rep := judge(t, acme(&little{}), Options{}, check("a.b", passing, needs(target.Funded, kind)), check("a.c", unknown))
		res := result(t, rep, "a.b")
		assert.Equal(t, report.Skipped, res.Outcome)
		assert.Equal(t, reason, res.Reason)
		assert.Equal(t, report.Conformant, rep.Verdict)
	}
}

func TestProvisionerThatMakesNothingIsToldWhatIsMissing(t *testing.T) {
	tgt := acme(&little{})
	tgt.Fixtures, tgt.Provisioner = nil, &maker{}
	rep := judge(t, tgt, Options{}, check("a.b", passing, needs(target.Ledger, target.Funded, target.AdminKey)), check("a.c", passing))
	assert.Equal(t, []string{"ledger", "funded", "admin-key"}, result(t, rep, "a.b").Lacks)
	assert.Equal(t, report.Undecided, rep.Verdict)

	var got told
	conclude(&got, rep)
	assert.Equal(t, told{errors: []string{rep.Shortfall()}}, got)
	assert.Contains(t, rep.Shortfall(), "missing are: admin-key, funded, ledger")
	assert.Contains(t, rep.Shortfall(), "kind funded")
}

// maker makes what it is told to and remembers what it was asked.
type maker struct {
	target.Controller
	asked target.Wanted
	made  target.Provisioned
	err   error
}

// Can is of those a controller that cannot do a thing.
func (m *maker) Can(target.Kind) bool { return false }

func (m *maker) Provision(_ context.Context, w target.Wanted) (*target.Provisioned, error) {
	m.asked = w
	return &m.made, m.err
}

func TestProvisionerIsAskedForWhatIsMissingOnly(t *testing.T) {
	m := &maker{}
	tgt := acme(&little{answer: balances(map[string]string{"l": fresh})})
	tgt.Provisioner = m
	tgt.Fixtures = append(tgt.Fixtures, ledger("l"))
	judge(t, tgt, Options{Profile: Core},
		check("a.b", passing, needs(target.Funded, target.Ledger)),
		check("a.c", passing, needs(target.Ledger, target.Frozen)),
		check("a.d", passing, needs(target.Ledger, target.Frozen)),
		check("a.e", passing, needs(target.Nested), func(c *suite.Check) { c.Ops = []suite.Op{suite.Event} }),
		check("a.f", passing, needs(target.AdminKey, target.CanFreeze)))
	assert.Equal(t, []target.Want{
		{Kind: target.Ledger, ID: "ledger-1"}, {Kind: target.Ledger, ID: "ledger-2"}, {Kind: target.Frozen, ID: "frozen"},
	}, m.asked.Fixtures, "one ledger is there, frozen is shared, and nothing for a check that is not in the profile")
	assert.Regexp(t, "^cf[0-9a-f]{8}$", m.asked.Run)
}

func TestEveryCheckGetsAnExclusiveFixtureOfItsOwn(t *testing.T) {
	tgt := acme(&little{})
	tgt.Provisioner = &maker{made: target.Provisioned{Fixtures: []*target.Fixture{ledger("one"), ledger("two")}}}
	got := make(chan string, 3)
	note := func(_ context.Context, t *suite.T) { got <- t.Fixture(target.Ledger).ID }
	rep := judge(t, tgt, Options{}, check("a.b", note, needs(target.Ledger)), check("a.c", note, needs(target.Ledger)), check("a.d", note, needs(target.Ledger)))
	close(got)
	var ids []string
	for id := range got {
		ids = append(ids, id)
	}
	assert.ElementsMatch(t, []string{"one", "two"}, ids)
	assert.Equal(t, "every fixture ledger is used up", result(t, rep, "a.d").Reason)
}

func TestTenantsAndAdminKeyOfTheProvisionerReplaceThoseOfTheTarget(t *testing.T) {
	tgt := acme(&little{})
	tgt.Provisioner = &maker{made: target.Provisioned{
		A: target.Tenant{ID: "made-a", APIKey: "key-of-made-a"}, B: target.Tenant{ID: "made-b", APIKey: "key-of-made-b"}, AdminKey: "admin",
	}}
	tgt.Fixtures = nil
	rep := judge(t, tgt, Options{}, check("a.b", func(_ context.Context, t *suite.T) {
		if t.TenantA().ID != "made-a" || t.TenantB().APIKey != "key-of-made-b" || t.AdminKey() != "admin" {
			t.Fail("the provisioner's", "the target's")
		}
	}, needs(target.TenantB, target.AdminKey)))
	assert.Equal(t, report.Passed, only(t, rep).Outcome, only(t, rep))
}

func TestFixtureThatCannotBeRightIsRefusedBeforeAnyCheck(t *testing.T) {
	for name, f := range map[string]*target.Fixture{
		"nil":               nil,
		"nil budget":        {Kind: target.Ledger, Budgets: []*target.Budget{nil}},
		"unknown kind":      {Kind: "gold"},
		"ability":           {Kind: target.AdminKey},
		"budget missing":    {Kind: target.Ledger},
		"budget too many":   {Kind: target.RevokedKey, Budgets: ledger("x").Budgets},
		"unknown unit":      {Kind: target.Ledger, Budgets: []*target.Budget{{Subject: map[string]string{"tenant": "acme"}, Unit: "EUR"}}},
		"budget unanchored": {Kind: target.Ledger, Budgets: []*target.Budget{{Unit: "TOKENS"}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &little{}
			tgt := acme(server)
			tgt.Fixtures = append(tgt.Fixtures, f)
			_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
			var usage *UsageError
			require.ErrorAs(t, err, &usage)

			tgt = acme(server)
			tgt.Provisioner = &maker{made: target.Provisioned{Fixtures: []*target.Fixture{f}}}
			_, err = run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
			var start *StartError
			require.ErrorAs(t, err, &start)
			assert.Zero(t, server.requests)
		})
	}
}

func TestKeyThatIsMissingIsNamedBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Target)
		says []string
	}{
		"of tenant a": {func(t *Target) { t.A.APIKey = "" }, []string{"tenant a has no API key", "--key-a", "CYCLES_KEY_A"}},
		"of tenant b": {func(t *Target) {
			t.Fixtures = append(t.Fixtures, &target.Fixture{Kind: target.FundedB, Budgets: t.Fixtures[0].Budgets})
		}, []string{"fixture funded-b has no API key", "--key-b", "CYCLES_KEY_B"}},
		"of a fixture's own tenant": {func(t *Target) { t.Fixtures[0].Tenant.ID = "third" }, []string{"fixture funded has no API key", `"third"`}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &little{}
			tgt := acme(server)
			c.edit(&tgt)
			_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
			var usage *UsageError
			require.ErrorAs(t, err, &usage)

			tgt.Provisioner = &maker{}
			_, err = run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
			var start *StartError
			require.ErrorAs(t, err, &start)
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
				assert.ErrorContains(t, usage, part)
			}
			assert.Zero(t, server.requests)
		})
	}
}

func TestProvisionerThatFailsEndsTheRun(t *testing.T) {
	tgt := acme(&little{})
	cause := errors.New("no database")
	tgt.Provisioner = &maker{err: cause}
	_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
	require.ErrorIs(t, err, cause)
	assert.ErrorContains(t, err, "making the fixtures")
}

func TestProvisionerThatReturnsNothingAtAllEndsTheRun(t *testing.T) {
	tgt := acme(&little{})
	tgt.Provisioner = mute{}
	_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
	var start *StartError
	require.ErrorAs(t, err, &start)
	assert.ErrorContains(t, err, "neither a result nor an error")
}

// mute is a provisioner that has nothing to say.
type mute struct{}

func (mute) Provision(context.Context, target.Wanted) (*target.Provisioned, error) { return nil, nil }

const (
	fresh = `{"scope":"s","scope_path":"tenant:acme/workspace:%s","remaining":{"unit":"TOKENS","amount":1000}}`
	spent = `{"scope":"s","scope_path":"tenant:acme/workspace:%s","remaining":{"unit":"TOKENS","amount":900},"spent":{"unit":"TOKENS","amount":100}}`
)

// balances answers getBalances by workspace, each after an empty page.
func balances(of map[string]string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/balances") {
			return false
		}
		workspace := r.URL.Query().Get("workspace")
		switch {
		case of[workspace] == "":
			say(w, http.StatusOK, `{"balances":[]}`)
		case r.URL.Query().Get("cursor") == "":
			say(w, http.StatusOK, `{"balances":[],"next_cursor":"two","has_more":true}`)
		default:
			say(w, http.StatusOK, `{"balances":[`+fmt.Sprintf(of[workspace], workspace)+`]}`)
		}
		return true
	}
}

func TestListedFixtureThatAnEarlierRunUsedUpIsNotHandedOut(t *testing.T) {
	tgt := acme(&little{answer: balances(map[string]string{"used": spent, "fresh": fresh})})
	tgt.Fixtures = append(tgt.Fixtures, ledger("used"), ledger("invisible"), ledger("fresh"))
	var got []string
	note := func(_ context.Context, t *suite.T) { got = append(got, t.Fixture(target.Ledger).ID) }
	rep := judge(t, tgt, Options{Parallel: 1}, check("a.b", note, needs(target.Ledger)), check("a.c", note, needs(target.Ledger)))
	assert.Equal(t, []string{"fresh"}, got)
	assert.Equal(t, report.Counts{Pass: 1, Skip: 1}, rep.Counts)
}

func TestListedFixtureIsNotHandedOutWhereBalancesCannotBeRead(t *testing.T) {
	tgt := acme(&little{answer: balances(map[string]string{"fresh": fresh})})
	tgt.Fixtures = append(tgt.Fixtures, ledger("fresh"))
	rep := judge(t, tgt, Options{Profile: Core}, check("a.b", passing, needs(target.Ledger)), check("a.c", unknown))
	assert.Equal(t, report.Skipped, result(t, rep, "a.b").Outcome)
}

func TestTargetIsNotWrittenTo(t *testing.T) {
	tgt := acme(&little{})
	before := *tgt.Fixtures[0]
	budget := *before.Budgets[0]
	judge(t, tgt, Options{}, check("a.b", unknown))
	assert.Equal(t, before, *tgt.Fixtures[0])
	assert.Equal(t, budget, *tgt.Fixtures[0].Budgets[0])
	assert.Equal(t, 1, len(tgt.Fixtures))
}

func TestEveryKindIsInTheCatalogueOnceAndCanBeDescribed(t *testing.T) {
	var kinds []target.Kind
	for _, spec := range target.Catalogue() {
		assert.NotContains(t, kinds, spec.Kind)
		assert.NotEmpty(t, spec.About)
		kinds = append(kinds, spec.Kind)
	}
	for _, w := range missing(nil, []suite.Check{{Needs: kinds}}) {
		assert.True(t, slices.Contains(kinds, w.Kind))
		assert.Len(t, target.Describe([]target.Want{w}), 1)
	}
}
