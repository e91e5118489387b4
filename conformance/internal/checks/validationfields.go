package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// notText and notInteger are values of every other type.
func notText() []any { return []any{7, true, []any{"x"}, map[string]any{"x": "y"}} }
func notInteger() []any {
	return []any{"1000", suite.JSON("1500.5"), true, []any{1000}, map[string]any{}}
}

// common is what all bodies share. line is where the required members of the
// schema stand; the next says that it is closed.
func common(line int) []field {
	long := strings.Repeat("k", 257)
	return []field{
		{
			name:        "idempotency-key",
			lines:       []int{line, 755},
			requirement: "The idempotency key is required and has 1 to 256 characters; anything else is refused with 400 INVALID_REQUEST.",
			bad:         slices.Concat(leftOut("idempotency_key"), values("idempotency_key", "", long)),
			good: edits(func(r *suite.Request) *suite.Request {
				return r.With("idempotency_key", (r.Key() + long)[:256])
			}),
		},
		{
			name:        "idempotency-key-type",
			lines:       []int{755},
			requirement: "An idempotency key that is no string is refused with 400 INVALID_REQUEST and not turned into one.",
			bad:         values("idempotency_key", notText()...),
		},
		{
			name:        "unknown-member",
			lines:       []int{line + 1},
			requirement: "A member that the schema does not know is refused with 400 INVALID_REQUEST, also one that differs from a known one in case only.",
			bad:         append(values("conformance_unknown", 1, "x", map[string]any{}), values("Idempotency_Key", "x")...),
		},
	}
}

// spend is what the bodies of decide, create and event share. member is the one
// with the amount, n the amount that the request has.
func spend(member string, n int64) []field {
	return slices.Concat(subject(), actionFields(), amount(member, n))
}

func subject() []field {
	many := func(n int) map[string]any {
		m := make(map[string]any, n)
		for i := range n {
			m[fmt.Sprintf("d%02d", i)] = strings.Repeat("v", 256)
		}
		return m
	}
	return []field{
		{
			name:        "subject",
			lines:       []int{968, 969, 988},
			requirement: "A subject names at least one level; without one, or with dimensions only, the request is refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(leftOut("subject"), values("subject",
				map[string]any{}, map[string]any{"dimensions": map[string]any{"team": "x"}})),
		},
		{
			name:        "subject-type",
			lines:       []int{965, 996},
			requirement: "A subject is an object of strings, and its dimensions too; another type is refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(values("subject", "x", 7, []any{}), values("subject.toolset", notText()...),
				values("subject.dimensions", "x", []any{}), values("subject.dimensions.team", notText()...)),
			uses: "toolset",
		},
		{
			name:        "subject-unknown-member",
			lines:       []int{987},
			requirement: "A level that the protocol does not have is refused with 400 INVALID_REQUEST.",
			bad:         values("subject.region", "x"),
		},
		{
			name:        "subject-length",
			lines:       []int{999, 1014},
			requirement: "The name of a level has at most 128 characters; a longer one is refused with 400 INVALID_REQUEST.",
			bad:         values("subject.toolset", strings.Repeat("s", 129)),
			good:        values("subject.toolset", strings.Repeat("s", 128)),
			uses:        "toolset",
		},
		{
			name:        "dimensions",
			lines:       []int{985, 1015, 1020, 1021},
			requirement: "A subject may have up to 16 dimensions of up to 256 characters; more is refused with 400 INVALID_REQUEST.",
			bad:         values("subject.dimensions", many(17), map[string]any{"team": strings.Repeat("v", 257)}),
			good:        values("subject.dimensions", many(16), map[string]any{}),
		},
	}
}

