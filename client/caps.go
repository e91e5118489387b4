package client

import (
	"math"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// The functions here read the caps that come with ALLOW_WITH_CAPS, with the
// precedence of the protocol's Caps schema. Nil caps restrict nothing.

// ToolAllowed reports whether the tool may be used. A non-empty allowlist
// decides alone; otherwise a denylist excludes; an empty list is no restriction.
// Names are compared exactly, with case.
func ToolAllowed(caps *gen.Caps, tool string) bool {
	switch {
	case caps == nil:
		return true
	case len(caps.ToolAllowlist) > 0:
		return slices.Contains(caps.ToolAllowlist, tool)
	}
	return !slices.Contains(caps.ToolDenylist, tool)
}

// AllowedTools is what of tools may be used, in the same order.
func AllowedTools(caps *gen.Caps, tools []string) []string {
	allowed := make([]string, 0, len(tools))
	for _, tool := range tools {
		if ToolAllowed(caps, tool) {
			allowed = append(allowed, tool)
		}
	}
	return allowed
}

// CapTokens lowers the number of tokens to ask a model for to max_tokens, when
// there is one.
func CapTokens(caps *gen.Caps, tokens int64) int64 {
	if caps == nil || caps.MaxTokens == nil {
		return tokens
	}
	return min(tokens, *caps.MaxTokens)
}

// StepsRemaining is max_steps_remaining; false means that steps are not
// limited.
func StepsRemaining(caps *gen.Caps) (int64, bool) {
	if caps == nil || caps.MaxStepsRemaining == nil {
		return 0, false
	}
	return *caps.MaxStepsRemaining, true
}

// Cooldown is how long to wait before the next action; 0 without a
// cooldown_ms. A value beyond what a Duration holds is the longest Duration.
func Cooldown(caps *gen.Caps) time.Duration {
	if caps == nil || caps.CooldownMs == nil {
		return 0
	}
	if *caps.CooldownMs > maxMilliseconds {
		return math.MaxInt64
	}
	return time.Duration(*caps.CooldownMs) * time.Millisecond
}
