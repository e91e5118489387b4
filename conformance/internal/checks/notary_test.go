package checks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/internal/attest"
	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// An envelope may name its key by its place in the key set, which then decides
// whether the key was good at the time.
func TestEvidenceWhoseKeyIsInTheKeySetPasses(t *testing.T) {
	for _, c := range checks.All() {
		if !strings.HasPrefix(c.ID, "evidence.") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			named := func(next http.Handler) http.Handler {
				return attest.New(next, func() time.Time { return time.UnixMilli(1_800_000_000_000) }, true)
			}
			res := newPlace(t, mockserver.Policy{}, named).execute(t, c)
			assert.Equal(t, suite.Passed, res.Outcome, "expected %s, got %s", res.Expected, res.Got)
		})
	}
}

func TestEvidenceFromBeforeItsKeyWasGoodFails(t *testing.T) {
	for _, c := range checks.All() {
		if c.ID != "evidence.signature" {
			continue
		}
		early := func(next http.Handler) http.Handler {
			return attest.New(next, func() time.Time { return time.UnixMilli(-1) }, true)
		}
		res := newPlace(t, mockserver.Policy{}, early).execute(t, c)
		assert.Equal(t, suite.Failed, res.Outcome)
		assert.Contains(t, res.Expected, "whose time covers the envelope")
	}
}
