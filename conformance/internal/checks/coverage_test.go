package checks_test

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

const (
	// sentences lists what the protocol document says: first and last line,
	// level, digest, what it says in our words, and why no check tests it or what
	// of it no check can see.
	sentences = "testdata/normative.tsv"
	// coverage is the table that people read, made of the list and the checks.
	coverage = "../../COVERAGE.md"
	// protocolDocument is where a copy of the document lies on machines that have
	// one, next to the repository.
	protocolDocument = "../../../../shared/spec/cycles-protocol-v0.1.25.16.yaml"
)

// sentence is one thing that the document says.
type sentence struct {
	first, last                 int
	level, digest, gist, remark string
}

func (s sentence) lines() string {
	if s.first == s.last {
		return strconv.Itoa(s.first)
	}
	return fmt.Sprintf("%d-%d", s.first, s.last)
}

func normative(t *testing.T) []sentence {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(sentences))
	require.NoError(t, err)
	var all []sentence
	for line := range strings.Lines(string(raw)) {
		cell := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, cell, 6, "%q", line)
		first, err := strconv.Atoi(cell[0])
		require.NoError(t, err)
		last, err := strconv.Atoi(cell[1])
		require.NoError(t, err)
		require.LessOrEqual(t, first, last)
		all = append(all, sentence{first, last, cell[2], cell[3], cell[4], cell[5]})
	}
	require.True(t, slices.IsSortedFunc(all, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	}), "the sentences are in the order of the document")
	return all
}

// testedBy names the checks that say they test the sentence.
func testedBy(s sentence, all []suite.Check) []string {
	var ids []string
	for _, c := range all {
		if slices.ContainsFunc(c.Lines, func(n int) bool { return s.first <= n && n <= s.last }) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func TestEverySentenceHasACheckOrAReason(t *testing.T) {
	all := checks.All()
	for _, s := range normative(t) {
		assert.NotEmpty(t, s.gist, s.lines())
		assert.Contains(t, []string{"MUST", "SHOULD", "MAY", "REQUIRED", "RULE", "SCHEMA"}, s.level, s.lines())
		if s.remark == "" {
			assert.NotEmpty(t, testedBy(s, all), "%s has neither: %s", s.lines(), s.gist)
		}
	}
}

func TestEveryCheckTestsSentencesOfTheDocument(t *testing.T) {
	all := normative(t)
	for _, c := range checks.All() {
		for _, n := range c.Lines {
			assert.True(t, slices.ContainsFunc(all, func(s sentence) bool { return s.first <= n && n <= s.last }),
				"%s names line %d, which is no sentence of the list", c.ID, n)
		}
	}
}

func TestTheTableOfCoverageSaysWhatTheChecksSay(t *testing.T) {
	want := table(normative(t))
	if *update {
		require.NoError(t, os.WriteFile(filepath.FromSlash(coverage), []byte(want), 0o644))
	}
	got, err := os.ReadFile(filepath.FromSlash(coverage))
	require.NoError(t, err)
	if string(got) == want {
		return
	}
	was, is := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("COVERAGE.md is out of date from line %d on; `go test ./conformance/internal/checks -run Coverage -update` writes it:\n%s\n%s", i+1, was[i], is[i])
		}
	}
	t.Fatalf("COVERAGE.md is out of date: it has %d lines and should have %d", len(was), len(is))
}

// keywords are the words by which the document marks what is required.
var keywords = regexp.MustCompile(`\b(MUST|SHOULD|SHALL|MAY|REQUIRED|RECOMMENDED|NEVER)\b`)

// The list has digests, so that it can be held against the document without
// quoting it. Where no copy lies beside the repository the digests wait for the
// next machine that has one.
func TestTheListIsThatOfTheDocument(t *testing.T) {
	raw, err := os.ReadFile(filepath.FromSlash(protocolDocument))
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("only the table was checked: there is no protocol document at %s", protocolDocument)
		return
	}
	require.NoError(t, err)
	document := strings.Split(string(raw), "\n")
	all := normative(t)
	for _, s := range all {
		require.LessOrEqual(t, s.last, len(document))
		text := strings.Join(strings.Fields(strings.Join(document[s.first-1:s.last], " ")), " ")
		assert.Equal(t, s.digest, fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16], "lines %s say something else: %s", s.lines(), s.gist)
	}
	for i, line := range document {
		if keywords.MatchString(line) {
			assert.True(t, slices.ContainsFunc(all, func(s sentence) bool { return s.first <= i+1 && i+1 <= s.last }),
				"line %d requires something and is not in the list: %s", i+1, line)
		}
	}
}

// table is the list for people.
func table(all []sentence) string {
	var every []string
	suiteChecks := checks.All()
	for _, c := range suiteChecks {
		every = append(every, c.ID)
	}
	var b strings.Builder
	counts := map[string]int{}
	var rows []string
	for _, s := range all {
		ids := testedBy(s, suiteChecks)
		switch {
		case len(ids) > 0:
			counts["tested"]++
		default:
			counts["not"]++
		}
		var cell []string
		for _, pattern := range patterns(ids, every) {
			cell = append(cell, "`"+pattern+"`")
		}
		tests := strings.Join(cell, ", ")
		if s.remark != "" {
			tests = strings.Join(append(cell, s.remark), "; ")
			if len(cell) > 0 {
				tests = strings.Join(cell, ", ") + "; " + s.remark
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", s.lines(), s.level, s.gist, tests))
	}
	fmt.Fprintf(&b, `# What the suite tests, sentence by sentence

The protocol document is cycles-protocol-v0.1.25.16; lines are counted in that file. The second column has the keyword
of the sentence, RULE where a normative section states something without one, and SCHEMA where the contract's
schemas do. The third says it in our words. The fourth names the checks that test it, as patterns for
`+"`cycles-conformance run --run`"+`, or says why none can.

Of %d sentences %d are tested by %d checks; for the other %d the reason is given. Besides, the checks `+"`contract.*`"+` hold
every answer that any check sees against the schemas.

This table is written by a test from the checks themselves: see conformance/internal/checks.

| lines | level | what it says | tested by, or why not |
| --- | --- | --- | --- |
`, len(all), counts["tested"], len(every), counts["not"])
	b.WriteString(strings.Join(rows, "\n"))
	b.WriteString("\n")
	return b.String()
}

// patterns shortens the ids of a row: where all checks of a pattern are among
// them, and at least three, the pattern stands for them.
func patterns(ids, every []string) []string {
	matching := func(pattern string, ids []string) []string {
		var m []string
		for _, id := range ids {
			if ok, _ := path.Match(pattern, id); ok {
				m = append(m, id)
			}
		}
		return m
	}
	var short []string
	for len(ids) > 0 {
		id := ids[0]
		pattern := id
		area, rest, _ := strings.Cut(id, ".")
		candidates := []string{area + ".*"}
		words := strings.Split(rest, "-")
		for n := 1; n < len(words); n++ {
			candidates = append(candidates, area+"."+strings.Join(words[:n], "-")+"-*")
		}
		for _, c := range candidates {
			mine, theirs := matching(c, ids), matching(c, every)
			if len(theirs) >= 3 && len(mine) == len(theirs) {
				pattern = c
				break
			}
		}
		gone := matching(pattern, ids)
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(gone, id) })
		short = append(short, pattern)
	}
	return short
}
