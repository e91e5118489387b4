package main

// arithmeticMutants break the sums.
var arithmeticMutants = []mutant{
	{"a sum wraps upward", "millis.go", "	case a > 0 && b > 0 && sum < 0:\n		return math.MaxInt64\n", ""},
	{"a sum wraps downward", "millis.go", "a < 0 && b < 0 && sum >= 0", "a < 0 && b < 0 && sum > 0"},
	{"a difference wraps upward", "millis.go", "a >= 0 && b < 0 && diff < 0", "a > 0 && b < 0 && diff < 0"},
	{"a difference wraps downward", "millis.go", "	case a < 0 && b > 0 && diff >= 0:\n		return math.MinInt64\n", ""},
	{"a product wraps upward", "millis.go", "	case a > math.MaxInt64/factor:\n		return math.MaxInt64\n", ""},
	{"a product wraps downward", "millis.go", "	case a < math.MinInt64/factor:\n		return math.MinInt64\n", ""},
	{"a long duration wraps", "millis.go", "	case m > limit:\n		return math.MaxInt64\n", ""},
	{"the longest exact duration saturates", "millis.go", "case m > limit:", "case m >= limit:"},
	{"a long negative duration wraps", "millis.go", "	case m < -limit:\n		return math.MinInt64\n", ""},
	{"rounding up rounds down", "millis.go", "		m++\n", ""},
	{"rounding up adds to whole milliseconds", "millis.go", "d%time.Millisecond > 0", "d%time.Millisecond >= 0"},
	{"the longest duration is finite", "millis.go", "	if d == math.MaxInt64 {\n		return forever\n	}\n", ""},
	{"a clock that went back shows no time elapsed", "millis.go", "		return 0, false\n", "		return 0, true\n"},
	{"a clock that stands still is unknown", "millis.go", "if to < from {", "if to <= from {"},
}
