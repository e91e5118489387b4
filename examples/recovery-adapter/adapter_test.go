package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func scenarioJSON(id string) string {
	return fmt.Sprintf(`{"id":%q,"level":"core","name":"n","precondition":{"reservation":"active"},"faults":[{"operation":"commit"}]}`, id)
}

// call runs the adapter and checks that it prints one object and nothing else.
func call(t *testing.T, test runner, input string, args ...string) (verdict, int) {
	t.Helper()
	var out bytes.Buffer
	exit := run(t.Context(), args, strings.NewReader(input), &out, test)
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	var v verdict
	require.NoError(t, dec.Decode(&v))
	assert.Equal(t, io.EOF, dec.Decode(new(any)))
	return v, exit
}

// passing is a runner under which every test passes.
func passing(_ context.Context, _ string, tests []nativeTest) ([]event, error) {
	var events []event
	for _, t := range tests {
		events = append(events, event{"run", t.importPath(), t.name}, event{"pass", t.importPath(), t.name})
	}
	return events, nil
}

func never(context.Context, string, []nativeTest) ([]event, error) {
	return nil, errors.New("must not be called")
}

func TestProfileHasItsTwelveScenarios(t *testing.T) {
	var want []string
	for level, n := range map[string]int{"CORE": 4, "DURABLE": 7, "BOUNDARY": 1} {
		for i := range n {
			want = append(want, fmt.Sprintf("CR-%s-%03d", level, i+1))
		}
	}
	assert.ElementsMatch(t, want, slices.Collect(maps.Keys(scenarios)))
	for id, tests := range scenarios {
		v, exit := call(t, passing, scenarioJSON(id), id)
		assert.Equal(t, exitPassed, exit)
		assert.True(t, v.Passed)
		assert.Equal(t, id, v.ScenarioID)
		assert.Len(t, v.NativeTests, len(tests))
	}
}

// All tests that the scenarios name run for real, in one go for each package,
// and each scenario is judged by what the runner said.
func TestAllScenariosPass(t *testing.T) {
	var all []nativeTest
	for _, tests := range scenarios {
		all = append(all, tests...)
	}
	events, err := goTest(t.Context(), ".", all)
	require.NoError(t, err)
	ran := func(context.Context, string, []nativeTest) ([]event, error) { return events, nil }
	for id := range scenarios {
		v, exit := call(t, ran, scenarioJSON(id), id)
		assert.Equal(t, exitPassed, exit, "%s: %s", id, v.Diagnostic)
	}
}

func TestInputIsRefused(t *testing.T) {
	const id = "CR-CORE-001"
	for name, c := range map[string]struct {
		input string
		args  []string
		says  string
	}{
		"no scenario named":       {scenarioJSON(id), nil, "last argument"},
		"unknown flag":            {scenarioJSON(id), []string{"-x", id}, "not defined"},
		"unknown scenario":        {scenarioJSON("CR-CORE-999"), []string{"CR-CORE-999"}, "no such scenario"},
		"nothing":                 {"", []string{id}, "not one JSON document"},
		"two documents":           {scenarioJSON(id) + scenarioJSON(id), []string{id}, "not one JSON document"},
		"no object":               {`[]`, []string{id}, "not a JSON object"},
		"another scenario":        {scenarioJSON("CR-CORE-002"), []string{id}, "id is not"},
		"no level":                {`{"id":"CR-CORE-001","name":"n"}`, []string{id}, "no level"},
		"expected requests":       {`{"id":"CR-CORE-001","level":"core","name":"n","expected_requests":[]}`, []string{id}, "answers"},
		"assertions":              {`{"id":"CR-CORE-001","level":"core","name":"n","assertions":null}`, []string{id}, "answers"},
		"answers somewhere below": {`{"id":"CR-CORE-001","level":"core","name":"n","faults":[{"then":{"assertions":[1]}}]}`, []string{id}, "answers"},
		"endless":                 {scenarioJSON(id) + strings.Repeat(" ", maxScenario), []string{id}, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			v, exit := call(t, never, c.input, c.args...)
			assert.Equal(t, exitRefused, exit)
			assert.False(t, v.Passed)
			assert.Contains(t, v.Diagnostic, c.says)
			assert.NotContains(t, v.Diagnostic, "must not be called")
		})
	}
}

// A module of its own in which the named test is as each case says. Go itself
// calls most of them a success.
func TestScenarioFailsWhenItsTestDoesNotPassByName(t *testing.T) {
	const id = "CR-CORE-003" // has one test
	name := scenarios[id][0].name
	for name, c := range map[string]struct {
		source string
		passed bool
		says   string
	}{
		"passes":          {`func ` + name + `(t *testing.T) {}`, true, "1 of 1"},
		"renamed":         {`func ` + name + `Renamed(t *testing.T) {}`, false, "no such test ran"},
		"absent":          {``, false, "no such test ran"},
		"skipped":         {`func ` + name + `(t *testing.T) { t.Skip("later") }`, false, "skip"},
		"fails":           {`func ` + name + `(t *testing.T) { t.Error("no") }`, false, "fail"},
		"part skipped":    {`func ` + name + `(t *testing.T) { t.Run("part", func(t *testing.T) { t.Skip() }) }`, false, "skip"},
		"does not build":  {`func ` + name + `(t *testing.T) { nonsense }`, false, "no such test ran"},
		"ends the runner": {`func ` + name + `(t *testing.T) { os.Exit(0) }`, false, "fail"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(path, content string) {
				path = filepath.Join(dir, path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
			}
			write("go.mod", "module "+strings.TrimSuffix(module, "/")+"\n\ngo 1.26.0\n")
			write("lease/x.go", "package lease\n")
			write("lease/x_test.go", "package lease\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\nfunc TestOther(t *testing.T) {}\n\n"+c.source+"\n")
			v, exit := call(t, goTest, scenarioJSON(id), "-C", dir, id)
			assert.Equal(t, c.passed, v.Passed, v.Diagnostic)
			assert.Equal(t, c.passed, exit == exitPassed)
			assert.Contains(t, v.Diagnostic, c.says)
		})
	}
}
