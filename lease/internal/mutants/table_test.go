package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryBreakStillFitsTheSource(t *testing.T) {
	seen := map[string]bool{}
	require.GreaterOrEqual(t, len(all()), 30)
	for _, m := range all() {
		broken, err := m.apply("../..")
		assert.NoError(t, err, m.what)
		assert.NotEmpty(t, broken, m.what)
		assert.NotEqual(t, m.from, m.to, m.what)
		assert.False(t, seen[m.what], "two breaks called %q", m.what)
		seen[m.what] = true
	}
}