func actionFields() []field {
	tags := func(n, length int) []any {
		l := make([]any, n)
		for i := range l {
			l[i] = strings.Repeat("t", length)
		}
		return l
	}
	return []field{
		{
			name:        "action",
			lines:       []int{1025, 1030, 1037},
			requirement: "An action has a kind of at most 64 and a name of at most 256 characters; without one, or longer, the request is refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(leftOut("action", "action.kind", "action.name"),
				values("action.kind", strings.Repeat("k", 65)), values("action.name", strings.Repeat("n", 257))),
			good: slices.Concat(values("action.kind", strings.Repeat("k", 64)), values("action.name", strings.Repeat("n", 256))),
		},
		{
			name:        "action-type",
			lines:       []int{1024, 1029, 1036},
			requirement: "An action is an object and its kind and name are strings; another type is refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(values("action", "x", 7, []any{}), values("action.kind", notText()...),
				values("action.name", notText()...)),
		},
		{
			name:        "action-unknown-member",
			lines:       []int{1026},
			requirement: "A member of an action that the schema does not know is refused with 400 INVALID_REQUEST.",
			bad:         values("action.version", "1"),
		},
		{
			name:        "action-tags",
			lines:       []int{1039, 1041, 1044},
			requirement: "An action has at most 10 tags of at most 64 characters; more, longer or other ones are refused with 400 INVALID_REQUEST.",
			bad:         values("action.tags", tags(11, 1), tags(1, 65), "x", []any{7}, map[string]any{}),
			good:        values("action.tags", tags(10, 64), []any{}),
		},
	}
}

// amount is about an estimate or actual, which in a request that is right is n.
func amount(member string, n int64) []field {
	value, unit := member+".amount", member+".unit"
	return []field{
		{
			name:        member,
			lines:       []int{914, 933, 944},
			requirement: "An amount is a known unit and an integer from 0 to 2^63-1; anything else is refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(leftOut(member, value, unit),
				values(value, -1, suite.JSON("9223372036854775808"), suite.JSON("1e19"), suite.JSON("-9223372036854775809")),
				values(unit, "EUR", "usd_microcents", "")),
		},
		{
			name:        member + "-type",
			lines:       []int{914, 932, 942},
			requirement: "An amount that is no integer, or whose unit is no string, is refused with 400 INVALID_REQUEST and neither rounded nor turned into one.",
			bad: slices.Concat(values(member, 10, "10", []any{}), values(unit, 0, 1, true, []any{}),
				values(value, "10", suite.JSON("10.7"), suite.JSON("1e-1"), true, []any{10}, map[string]any{})),
		},
		{
			name:        member + "-spelling",
			level:       suite.Should,
			lines:       []int{942},
			requirement: "An integer is one in every spelling that JSON has for it: 2.0 and 2e0 are 2.",
			good:        values(value, suite.JSON(fmt.Sprintf("%d.0", n)), suite.JSON(fmt.Sprintf("%de0", n))),
		},
		{
			name:        member + "-unknown-member",
			lines:       []int{934},
			requirement: "A member of an amount that the schema does not know is refused with 400 INVALID_REQUEST.",
			bad:         values(member+".currency", "x"),
		},
	}
}

func metadata(line int) []field {
	return []field{{
		name:        "metadata",
		lines:       []int{line},
		requirement: "Metadata is an object with whatever the client likes; another type is refused with 400 INVALID_REQUEST.",
		bad:         values("metadata", "x", 7, true, []any{map[string]any{}}),
		good: values("metadata", map[string]any{},
			map[string]any{"a": []any{1, suite.JSON("1.5"), nil, true}, "b": map[string]any{"c": "\u00e9\U0001f600"}, "": ""}),
	}}
}

// lease is about the times of a create.
func lease() []field {
	return []field{
		{
			name:        "ttl-ms",
			lines:       []int{1198, 1200, 1201},
			requirement: "ttl_ms is 1000 to 86400000; outside of that the create is refused with 400 INVALID_REQUEST, and not rounded.",
			bad:         values("ttl_ms", 0, 999, -1, 86_400_001, suite.JSON("9223372036854775807")),
			good:        values("ttl_ms", 1000, 86_400_000),
		},
		{
			name:        "ttl-ms-type",
			lines:       []int{1199},
			requirement: "A ttl_ms that is no integer is refused with 400 INVALID_REQUEST.",
			bad:         values("ttl_ms", notInteger()...),
		},
		{
			name:        "grace-period-ms",
			lines:       []int{1203, 1205, 1206},
			requirement: "grace_period_ms is 0 to 60000; outside of that the create is refused with 400 INVALID_REQUEST.",
			bad:         values("grace_period_ms", -1, 60_001),
			good:        values("grace_period_ms", 0, 60_000),
		},
		{
			name:        "grace-period-ms-type",
			lines:       []int{1204},
			requirement: "A grace_period_ms that is no integer is refused with 400 INVALID_REQUEST.",
			bad:         values("grace_period_ms", notInteger()...),
		},
		{
			name:        "dry-run-type",
			lines:       []int{1225},
			requirement: "A dry_run that is no boolean is refused with 400 INVALID_REQUEST: guessing wrong would reserve, or not.",
			bad:         values("dry_run", "true", "false", "yes", 1, 0, []any{}),
			good:        values("dry_run", false),
		},
	}
}

