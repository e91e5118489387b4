package report

import (
	"slices"
	"strings"
)

// InMemory is what Report.Target says of a server without an address.
const InMemory = "in memory"

// funded is the kind of fixture without which there is hardly a check.
const funded = "funded"

// Shortfall says what kept the run from showing anything, or nearly anything:
// no check passed, or there was no funded budget. It names the fixtures and
// abilities that checks were skipped for. Empty when neither is the case.
func (r *Report) Shortfall() string {
	lacks := r.lacks()
	var b strings.Builder
	switch {
	case r.Counts.Pass == 0:
		b.WriteString("no check passed, so nothing is shown")
	case slices.Contains(lacks, funded):
		b.WriteString("there was no funded budget, so next to nothing is shown")
	default:
		return ""
	}
	if len(lacks) > 0 {
		b.WriteString("; missing are: " + strings.Join(lacks, ", "))
	}
	if slices.Contains(lacks, funded) {
		b.WriteString(". A target needs at least one budget of tenant a with plenty left, listed as a fixture of kind " + funded + " or made by its provisioner")
	}
	return b.String()
}

// lacks are the fixtures and abilities that checks were skipped for.
func (r *Report) lacks() []string {
	var all []string
	for _, res := range r.Results {
		all = append(all, res.Lacks...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// CurlNote says what to know before running the curl lines of the report, empty
// when it has none.
func (r *Report) CurlNote() string {
	if !slices.ContainsFunc(r.Results, func(res Result) bool { return len(res.Findings) > 0 || len(res.Exchanges) > 0 }) {
		return ""
	}
	if r.Target == InMemory {
		return "The server was in memory and cannot be reached: the curl lines show what was sent. Ids in them come from earlier requests of the same check."
	}
	return "Ids in the curl lines come from earlier requests of the same check, so a line alone may meet a reservation that is settled by now. Keys are replaced by the names of environment variables; set those first."
}
