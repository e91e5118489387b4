//go:build defects

package checks_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// reds names, for each defect, what turns red of the whole suite.
const reds = "testdata/reds.txt"

// TestEachDefectTurnsExactlyTheseChecksRed runs the whole suite against every
// broken server: in memory, each check on a server of its own and a virtual
// clock. What turns red must be exactly what testdata/reds.txt says, so that a
// check that goes blind, or one that starts to see what is not its business,
// is noticed.
//
// `make defects` runs it; with -update it writes the file anew, for a person to
// read the difference.
func TestEachDefectTurnsExactlyTheseChecksRed(t *testing.T) {
	all := wholeSuite(t)
	var (
		mu   sync.Mutex
		seen = map[string]string{}
	)
	t.Run("defects", func(t *testing.T) {
		for _, d := range defects.All() {
			t.Run(d.ID, func(t *testing.T) {
				t.Parallel()
				red := all.red(t, d.Wrap)
				mu.Lock()
				defer mu.Unlock()
				seen[d.ID] = strings.Join(red, " ")
			})
		}
	})
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(&b, "%s: %s\n", id, seen[id])
	}
	if *update {
		require.NoError(t, os.WriteFile(reds, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(reds)
	require.NoError(t, err)
	said := map[string]string{}
	for line := range strings.Lines(string(want)) {
		id, red, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		said[id] = red
	}
	killed, musts := 0, map[string]bool{}
	for id, red := range seen {
		if red == "" {
			t.Errorf("%s turns nothing red", id)
			continue
		}
		killed++
		for c := range strings.FieldsSeq(red) {
			musts[c] = true
		}
		compare(t, id, said[id], red)
	}
	for id := range said {
		if _, ok := seen[id]; !ok {
			t.Errorf("%s is in %s and is no defect any more", id, reds)
		}
	}
	of := 0
	for _, c := range all.checks {
		if c.Level != suite.Must {
			continue
		}
		of++
		if !musts[c.ID] {
			t.Errorf("no defect turns %s red", c.ID)
		}
	}
	fmt.Printf("%d of %d defects killed; each of %d MUST checks turned red at least once\n", killed, len(seen), of)
}

// compare says what is new and what is missing, which is more than that two
// long lists differ.
func compare(t *testing.T, id, want, got string) {
	was, is := strings.Fields(want), strings.Fields(got)
	var differences []string
	for _, c := range is {
		if !slices.Contains(was, c) {
			differences = append(differences, "+"+c)
		}
	}
	for _, c := range was {
		if !slices.Contains(is, c) {
			differences = append(differences, "-"+c)
		}
	}
	if len(differences) > 0 {
		t.Errorf("%s turns other checks red than %s says: %s", id, reds, strings.Join(differences, " "))
	}
}

// red names what fails, and with a ~ in front what warns.
func (w whole) red(t testing.TB, wrap defects.Wrap) []string {
	var red []string
	for id, outcome := range w.outcomes(t, wrap) {
		switch outcome {
		case suite.Failed:
			red = append(red, id)
		case suite.Warned:
			red = append(red, "~"+id)
		}
	}
	slices.Sort(red)
	return red
}