func overagePolicy(line int) []field {
	return []field{{
		name:        "overage-policy",
		lines:       []int{line, 1165},
		requirement: "overage_policy is one of the three the protocol has; anything else is refused with 400 INVALID_REQUEST.",
		bad:         values("overage_policy", "ALLOW", "reject", "", 0, true, []any{"REJECT"}),
		good:        values("overage_policy", "REJECT", "ALLOW_IF_AVAILABLE", "ALLOW_WITH_OVERDRAFT"),
	}}
}

func metrics(line int) []field {
	counts := []string{"metrics.tokens_input", "metrics.tokens_output", "metrics.latency_ms"}
	var negative, other, large []edit
	for _, path := range counts {
		negative = append(negative, values(path, -1)...)
		other = append(other, values(path, notInteger()...)...)
		large = append(large, values(path, int64(3_000_000_000))...)
	}
	return []field{
		{
			name:        "metrics",
			lines:       []int{line, 1416, 1430},
			requirement: "Metrics are counts from 0 up and a model_version of at most 128 characters; anything else is refused with 400 INVALID_REQUEST.",
			bad:         append(negative, values("metrics.model_version", strings.Repeat("m", 129))...),
			good: values("metrics", map[string]any{}, map[string]any{
				"tokens_input": 0, "tokens_output": 0, "latency_ms": 0, "model_version": strings.Repeat("m", 128),
				"custom": map[string]any{"a": []any{1}},
			}),
		},
		{
			name:        "metrics-type",
			lines:       []int{line, 1416, 1433},
			requirement: "A count that is no integer, a custom that is no object and metrics that are none are refused with 400 INVALID_REQUEST.",
			bad: slices.Concat(other, values("metrics", "x", []any{}), values("metrics.custom", "x", []any{}),
				values("metrics.model_version", notText()...)),
		},
		{
			name:        "metrics-unknown-member",
			lines:       []int{1414},
			requirement: "A metric that the schema does not know is refused with 400 INVALID_REQUEST; custom is the place for more.",
			bad:         values("metrics.conformance_unknown", 1),
		},
		{
			name:        "metrics-large",
			level:       suite.Should,
			lines:       []int{1417},
			requirement: "The counts have no upper bound, so one beyond 32 bits is taken.",
			good:        large,
		},
	}
}

func clientTime() []field {
	return []field{{
		name:        "client-time-ms",
		lines:       []int{1651, 1654},
		requirement: "client_time_ms is an integer from 0 up, and else refused with 400 INVALID_REQUEST; how far off it is plays no part.",
		bad:         append(values("client_time_ms", -1), values("client_time_ms", notInteger()...)...),
		good:        values("client_time_ms", 0, int64(9_000_000_000_000)),
	}}
}

func reason() []field {
	return []field{{
		name:        "reason",
		lines:       []int{1497, 1499},
		requirement: "The reason of a release is a string of at most 256 characters; anything else is refused with 400 INVALID_REQUEST.",
		bad:         append(values("reason", strings.Repeat("r", 257)), values("reason", notText()...)...),
		good:        values("reason", "", strings.Repeat("r", 256)),
	}}
}

func extension() []field {
	return []field{
		{
			name:        "by-ms",
			lines:       []int{1807, 1814, 1815},
			requirement: "extend_by_ms is required and is 1 to 86400000; anything else is refused with 400 INVALID_REQUEST.",
			bad:         append(leftOut("extend_by_ms"), values("extend_by_ms", 0, -1, 86_400_001)...),
			good:        values("extend_by_ms", 1, 86_400_000),
		},
		{
			name:        "by-ms-type",
			lines:       []int{1813},
			requirement: "An extend_by_ms that is no integer is refused with 400 INVALID_REQUEST.",
			bad:         values("extend_by_ms", notInteger()...),
		},
	}
}
