// Recovery-adapter shows that this module keeps the recovery profile of the
// protocol family: what a client must do for money that was spent and is not in
// the ledger yet. A harness calls it once per scenario:
//
//	recovery-adapter [-C directory] SCENARIO-ID  < scenario.json
//
// It reads the scenario (id, level, name, precondition, faults) from standard
// input, runs the tests of this module that set that scenario up (scenarios.go
// names them), and prints one JSON object and nothing else:
//
//	{"scenario_id":"CR-CORE-001","passed":true,"native_tests":[...],"diagnostic":"..."}
//
// A scenario passes only when the test runner reported a pass for each of its
// tests by name: a test that was renamed, skipped or removed fails it. What a
// scenario expects is in the tests. Input that wants to tell (expected_requests,
// assertions) is refused, since an adapter that knew the answers could give them
// without doing the work.
//
// The exit status is 0 when the scenario passed, 1 when it did not, 2 when the
// input was refused.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, goTest))
}

// verdict is what is printed.
type verdict struct {
	ScenarioID  string   `json:"scenario_id"`
	Passed      bool     `json:"passed"`
	NativeTests []string `json:"native_tests"`
	Diagnostic  string   `json:"diagnostic"`
}

const (
	exitPassed  = 0
	exitFailed  = 1
	exitRefused = 2
)

func run(ctx context.Context, args []string, in io.Reader, out io.Writer, test runner) int {
	flags := flag.NewFlagSet("recovery-adapter", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("C", ".", "a directory inside the module")
	v := verdict{NativeTests: []string{}}
	exit := exitRefused
	err := flags.Parse(args)
	switch {
	case err != nil:
		v.Diagnostic = err.Error()
	case flags.NArg() == 0:
		v.Diagnostic = "the last argument must be a scenario id"
	default:
		v.ScenarioID = flags.Arg(flags.NArg() - 1)
		exit = judge(ctx, &v, *dir, in, test)
	}
	if err := json.NewEncoder(out).Encode(v); err != nil {
		return exitFailed
	}
	return exit
}

func judge(ctx context.Context, v *verdict, dir string, in io.Reader, test runner) int {
	if err := readScenario(in, v.ScenarioID); err != nil {
		v.Diagnostic = "refused: " + err.Error()
		return exitRefused
	}
	tests, ok := scenarios[v.ScenarioID]
	if !ok {
		v.Diagnostic = "refused: this profile has no such scenario"
		return exitRefused
	}
	for _, t := range tests {
		v.NativeTests = append(v.NativeTests, t.String())
	}
	events, err := test(ctx, dir, tests)
	if missing := notPassed(tests, events); len(missing) > 0 || err != nil {
		v.Diagnostic = explain(missing, err)
		return exitFailed
	}
	v.Passed = true
	v.Diagnostic = fmt.Sprintf("%d of %d tests passed", len(tests), len(tests))
	return exitPassed
}
