package checks_test

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

func TestEveryCheckSaysWhatItIs(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, c := range checks.All() {
		assert.Regexp(t, form, c.ID)
		assert.False(t, seen[c.ID], "%s is there twice", c.ID)
		seen[c.ID] = true
		assert.Contains(t, []suite.Level{suite.Must, suite.Should, suite.May}, c.Level, c.ID)
		assert.NotEmpty(t, c.Section, c.ID)
		assert.NotEmpty(t, c.Lines, c.ID)
		assert.NotEmpty(t, c.Requirement, c.ID)
		assert.True(t, (c.Run == nil) != (c.Watch == nil), "%s has Run or Watch", c.ID)
		assert.NotEmpty(t, c.Ops, c.ID)
	}
}

func TestEveryMustCheckHasADefectThatItFailsOn(t *testing.T) {
	var unproved []string
	all := defects.All()
	for _, c := range checks.All() {
		if c.Level == suite.Must && !slices.ContainsFunc(all, func(d defects.Defect) bool { return d.Meant(c.ID) }) {
			unproved = append(unproved, c.ID)
		}
	}
	assert.Empty(t, unproved)
}

func TestARightServerPassesEachCheckAlone(t *testing.T) {
	var passive []suite.Check
	var mu sync.Mutex
	judged, wrong := map[string]bool{}, map[string][]suite.Wrong{}
	for _, c := range checks.All() {
		if c.Watch != nil {
			passive = append(passive, c)
		}
	}
	for _, c := range checks.All() {
		if c.Run == nil || c.Edition == suite.LegacyOnly {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			p := newPlace(t, mockserver.Policy{}, nil)
			p.watched = func(a *suite.Answer) {
				mu.Lock()
				defer mu.Unlock()
				for _, w := range passive {
					j, found := w.Watch(a)
					judged[w.ID] = judged[w.ID] || j
					wrong[w.ID] = append(wrong[w.ID], found...)
				}
			}
			res := p.execute(t, c)
			assert.Equal(t, suite.Passed, res.Outcome, "expected %s, got %s", res.Expected, res.Got)
		})
	}
	for _, w := range passive {
		assert.Empty(t, wrong[w.ID], w.ID)
		// The mock does not throttle, so the check of 429 has nothing to see.
		assert.True(t, judged[w.ID] || w.ID == "errors.throttled", "%s judged nothing", w.ID)
	}
}

func TestABrokenServerFailsTheChecksItIsMadeFor(t *testing.T) {
	for _, d := range defects.All() {
		t.Run(d.ID, func(t *testing.T) {
			met := 0
			for _, c := range checks.All() {
				if !d.Meant(c.ID) {
					continue
				}
				met++
				want := suite.Failed
				if c.Level != suite.Must {
					want = suite.Warned
				}
				outcome, got := judge(t, c, mockserver.Policy{}, d.Wrap)
				assert.Equal(t, want, outcome, "%s: %s", c.ID, got)
			}
			assert.NotZero(t, met, "no check is called %v", d.Fails)
		})
	}
}

// judge runs a check on a place of its own. A passive one sees what the active
// ones do, each on its own place, up to the first thing that is wrong.
func judge(t *testing.T, c suite.Check, policy mockserver.Policy, wrap defects.Wrap) (outcome suite.Outcome, got string) {
	if c.Run != nil {
		res := newPlace(t, policy, wrap).execute(t, c)
		return res.Outcome, fmt.Sprintf("expected %s, got %s", res.Expected, res.Got)
	}
	outcome = suite.Skipped
	var mu sync.Mutex
	for _, active := range checks.All() {
		if active.Run == nil {
			continue
		}
		p := newPlace(t, policy, wrap)
		p.watched = func(a *suite.Answer) {
			judged, wrong := c.Watch(a)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case len(wrong) > 0:
				outcome, got = suite.Failed, fmt.Sprintf("%s in %s: %v", c.ID, active.ID, wrong)
				if c.Level != suite.Must {
					outcome = suite.Warned
				}
			case judged && outcome == suite.Skipped:
				outcome = suite.Passed
			}
		}
		p.execute(t, active)
		if got != "" {
			break
		}
	}
	return outcome, got
}
