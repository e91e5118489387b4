package checks_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
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
	for _, c := range checks.All() {
		if c.Level == suite.Must && !slices.ContainsFunc(defects.All(), func(d defects.Defect) bool { return d.Meant(c.ID) }) {
			unproved = append(unproved, c.ID)
		}
	}
	assert.Empty(t, unproved)
}

// lacking tells whether a check needs what the mock does not have.
func lacking(c suite.Check) bool {
	return slices.ContainsFunc(c.Needs, func(k target.Kind) bool { return k == target.Evidence || k == target.CorruptTenant })
}

func TestARightServerPassesEachCheckAlone(t *testing.T) {
	for _, c := range checks.All() {
		if c.Run == nil || c.Edition == suite.LegacyOnly || lacking(c) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			res := newPlace(t, mockserver.Policy{}, nil).execute(t, c)
			assert.Equal(t, suite.Passed, res.Outcome, "expected %s, got %s", res.Expected, res.Got)
		})
	}
}

func TestABrokenServerFailsTheChecksItIsMadeFor(t *testing.T) {
	for _, d := range defects.All() {
		t.Run(d.ID, func(t *testing.T) {
			met := 0
			for _, c := range checks.All() {
				if !d.Meant(c.ID) || c.Run == nil || lacking(c) {
					continue
				}
				met++
				res := newPlace(t, mockserver.Policy{}, d.Wrap).execute(t, c)
				want := suite.Failed
				if c.Level != suite.Must {
					want = suite.Warned
				}
				assert.Equal(t, want, res.Outcome, "%s: %s", c.ID, res.Got)
			}
			assert.NotZero(t, met, "no check is called %v", d.Fails)
		})
	}
}
