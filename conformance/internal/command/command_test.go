package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/internal/mocktarget"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// said is what a run of the command came to.
type said struct {
	code        int
	out, errors string
}

// call runs the command with the mock and without an environment.
func call(t *testing.T, args ...string) said {
	t.Helper()
	return callIn(t, t.Context(), nil, args...)
}

func callIn(t *testing.T, ctx context.Context, env map[string]string, args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	c := &Command{
		Stdout: &out, Stderr: &errs,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Mock:      mock,
	}
	code := c.Main(ctx, args)
	return said{code, out.String(), errs.String()}
}

func mock(virtual, legacy bool) conformance.Target {
	return mocktarget.New(mocktarget.Options{Virtual: virtual, Legacy: legacy})
}

const one = "extend.unknown-reservation"

func TestConformantServerExitsZero(t *testing.T) {
	s := call(t, "run", "--provision", "mock", "--run", one)
	assert.Equal(t, ExitConformant, s.code, s.errors)
	assert.Contains(t, s.out, "cycles-mock")
	assert.Contains(t, s.out, "profile runtime: CONFORMANT\n1 passed, 0 failed")
	assert.Empty(t, s.errors, "no progress where there is no terminal")
}

func TestUsageIsToldOnTheRightStream(t *testing.T) {
	s := call(t)
	assert.Equal(t, ExitUsage, s.code)
	assert.Contains(t, s.errors, "cycles-conformance run")
	assert.Empty(t, s.out)
	for _, help := range []string{"help", "-h", "--help"} {
		s = call(t, help)
		assert.Equal(t, ExitConformant, s.code)
		assert.Contains(t, s.out, "Exit status")
	}
	s = call(t, "run", "-h")
	assert.Equal(t, ExitConformant, s.code)
	assert.Contains(t, s.out, "-baseline")
	assert.Empty(t, s.errors)
}

func TestDocumentationOfTheCommandKnowsEverySubcommandAndStatus(t *testing.T) {
	main, err := os.ReadFile("../../cmd/cycles-conformance/main.go")
	require.NoError(t, err)
	doc, _, _ := strings.Cut(string(main), "\npackage main")
	for _, s := range (&Command{}).subcommands() {
		assert.Contains(t, doc, fmt.Sprintf("//\tcycles-conformance %-9s %s\n", s.name, s.about))
	}
	for _, status := range []int{ExitConformant, ExitNotConformant, ExitUsage, ExitUndecided} {
		assert.Contains(t, doc, fmt.Sprintf("//\t%d  ", status))
	}
}

