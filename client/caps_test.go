package client_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

func TestToolCapsFollowThePrecedenceOfTheProtocol(t *testing.T) {
	for name, tc := range map[string]struct {
		caps    *gen.Caps
		allowed []string
	}{
		"no caps":                       {nil, []string{"search", "Search", "shell"}},
		"no lists":                      {&gen.Caps{}, []string{"search", "Search", "shell"}},
		"empty allowlist restricts not": {&gen.Caps{ToolAllowlist: []string{}}, []string{"search", "Search", "shell"}},
		"allowlist":                     {&gen.Caps{ToolAllowlist: []string{"search"}}, []string{"search"}},
		"denylist":                      {&gen.Caps{ToolDenylist: []string{"shell"}}, []string{"search", "Search"}},
		"empty allowlist, denylist":     {&gen.Caps{ToolAllowlist: []string{}, ToolDenylist: []string{"shell"}}, []string{"search", "Search"}},
		"allowlist wins":                {&gen.Caps{ToolAllowlist: []string{"shell"}, ToolDenylist: []string{"shell"}}, []string{"shell"}},
		"names keep their case":         {&gen.Caps{ToolAllowlist: []string{"Search"}}, []string{"Search"}},
	} {
		assert.Equal(t, tc.allowed, client.AllowedTools(tc.caps, []string{"search", "Search", "shell"}), name)
		assert.Equal(t, len(tc.allowed) == 3 || tc.allowed[0] == "shell", client.ToolAllowed(tc.caps, "shell"), name)
	}
}

func TestNumericCaps(t *testing.T) {
	assert.EqualValues(t, 500, client.CapTokens(nil, 500))
	assert.EqualValues(t, 500, client.CapTokens(&gen.Caps{}, 500))
	assert.EqualValues(t, 100, client.CapTokens(&gen.Caps{MaxTokens: ptr(int64(100))}, 500))
	assert.EqualValues(t, 0, client.CapTokens(&gen.Caps{MaxTokens: ptr(int64(0))}, 500), "zero is a cap")

	_, limited := client.StepsRemaining(nil)
	assert.False(t, limited)
	steps, limited := client.StepsRemaining(&gen.Caps{MaxStepsRemaining: ptr(int64(0))})
	assert.True(t, limited)
	assert.Zero(t, steps)

	assert.Zero(t, client.Cooldown(nil))
	assert.Equal(t, 1500*time.Millisecond, client.Cooldown(&gen.Caps{CooldownMs: ptr(int64(1500))}))
	for _, ms := range []int64{math.MaxInt64, 9_223_372_036_855} {
		assert.Equal(t, time.Duration(math.MaxInt64), client.Cooldown(&gen.Caps{CooldownMs: &ms}), "no overflow")
	}
	assert.Equal(t, 9_223_372_036_854*time.Millisecond, client.Cooldown(&gen.Caps{CooldownMs: ptr(int64(9_223_372_036_854))}))
}
