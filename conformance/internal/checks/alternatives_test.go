//go:build defects

package checks_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/conformance/internal/defects"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func TestAnAnswerThatTheProtocolLeavesOpenFailsNothing(t *testing.T) {
	all := wholeSuite(t)
	for _, alternative := range defects.Alternatives() {
		t.Run(alternative.ID, func(t *testing.T) {
			t.Parallel()
			for id, outcome := range all.outcomes(t, alternative.Wrap) {
				assert.NotEqual(t, suite.Failed, outcome, id)
				assert.NotEqual(t, suite.Errored, outcome, id)
			}
		})
	}
}
