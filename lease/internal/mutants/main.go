// Command mutants breaks the lease package on purpose, one small edit at a time, and runs its tests against each: every
// break has to be caught. It is run from the module's root:
//
//	go run ./lease/internal/mutants [-run regexp] [-workers n] [-list]
//
// The source tree is never touched: the edited file is laid over the original for the build. It exits with 1 when a break
// survives, and with 2 when one no longer fits the source or does not build, or the tests fail with nothing broken.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// mutant is one deliberate break.
type mutant struct {
	// what says what is broken, in the words of the algorithm.
	what string
	// file is a file of the lease package; from occurs exactly once in it and becomes to.
	file, from, to string
}

// all lists every break, by the part of the package they are about.
func all() []mutant {
	var list []mutant
	for _, group := range [][]mutant{planningMutants, recoveryMutants, clockMutants, fallbackMutants, arithmeticMutants, managerMutants} {
		list = append(list, group...)
	}
	return list
}

// apply returns the broken source of a mutant.
func (m mutant) apply(dir string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(dir, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(m.from)); n != 1 {
		return nil, fmt.Errorf("%s: %q occurs %d times", m.file, m.from, n)
	}
	return bytes.Replace(source, []byte(m.from), []byte(m.to), 1), nil
}

// verdict is how the tests met a mutant.
type verdict struct {
	caught bool
	by     string // the test that failed first
	took   time.Duration
	err    error
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests with the mutant laid over the source.
func (m mutant) try(root string) verdict {
	started := time.Now()
	v := m.test(root)
	v.took = time.Since(started).Round(100 * time.Millisecond)
	return v
}

func (m mutant) test(root string) (v verdict) {
	broken, err := m.apply(filepath.Join(root, "lease"))
	if err != nil {
		return verdict{err: err}
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return verdict{err: err}
	}
	defer func() { v.err = errors.Join(v.err, os.RemoveAll(scratch)) }()
	over := filepath.Join(scratch, m.file)
	if err := os.WriteFile(over, broken, 0o600); err != nil {
		return verdict{err: err}
	}
	instead := map[string]string{filepath.Join(root, "lease", m.file): over}
	if inAlgorithm(m.file) {
		if v := judge(root, scratch, instead, true); v.caught || v.err != nil {
			return v
		}
	}
	return judge(root, scratch, instead, false)
}

// inAlgorithm tells the files of the pure algorithm and of its own tests. They build without the rest of the package, in
// a quarter of the time, so a break in them meets those tests first; one that survives them still meets all the others.
func inAlgorithm(file string) bool {
	switch file {
	case "doc.go", "event.go", "fallback.go", "millis.go", "schedule.go", "stopreason.go",
		"bounds_test.go", "clocktrouble_test.go", "fallback_test.go", "millis_test.go", "property_test.go",
		"recovery_test.go", "schedule_test.go", "vectors_test.go",
		"sim_test.go", "simaudit_test.go", "simnetwork_test.go", "simrun_test.go", "simserver_test.go":
		return true
	}
	return false
}

// judge runs the package's tests, or those of the algorithm alone, with some files taken from elsewhere.
func judge(root, scratch string, instead map[string]string, algorithmOnly bool) verdict {
	plan := map[string]string{}
	maps.Copy(plan, instead)
	if algorithmOnly {
		files, err := filepath.Glob(filepath.Join(root, "lease", "*.go"))
		if err != nil {
			return verdict{err: err}
		}
		for _, file := range files {
			if !inAlgorithm(filepath.Base(file)) {
				plan[file] = "" // as if it were not there
			}
		}
	}
	encoded, err := json.Marshal(map[string]any{"Replace": plan})
	if err != nil {
		return verdict{err: err}
	}
	overlay := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlay, encoded, 0o600); err != nil {
		return verdict{err: err}
	}
	cmd := exec.Command("go", "test", "-vet=off", "-failfast", "-timeout=90s", "-overlay="+overlay, "./lease")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return verdict{}
	case !errors.As(err, &exit):
		return verdict{err: err}
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return verdict{err: fmt.Errorf("does not build:\n%s", out)}
	}
	by := "a crash or a hang"
	if names := failedTest.FindAllSubmatch(out, -1); len(names) > 0 {
		by = string(names[len(names)-1][1])
	}
	return verdict{caught: true, by: by}
}

// unbroken runs both sets of tests on the source as it is: they have to pass for a verdict to mean anything.
func unbroken(root string) (v verdict) {
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return verdict{err: err}
	}
	defer func() { v.err = errors.Join(v.err, os.RemoveAll(scratch)) }()
	if v := judge(root, scratch, nil, true); v.caught || v.err != nil {
		return v
	}
	return judge(root, scratch, nil, false)
}

func main() {
	only := flag.String("run", "", "try only the breaks whose description matches")
	workers := flag.Int("workers", 2, "breaks tried at a time")
	list := flag.Bool("list", false, "list the breaks and try none")
	flag.Parse()
	code, err := run(os.Stdout, *only, max(1, *workers), *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	os.Exit(code)
}

func run(out io.Writer, only string, workers int, list bool) (int, error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return 2, err
	}
	root, err := os.Getwd()
	if err != nil {
		return 2, err
	}
	if _, err := os.Stat(filepath.Join(root, "lease", "schedule.go")); err != nil {
		return 2, fmt.Errorf("not at the module's root: %w", err)
	}
	var chosen []mutant
	for _, m := range all() {
		if wanted.MatchString(m.what) {
			chosen = append(chosen, m)
		}
	}
	if list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-12s %s\n", m.file, m.what)
		}
		return 0, nil
	}

	started := time.Now()
	if v := unbroken(root); v.err != nil {
		return 2, v.err
	} else if v.caught {
		return 2, fmt.Errorf("%s fails with nothing broken", v.by)
	}
	verdicts := make([]verdict, len(chosen))
	queue := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		group.Go(func() {
			for i := range queue {
				verdicts[i] = chosen[i].try(root)
				mu.Lock()
				fmt.Fprintln(out, line(chosen[i], verdicts[i]))
				mu.Unlock()
			}
		})
	}
	for i := range chosen {
		queue <- i
	}
	close(queue)
	group.Wait()
	return report(out, chosen, verdicts, time.Since(started))
}

func line(m mutant, v verdict) string {
	switch {
	case v.err != nil:
		return fmt.Sprintf("BROKEN    %s: %s: %v", m.file, m.what, v.err)
	case v.caught:
		return fmt.Sprintf("caught    %s: %s (%s, %v)", m.file, m.what, v.by, v.took)
	}
	return fmt.Sprintf("SURVIVED  %s: %s (%v)", m.file, m.what, v.took)
}

// report sums up; the first line that matters comes last.
func report(out io.Writer, chosen []mutant, verdicts []verdict, took time.Duration) (int, error) {
	caught, broken := 0, 0
	var open []string
	for i, v := range verdicts {
		switch {
		case v.err != nil:
			broken++
			open = append(open, line(chosen[i], v))
		case v.caught:
			caught++
		default:
			open = append(open, line(chosen[i], v))
		}
	}
	survived := len(chosen) - caught - broken
	fmt.Fprintf(out, "\n%d breaks in %v: %d caught, %d survived, %d no longer fit\n", len(chosen),
		took.Round(time.Second), caught, survived, broken)
	if len(open) > 0 {
		fmt.Fprintln(out, strings.Join(open, "\n"))
	}
	switch {
	case broken > 0:
		return 2, nil
	case survived > 0:
		return 1, nil
	}
	return 0, nil
}
