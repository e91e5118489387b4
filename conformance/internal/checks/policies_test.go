package checks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// The protocol lets a server give less time than is asked for, in several ways,
// and servers of edition 0.1.25 do not tell how much. None of that is a fault.
func TestAServerThatGivesLessTimeFailsNothing(t *testing.T) {
	for name, policy := range map[string]mockserver.Policy{
		"a ceiling of one second on the lease":       {MaxTTL: time.Second},
		"a ceiling of a quarter second on the lease": {MaxTTL: 250 * time.Millisecond},
		"a ceiling of half a minute on the lease":    {MaxTTL: 30 * time.Second},
		"a millisecond for each extend":              {MaxGrant: time.Millisecond},
		"two seconds for each extend":                {MaxGrant: 2 * time.Second},
		"a maximum lead of one second":               {MaxLead: time.Second},
		"a maximum lead of ten seconds":              {MaxLead: 10 * time.Second},
		"a maximum lead of a minute":                 {MaxLead: time.Minute},
		"a ceiling, small grants and a maximum lead": {MaxTTL: 5 * time.Second, MaxGrant: time.Second, MaxLead: 4 * time.Second},
		"edition 0.1.25":                             {Legacy: true},
		"edition 0.1.25 with a ceiling":              {Legacy: true, MaxTTL: 5 * time.Second},
		"edition 0.1.25 with a maximum lead":         {Legacy: true, MaxLead: 10 * time.Second},
		"extends without end":                        {MaxExtensions: mockserver.UnlimitedExtensions},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range checks.All() {
				if c.Run == nil || !aboutTime(c) || policy.Legacy && c.Edition == suite.Current || !policy.Legacy && c.Edition == suite.LegacyOnly {
					continue
				}
				res := newPlace(t, policy, nil).execute(t, c)
				assert.NotEqual(t, suite.Failed, res.Outcome, "%s: expected %s, got %s", c.ID, res.Expected, res.Got)
				assert.NotEqual(t, suite.Errored, res.Outcome, "%s: %s", c.ID, res.Got)
			}
		})
	}
}

// aboutTime picks the checks that such a policy could touch.
func aboutTime(c suite.Check) bool {
	return c.Waits || slices.Contains(c.Ops, suite.Extend) || strings.Contains(c.Requirement, "ttl") || strings.Contains(c.Requirement, "expir")
}
