//go:build soak

package settlement_test

import "testing"

func TestSpendsSurviveSIGKILLAtAnyPointSoak(t *testing.T) { killSpends(t, 200) }

func TestAnyMisfortuneChargesOnceWhenTheServerAnswersInTheEndSoak(t *testing.T) {
	for seed := range uint64(10_000) {
		settleThrough(t, seed)
	}
}
