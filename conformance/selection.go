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

// nearest is the id that shares most with what was typed: the same words after
// the area, or the same area.
func nearest(all []suite.Check, typed string) string {
	best, score := "", 0
	words := strings.FieldsFunc(typed, func(r rune) bool { return r == '.' || r == '-' })
	for _, c := range all {
		n := 0
		for _, w := range words {
			if strings.Contains(c.ID, w) {
				n += len(w)
			}
		}
		if n > score {
			best, score = c.ID, n
		}
	}
	return best
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
