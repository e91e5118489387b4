package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// event is what `go test -json` says; subtests and output are of no interest.
type event struct {
	Action, Package, Test string
}

// runner runs tests in the module around dir and gives the runner's events. An
// error comes beside the events that there were.
type runner func(ctx context.Context, dir string, tests []nativeTest) ([]event, error)

// goTest runs exactly the named tests, uncached, package by package.
func goTest(ctx context.Context, dir string, tests []nativeTest) ([]event, error) {
	byPackage := map[string][]string{}
	for _, t := range tests {
		byPackage[t.importPath()] = append(byPackage[t.importPath()], t.name)
	}
	var events []event
	var errs []error
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-run", "^("+strings.Join(byPackage[pkg], "|")+")$", pkg)
		cmd.Dir = dir
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil {
			errs = append(errs, fmt.Errorf("go test %s: %w %s", pkg, err, strings.TrimSpace(complaints.String())))
		}
		events = append(events, parse(out)...)
	}
	return events, errors.Join(errs...)
}

// parse reads the event stream; a line that is none is passed over.
func parse(out []byte) []event {
	var events []event
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Test != "" {
			events = append(events, e)
		}
	}
	return events
}

// notPassed lists the tests that have no pass event, or something else beside
// it. Go calls a run without any matching test a success, so silence counts for
// nothing. A test is not passed either when a part of it was skipped.
func notPassed(tests []nativeTest, events []event) []string {
	var missing []string
	for _, t := range tests {
		passed, spoiled := false, ""
		for _, e := range events {
			own := e.Test == t.name
			part := strings.HasPrefix(e.Test, t.name+"/")
			if e.Package != t.importPath() || !own && !part {
				continue
			}
			switch e.Action {
			case "pass":
				passed = passed || own
			case "fail", "skip":
				spoiled = e.Action
			}
		}
		switch {
		case spoiled != "":
			missing = append(missing, t.String()+": "+spoiled)
		case !passed:
			missing = append(missing, t.String()+": no such test ran")
		}
	}
	return missing
}

func explain(missing []string, err error) string {
	text := strings.Join(missing, "; ")
	if err != nil {
		text = strings.TrimPrefix(text+"; "+err.Error(), "; ")
	}
	return text
}
