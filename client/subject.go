package client

import (
	"maps"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// subjectLevel is one standard field of a subject, in the canonical order of
// scope derivation.
type subjectLevel struct {
	name string
	at   func(*gen.Subject) **string
}

var subjectLevels = [...]subjectLevel{
	{"tenant", func(s *gen.Subject) **string { return &s.Tenant }},
	{"workspace", func(s *gen.Subject) **string { return &s.Workspace }},
	{"app", func(s *gen.Subject) **string { return &s.App }},
	{"workflow", func(s *gen.Subject) **string { return &s.Workflow }},
	{"agent", func(s *gen.Subject) **string { return &s.Agent }},
	{"toolset", func(s *gen.Subject) **string { return &s.Toolset }},
}

// cloneSubject copies what the pointers and the map of s lead to, so that no
// later change by the caller reaches the copy.
func cloneSubject(s gen.Subject) gen.Subject {
	for _, level := range subjectLevels {
		pin(level.at(&s))
	}
	s.Dimensions = maps.Clone(s.Dimensions)
	return s
}

// withDefaults is s with the missing levels and dimensions taken from d. It
// writes to neither.
func withDefaults(s, d gen.Subject) gen.Subject {
	for _, level := range subjectLevels {
		if p := level.at(&s); *p == nil {
			*p = *level.at(&d)
		}
	}
	switch {
	case len(d.Dimensions) == 0:
	case len(s.Dimensions) == 0:
		s.Dimensions = d.Dimensions
	default:
		merged := maps.Clone(d.Dimensions)
		maps.Copy(merged, s.Dimensions)
		s.Dimensions = merged
	}
	return s
}

// dropBlank makes blank levels absent.
func dropBlank(s *gen.Subject) {
	for _, level := range subjectLevels {
		if p := level.at(s); *p != nil && strings.TrimSpace(**p) == "" {
			*p = nil
		}
	}
}

// checkDefaults refuses defaults that no request could use. Which characters a
// level may have is left to the request: a tenant names the journal, too, and
// there other SDKs take any.
func checkDefaults(s gen.Subject) error {
	k := &checker{}
	for _, level := range subjectLevels {
		if v := *level.at(&s); v != nil {
			k.text("subject."+level.name, *v, 1, levelLimit)
		}
	}
	k.dimensions(s.Dimensions)
	if k.broken != nil {
		return &ConfigError{"WithSubject: " + k.broken.Field, "must be " + k.broken.Limit}
	}
	return nil
}

func hasLevel(s *gen.Subject) bool {
	for _, level := range subjectLevels {
		if *level.at(s) != nil {
			return true
		}
	}
	return false
}
