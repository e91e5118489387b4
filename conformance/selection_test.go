package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

func ids(checks []suite.Check) []string {
	var out []string
	for _, c := range checks {
		out = append(out, c.ID)
	}
	return out
}

func TestSelectionByIDAndPattern(t *testing.T) {
	all := []suite.Check{{ID: "extend.unknown"}, {ID: "extend.replay"}, {ID: "commit.replay"}}
	for name, c := range map[string]struct {
		run, skip, want []string
	}{
		"everything":    {nil, nil, []string{"extend.unknown", "extend.replay", "commit.replay"}},
		"one id":        {[]string{"extend.replay"}, nil, []string{"extend.replay"}},
		"an area":       {[]string{"extend.*"}, nil, []string{"extend.unknown", "extend.replay"}},
		"across areas":  {[]string{"*.replay"}, nil, []string{"extend.replay", "commit.replay"}},
		"skip wins":     {[]string{"extend.*", "commit.replay"}, []string{"*.replay"}, []string{"extend.unknown"}},
		"only skipping": {nil, []string{"extend.unknown"}, []string{"extend.replay", "commit.replay"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(all, c.run, c.skip)
			require.NoError(t, err)
			assert.Equal(t, c.want, ids(got))
		})
	}
}

func TestSelectionThatMakesNoSense(t *testing.T) {
	all := []suite.Check{{ID: "extend.unknown"}, {ID: "extend.replay"}}
	var usage *UsageError

	_, err := choose(all, []string{"extend.replays"}, nil)
	require.ErrorAs(t, err, &usage)
	assert.ErrorContains(t, err, `did you mean "extend.replay"?`)

	_, err = choose(all, nil, []string{"zzz"})
	require.ErrorAs(t, err, &usage)
	assert.ErrorContains(t, err, `there is no check "zzz"`)

	_, err = choose(all, []string{"ext[.*"}, nil)
	require.ErrorAs(t, err, &usage)

	_, err = choose(all, []string{"release.*"}, nil)
	require.ErrorIs(t, err, ErrNothingSelected)
	_, err = choose(all, []string{"extend.*"}, []string{"*"})
	require.ErrorIs(t, err, ErrNothingSelected)
}

func TestProfileAndEditionDecideWhatApplies(t *testing.T) {
	for name, c := range map[string]struct {
		check   suite.Check
		options Options
		applies bool
	}{
		"core operation in core":         {suite.Check{Ops: []suite.Op{suite.Extend}}, Options{Profile: Core}, true},
		"optional operation in core":     {suite.Check{Ops: []suite.Op{suite.Extend, suite.Get}}, Options{Profile: Core}, false},
		"optional operation in runtime":  {suite.Check{Ops: []suite.Op{suite.Event}}, Options{Profile: Runtime}, true},
		"evidence in runtime":            {suite.Check{Ops: []suite.Op{suite.JWKS}}, Options{Profile: Runtime}, false},
		"evidence in full":               {suite.Check{Ops: []suite.Op{suite.Evidence}}, Options{Profile: Full}, true},
		"current edition on legacy":      {suite.Check{Edition: suite.Current}, Options{Profile: Core, Legacy: true}, false},
		"any edition on legacy":          {suite.Check{}, Options{Profile: Core, Legacy: true}, true},
		"legacy check on current server": {suite.Check{Edition: suite.LegacyOnly}, Options{Profile: Core}, false},
		"legacy check on legacy server":  {suite.Check{Edition: suite.LegacyOnly}, Options{Profile: Core, Legacy: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.applies, applies(&c.check, c.options) == "")
		})
	}
}

func TestUndeclaredOperationSkipsTheCheck(t *testing.T) {
	rep := judge(t, acme(&little{}), Options{Profile: Core}, check("a.b", passing, func(c *suite.Check) { c.Ops = []suite.Op{suite.Decide} }), check("a.c", unknown))
	assert.Equal(t, report.Skipped, result(t, rep, "a.b").Outcome)
	assert.Equal(t, "operation decide is not in profile core", result(t, rep, "a.b").Reason)
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"profile":  {Profile: "huge"},
		"parallel": {Parallel: -1},
		"rate":     {Rate: -1},
		"timeout":  {CheckTimeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &little{}
			_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, acme(server), o)
			var usage *UsageError
			require.ErrorAs(t, err, &usage)
			assert.Zero(t, server.requests)
		})
	}
}

func TestTargetThatMakesNoSenseIsRefused(t *testing.T) {
	for name, url := range map[string]string{
		"nowhere": "", "another scheme": "ftp://host", "no host": "http:///x", "a password": "http://u:p@host", "a query": "http://host?x=1", "not a URL": "http://[",
	} {
		t.Run(name, func(t *testing.T) {
			tgt := acme(nil)
			tgt.Handler, tgt.BaseURL = nil, url
			_, err := run(t.Context(), []suite.Check{check("a.b", passing)}, tgt, Options{})
			var usage *UsageError
			require.ErrorAs(t, err, &usage)
			assert.NotContains(t, err.Error(), "u:p")
		})
	}
}

func TestBaselineMakesKnownFailuresConformantAndStaleEntriesNot(t *testing.T) {
	broken := &little{answer: answering(410, `{}`)}
	checks := []suite.Check{check("a.fails", unknown), check("a.passes", passing), check("a.skips", func(_ context.Context, t *suite.T) { t.Skip("no") })}
	for name, c := range map[string]struct {
		entries []string
		options Options
		verdict report.Verdict
		stale   []string
	}{
		"empty":            {nil, Options{}, report.NotConformant, []string{}},
		"knows it":         {[]string{"a.fails"}, Options{}, report.Conformant, []string{}},
		"stale":            {[]string{"a.fails", "a.passes"}, Options{}, report.NotConformant, []string{"a.passes"}},
		"names no check":   {[]string{"a.fails", "a.gone"}, Options{}, report.NotConformant, []string{"a.gone"}},
		"names a skip":     {[]string{"a.fails", "a.skips"}, Options{}, report.Conformant, []string{}},
		"names unselected": {[]string{"a.fails", "a.skips"}, Options{Skip: []string{"a.skips"}}, report.Conformant, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Baseline = report.NewBaseline(c.entries...)
			rep := judge(t, acme(broken), c.options, checks...)
			assert.Equal(t, c.verdict, rep.Verdict)
			assert.Equal(t, c.stale, rep.Baseline.Stale)
		})
	}
}
