package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// shown bounds what is quoted of an answer in a verdict; the whole of it stands
// in the exchange.
const shown = 300

// Describe says in one line what an answer is: its status, its error code or
// else the start of its body.
func Describe(a *Answer) string {
	switch {
	case a.Code() != "":
		return fmt.Sprintf("%d %s (%s)", a.Status, a.Code(), clip(a.Str("message")))
	case len(a.Body) == 0:
		return statusName(a.Status) + " with an empty body"
	default:
		return fmt.Sprintf("%s with %s", statusName(a.Status), clip(string(a.Body)))
	}
}

func statusName(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprint(status)
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > shown {
		return string(r[:shown]) + "..."
	}
	return s
}

func show(v any) string {
	if _, ok := v.(absent); ok {
		return "absent"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(b))
}

// at says what stands at a path of the body; absent and null are different
// mistakes.
func (a *Answer) at(path string) string {
	got, ok := a.Get(path)
	if !ok {
		return path + " is absent"
	}
	return path + " is " + show(got)
}

func join(at, part string) string {
	if at == "" {
		return part
	}
	return at + "." + part
}

func sortedKeys(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
