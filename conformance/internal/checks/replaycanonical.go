package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// replayCanonical has replays whose bytes differ from the first request's and
// whose meaning does not.
func replayCanonical() []suite.Check {
	respelled := func(name, requirement string, respell func(payload string) string) suite.Check {
		return suite.Check{
			ID: "replay.respelled-" + name, Level: suite.Should, Section: replaySection, Lines: []int{192},
			Requirement: requirement,
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 2).With("metadata", map[string]any{"a": 1, "b": map[string]any{"c": 2, "d": 3}})
				first := t.Do(ctx, r)
				t.Given(first, 200)
				payload, err := r.Payload()
				t.NoError(err)
				again := t.Do(ctx, r.Raw(respell(string(payload))))
				t.WantSame(first, again, "remaining_ttl_ms")
				t.WantString(again, "reservation_id")
			},
		}
	}
	return []suite.Check{
		respelled("order", "Two payloads that differ in white space and in the order of the protocol's members are the same.", func(p string) string {
			return backwards(p, "metadata")
		}),
		respelled("metadata-order", "Two payloads that differ in the order of members inside metadata are the same.", func(p string) string {
			return backwards(p, "")
		}),
		respelled("number", "Two payloads that spell a number differently, 2 and 2.0, are the same.", func(p string) string {
			return strings.Replace(p, `"amount":2`, `"amount":2.0`, 1)
		}),
		respelled("escapes", "Two payloads that escape a string differently are the same.", func(p string) string {
			return strings.Replace(p, `"kind":"l`, `"kind":"\u006c`, 1)
		}),
	}
}

// backwards spells an object with its members in reverse order and with white
// space. What stands under keep stays as it is.
func backwards(payload, keep string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(payload), &members) != nil || members == nil {
		return payload
	}
	keys := slices.Sorted(maps.Keys(members))
	slices.Reverse(keys)
	spelled := make([]string, len(keys))
	for i, k := range keys {
		value := string(members[k])
		if k != keep {
			value = backwards(value, keep)
		}
		spelled[i] = fmt.Sprintf("%q : %s", k, value)
	}
	return "{ " + strings.Join(spelled, " ,\n\t") + " }"
}
