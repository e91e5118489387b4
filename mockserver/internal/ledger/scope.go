package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Levels are the levels of a subject in canonical order.
var Levels = [...]string{"tenant", "workspace", "app", "workflow", "agent", "toolset"}

const (
	levelCount = len(Levels)
	maxValue   = 128
)

// Subject says who spends. An empty level is one that was not given.
type Subject struct {
	Level [levelCount]string
	// Dimensions is the object as it was sent; it changes no decision.
	Dimensions json.RawMessage
}

// Tenant is the subject's tenant level.
func (s *Subject) Tenant() string { return s.Level[0] }

// Path is the canonical scope path: the given levels in order, gaps skipped,
// values lower-cased.
func (s *Subject) Path() string {
	n := 0
	for i, v := range s.Level {
		if v != "" {
			n += len(Levels[i]) + len(v) + 2
		}
	}
	var b strings.Builder
	b.Grow(n)
	for i, v := range s.Level {
		if v == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		b.WriteString(Levels[i])
		b.WriteByte(':')
		b.WriteString(strings.ToLower(v))
	}
	return b.String()
}

// Scopes are all the scopes that a path lies in, the widest first.
func Scopes(path string) []string {
	out := make([]string, 0, levelCount)
	for i := 0; i < len(path); i++ {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	return append(out, path)
}

// Leaf is the last segment of a path.
func Leaf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// ValidValue reports whether v can be a level of a subject: up to 128 letters,
// digits, underscores, dots and hyphens, which leaves ':' and '/' to delimit.
func ValidValue(v string) bool {
	if v == "" || len(v) > maxValue {
		return false
	}
	for i := range len(v) {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// ParseScope checks a path and returns its canonical form.
func ParseScope(path string) (string, error) {
	if err := checkSegments(path, ValidValue); err != nil {
		return "", err
	}
	return strings.ToLower(path), nil
}

func checkSegments(path string, valid func(string) bool) error {
	last := -1
	for segment := range strings.SplitSeq(path, "/") {
		name, value, ok := strings.Cut(segment, ":")
		level := slices.Index(Levels[:], name)
		switch {
		case !ok || level < 0:
			return fmt.Errorf("scope %q: %q is not level:value with one of the levels %s", path, segment, strings.Join(Levels[:], ", "))
		case level <= last:
			return fmt.Errorf("scope %q: %s is out of the canonical order %s", path, name, strings.Join(Levels[:], ", "))
		case !valid(value):
			return fmt.Errorf("scope %q: the value of %s has to be 1 to %d of A-Z a-z 0-9 _ . -", path, name, maxValue)
		}
		last = level
	}
	return nil
}

// scopeTenant is the tenant that a scope is rooted at, or "".
func scopeTenant(path string) string {
	first, _, _ := strings.Cut(path, "/")
	tenant, ok := strings.CutPrefix(first, Levels[0]+":")
	if !ok {
		return ""
	}
	return tenant
}

// hasSegment reports whether level:value is one of the path's segments. value
// is compared without regard to case; the path is lower-case already.
func hasSegment(path string, level int, value string) bool {
	name := Levels[level]
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) == len(name)+1+len(value) && strings.HasPrefix(segment, name) &&
			strings.EqualFold(segment[len(name)+1:], value) {
			return true
		}
	}
	return false
}
