package conformance

import (
	"path"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// choose applies the patterns of Run and Skip.
func choose(all []suite.Check, run, skip []string) ([]suite.Check, error) {
	for _, pattern := range slices.Concat(run, skip) {
		if err := known(all, pattern); err != nil {
			return nil, err
		}
	}
	var chosen []suite.Check
	for _, c := range all {
		if (len(run) == 0 || matchesAny(run, c.ID)) && !matchesAny(skip, c.ID) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, ErrNothingSelected
	}
	return chosen, nil
}

func matchesAny(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, id)
		return ok
	})
}

// known refuses patterns that cannot be read and ids that do not exist. A
// pattern that merely matches nothing is no mistake.
func known(all []suite.Check, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return usagef("the pattern %q cannot be read: %v", pattern, err)
	}
	if strings.ContainsAny(pattern, "*?[") || slices.ContainsFunc(all, func(c suite.Check) bool { return c.ID == pattern }) {
		return nil
	}
	if near := nearest(all, pattern); near != "" {
		return usagef("there is no check %q; did you mean %q?", pattern, near)
	}
	return usagef("there is no check %q", pattern)
}

// nearest is the id that takes the fewest changes to get to, if it takes few.
func nearest(all []suite.Check, typed string) string {
	best, least := "", len(typed)/2+1
	for _, c := range all {
		if n := changes(typed, c.ID); n < least {
			best, least = c.ID, n
		}
	}
	return best
}

// changes counts the letters to add, drop or replace to make b out of a.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// applies says why a check is not for this run, or nothing.
func applies(c *suite.Check, o Options) (reason string) {
	offered := o.Profile.operations()
	for _, op := range c.Ops {
		if !slices.Contains(offered, op) {
			return "operation " + string(op) + " is not in profile " + string(o.Profile)
		}
	}
	switch {
	case o.Legacy && c.Edition == suite.Current:
		return "servers of edition 0.1.25 need not know it"
	case !o.Legacy && c.Edition == suite.LegacyOnly:
		return "it is about servers of edition 0.1.25 (legacy)"
	}
	return ""
}
