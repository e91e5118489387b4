package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Baseline is a list of checks that are known to fail. A run with a baseline is
// conformant when nothing else fails, so that a server that has faults can
// still be kept from getting more.
type Baseline struct {
	ids []string
}

// Comparison is what a baseline and a run have to do with each other.
type Comparison struct {
	// Known are the failures that were expected.
	Known []string `json:"known"`
	// Stale are entries whose check passed, or that name no check. They are
	// errors: a list that is not kept up hides the next fault.
	Stale []string `json:"stale"`
	// Untested are entries whose check was not run or could not tell.
	Untested []string `json:"untested"`
}

// NewBaseline makes a baseline from ids.
func NewBaseline(ids ...string) *Baseline { return &Baseline{ids: slices.Clone(ids)} }

// ReadBaseline reads one id per line. Empty lines and what follows a "#" are
// ignored, so that each entry can say why it is there.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b := &Baseline{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		id := strings.TrimSpace(line)
		switch {
		case id == "":
		case strings.ContainsAny(id, " \t"):
			return nil, fmt.Errorf("line %d of the baseline: %q is not one id", n, id)
		case slices.Contains(b.ids, id):
			return nil, fmt.Errorf("line %d of the baseline: %s stands there twice", n, id)
		default:
			b.ids = append(b.ids, id)
		}
	}
	return b, lines.Err()
}

// WriteBaseline writes the failures of the report, known ones included, in the
// form that ReadBaseline reads.
func (r *Report) WriteBaseline(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "# Checks that %s %s is known to fail.\n", r.Implementation, r.Version); err != nil {
		return err
	}
	for _, res := range r.Results {
		if res.Outcome != Failed {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s # %s\n", res.ID, oneLine(res.Got)); err != nil {
			return err
		}
	}
	return nil
}

// IDs returns the entries.
func (b *Baseline) IDs() []string { return slices.Clone(b.ids) }

// compare marks the known failures among results.
func (b *Baseline) compare(results []Result, exists func(id string) bool) *Comparison {
	c := &Comparison{Known: []string{}, Stale: []string{}, Untested: []string{}}
	for _, id := range b.ids {
		i := slices.IndexFunc(results, func(r Result) bool { return r.ID == id })
		switch {
		case i < 0 && !exists(id):
			c.Stale = append(c.Stale, id)
		case i < 0:
			c.Untested = append(c.Untested, id)
		case results[i].Outcome == Failed:
			results[i].Known = true
			c.Known = append(c.Known, id)
		case results[i].Outcome == Passed, results[i].Outcome == Warned:
			c.Stale = append(c.Stale, id)
		default:
			c.Untested = append(c.Untested, id)
		}
	}
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