func TestArgumentsThatMakeNoSenseExitTwo(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	twice := filepath.Join(t.TempDir(), "twice")
	require.NoError(t, os.WriteFile(twice, []byte("a.b\na.b\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"unknown command":     {[]string{"judge"}, `no command "judge"`},
		"unknown flag":        {[]string{"run", "--loud"}, "-loud"},
		"argument too many":   {[]string{"run", "now"}, `unexpected argument "now"`},
		"no target":           {[]string{"run"}, "which server?"},
		"unknown profile":     {[]string{"run", "--provision", "mock", "--profile", "huge"}, `unknown profile "huge"`},
		"unknown id":          {[]string{"run", "--provision", "mock", "--run", "extend.unknown-reservatio"}, `did you mean "extend.unknown-reservation"?`},
		"unknown id to skip":  {[]string{"run", "--provision", "mock", "--skip", "zzz"}, `no check "zzz"`},
		"unreadable pattern":  {[]string{"run", "--provision", "mock", "--run", "a[.*"}, "cannot be read"},
		"negative rate":       {[]string{"run", "--provision", "mock", "--rate", "-1"}, "negative"},
		"no timeout":          {[]string{"run", "--provision", "mock", "--timeout", "0s"}, "more than zero"},
		"virtual elsewhere":   {[]string{"run", "--url", "http://h", "--virtual"}, "--virtual"},
		"unknown provisioner": {[]string{"run", "--url", "http://h", "--provision", "magic"}, `no kind "magic"`},
		"admin without key":   {[]string{"run", "--url", "http://h", "--provision", "admin"}, "needs a key"},
		"no key":              {[]string{"run", "--url", "http://h", "--budget", "tenant:acme,TOKENS"}, "--key-a or CYCLES_KEY_A"},
		"no key of tenant b":  {[]string{"run", "--url", "http://h", "--key-a", "k", "--budget", "tenant:acme,TOKENS", "--budget-b", "tenant:other,TOKENS"}, "--key-b or CYCLES_KEY_B"},
		"bad base URL":        {[]string{"run", "--url", "host:80", "--key-a", "k"}, "base URL"},
		"bad budget":          {[]string{"run", "--url", "http://h", "--budget", "acme"}, "SCOPE,UNIT"},
		"bad scope":           {[]string{"run", "--url", "http://h", "--budget", "acme,TOKENS"}, "not like tenant:acme"},
		"bad allocation":      {[]string{"run", "--url", "http://h", "--budget", "tenant:acme,TOKENS,lots"}, "not a whole number"},
		"bad unit":            {[]string{"run", "--url", "http://h", "--key-a", "k", "--budget", "tenant:acme,EUR"}, `unit "EUR"`},
		"no target file":      {[]string{"run", "--target", none}, "no such file"},
		"no baseline":         {[]string{"run", "--provision", "mock", "--baseline", none}, "no such file"},
		"bad baseline":        {[]string{"run", "--provision", "mock", "--baseline", twice}, "stands there twice"},
		"no certificates":     {[]string{"run", "--url", "https://h", "--ca", none}, "no such file"},
		"empty certificates":  {[]string{"run", "--url", "https://h", "--ca", twice}, "holds no certificate"},
		"explain what":        {[]string{"explain"}, "which check?"},
		"explain unknown":     {[]string{"explain", "zzz"}, `no check "zzz"`},
		"list unknown":        {[]string{"list", "--run", "zzz"}, `no check "zzz"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := call(t, c.args...)
			assert.Equal(t, ExitUsage, s.code)
			assert.Contains(t, s.errors, c.says)
			assert.Empty(t, s.out)
		})
	}
}

func TestNothingSelectedExitsThree(t *testing.T) {
	for _, args := range [][]string{{"--run", "nothing.*"}, {"--run", one, "--skip", "extend.*"}} {
		s := call(t, append([]string{"run", "--provision", "mock"}, args...)...)
		assert.Equal(t, ExitUndecided, s.code)
		assert.Contains(t, s.errors, "no check matches the selection")
		assert.Empty(t, s.out)
	}
}

func TestOnlySkippedChecksExitThree(t *testing.T) {
	s := call(t, "run", "--provision", "mock", "--run", "contract.getEvidence")
	assert.Equal(t, ExitUndecided, s.code)
	assert.Contains(t, s.out, "UNDECIDED\n0 passed")
}

func TestInterruptedRunExitsThree(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := callIn(t, ctx, nil, "run", "--provision", "mock", "--run", one)
	assert.Equal(t, ExitUndecided, s.code)
	assert.NotContains(t, s.out, " CONFORMANT")
}

func TestListNamesWhatTheSelectionRuns(t *testing.T) {
	all := call(t, "list")
	require.Equal(t, ExitConformant, all.code)
	assert.Contains(t, all.out, "MUST   core    "+one)
	core := call(t, "list", "--profile", "core")
	assert.Less(t, strings.Count(core.out, "\n"), strings.Count(all.out, "\n"))
	assert.NotContains(t, core.out, "contract.getBalances")

	s := call(t, "list", "--run", "extend.*", "--json")
	var infos []conformance.Info
	require.NoError(t, json.Unmarshal([]byte(s.out), &infos))
	require.NotEmpty(t, infos)
	for _, i := range infos {
		assert.True(t, strings.HasPrefix(i.ID, "extend."))
		assert.NotEmpty(t, i.Requirement)
	}
}

func TestExplainTellsAllThereIsToKnow(t *testing.T) {
	s := call(t, "explain", one)
	assert.Equal(t, ExitConformant, s.code)
	for _, part := range []string{one, "MUST", "404 NOT_FOUND", "core", "extendReservation", "funded: a budget of tenant a"} {
		assert.Contains(t, s.out, part)
	}
	s = call(t, "explain", "contract.*")
	assert.Equal(t, 11, strings.Count(s.out, "judges the answers"))
}

func TestFixturesAreWhatAnExecCommandReads(t *testing.T) {
	s := call(t, "fixtures", "--run", one, "--json")
	var r target.ExecRequest
	require.NoError(t, json.Unmarshal([]byte(s.out), &r))
	assert.Equal(t, "provision", r.Action)
	require.Len(t, r.Fixtures, 1)
	assert.Equal(t, target.Funded, r.Fixtures[0].Kind)

	s = call(t, "fixtures", "--run", one)
	assert.Equal(t, 1, strings.Count(s.out, "\n"))
	assert.Contains(t, s.out, "funded ")
}

func TestInitWritesATargetFileThatCanBeRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "target.yaml")
	s := call(t, "init", name)
	require.Equal(t, ExitConformant, s.code, s.errors)
	assert.Contains(t, s.errors, "wrote "+name)
	f, err := target.ReadFile(name, func(v string) (string, bool) { return "key-of-" + v, true })
	require.NoError(t, err)
	tgt, err := f.Target(nil)
	require.NoError(t, err)
	assert.Equal(t, "key-of-CYCLES_KEY_A", tgt.A.APIKey)
	assert.Len(t, tgt.Fixtures, 2)

	s = call(t, "init", name)
	assert.Equal(t, ExitUsage, s.code)
	assert.Contains(t, s.errors, "exists already")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, string(text), call(t, "init").out)
	assert.Equal(t, ExitUndecided, call(t, "init", filepath.Join(name, "x")).code)
}

func TestReportsGoWhereTheyAreAskedFor(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("r.json"), []byte("old"), 0o600))
	s := call(t, "run", "--provision", "mock", "--run", one, "--json", at("r.json"), "--junit", at("r.xml"), "--html", at("r.html"), "--badge", at("b.json"), "--write-baseline", at("base"))
	require.Equal(t, ExitConformant, s.code, s.errors)
	for name, part := range map[string]string{
		"r.json": `"verdict": "conformant"`, "r.xml": `<testcase name="` + one, "r.html": "<!DOCTYPE html>", "b.json": `"message": "runtime: conformant"`, "base": "# Checks that cycles-mock",
	} {
		text, err := os.ReadFile(at(name))
		require.NoError(t, err)
		assert.Contains(t, string(text), part)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 5, "no temporary file stays behind")

	s = call(t, "run", "--provision", "mock", "--run", one, "--json", "-")
	var rep report.Report
	require.NoError(t, json.Unmarshal([]byte(s.out), &rep), "standard output is JSON and nothing else")
	assert.Equal(t, 1, rep.Counts.Pass)
}

func TestReportThatCannotBeWrittenIsFoundOutBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "r.json"), dir, filepath.Join(os.Args[0], "r.json")} {
		var asked bool
		var out, errs bytes.Buffer
		c := &Command{Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv, Mock: func(bool, bool) conformance.Target {
			t := mock(false, false)
			t.Provisioner = provisionerFunc(func() { asked = true })
			return t
		}}
		code := c.Main(t.Context(), []string{"run", "--provision", "mock", "--html", filepath.Join(dir, "ok.html"), "--json", path})
		assert.Equal(t, ExitUndecided, code)
		assert.Contains(t, errs.String(), "a report cannot be written")
		assert.Empty(t, out.String())
		assert.False(t, asked)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

type provisionerFunc func()

func (f provisionerFunc) Provision(context.Context, target.Wanted) (*target.Provisioned, error) {
	f()
	return &target.Provisioned{}, nil
}

func TestTerminalShowsProgressAndColors(t *testing.T) {
	var out, errs bytes.Buffer
	c := &Command{Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv, Terminal: true, Mock: mock}
	require.Equal(t, ExitConformant, c.Main(t.Context(), []string{"run", "--provision", "mock", "--run", one, "-v"}))
	assert.Contains(t, errs.String(), "1/1  "+one)
	assert.True(t, strings.HasSuffix(errs.String(), "\r\x1b[K"))
	assert.Contains(t, out.String(), "\x1b[32mpass")

	out.Reset()
	require.Equal(t, ExitConformant, c.Main(t.Context(), []string{"run", "--provision", "mock", "--run", one, "--no-color"}))
	assert.NotContains(t, out.String(), "\x1b")
}
