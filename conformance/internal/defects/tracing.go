package defects

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// anyTrace finds what could be meant as a trace id.
var anyTrace = regexp.MustCompile(`[0-9a-fA-F]{32}`)

func tracing() []Defect {
	trace := suite.HeaderTrace
	without := func(names ...string) edit {
		return func(r *suite.Request) *suite.Request {
			for _, name := range names {
				r = r.WithoutHeader(name)
			}
			return r
		}
	}
	// adopt answers with the trace id that f finds in the request, if any.
	adopt := func(f func(r *suite.Request) string) Wrap {
		return after(every, func(r *suite.Request, a *suite.Answer) *suite.Answer {
			if id := f(r); id != "" {
				return setHeader(trace, id)(r, a)
			}
			return a
		})
	}
	strict := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	return []Defect{
		{
			ID:    "tracing.no-header",
			About: "answers carry no trace id",
			Fails: []string{"tracing.every-answer", "tracing.generated", "tracing.replay", "tracing.refusals", "tracing.adopted-*", "tracing.parent-wins", "tracing.any-flags", "tracing.malformed-*"},
			Wrap:  after(every, setHeader(trace, "")),
		},
		{
			ID:    "tracing.not-on-errors",
			About: "errors carry no trace id in their header",
			Fails: []string{"tracing.every-answer", "tracing.refusals", "errors.trace-id"},
			Wrap: after(every, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				if a.Status < 400 {
					return a
				}
				return setHeader(trace, "")(r, a)
			}),
		},
		{
			ID:    "tracing.upper-case",
			About: "trace ids are answered in upper case",
			Fails: []string{"tracing.every-answer", "tracing.generated", "tracing.adopted-*"},
			Wrap: after(every, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				return setHeader(trace, strings.ToUpper(a.Header.Get(trace)))(r, a)
			}),
		},
		{
			ID:    "tracing.headers-ignored",
			About: "every request gets a new trace id, whatever it brings",
			Fails: []string{"tracing.adopted-*", "tracing.replay", "tracing.refusals", "tracing.parent-wins", "tracing.any-flags", "tracing.malformed-*"},
			Wrap:  before(every, without(trace, suite.HeaderParent)),
		},
		{
			ID:    "tracing.always-the-same",
			About: "requests that bring no trace id get the same one",
			Fails: []string{"tracing.generated"},
			Wrap: before(func(r *suite.Request) bool { return r.Header.Get(trace)+r.Header.Get(suite.HeaderParent) == "" },
				putHeader(trace, strings.Repeat("c", 32))),
		},
		{
			ID:    "tracing.of-the-first",
			About: "the answer to a replay has the trace id of the first answer",
			Fails: []string{"tracing.replay", "tracing.generated"},
			Wrap: replays(every, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				return setHeader(trace, first.Header.Get(trace))(r, next(r))
			}),
		},
		{
			ID:    "tracing.header-wins",
			About: "X-Cycles-Trace-Id goes before traceparent",
			Fails: []string{"tracing.parent-wins"},
			Wrap:  before(func(r *suite.Request) bool { return r.Header.Get(trace) != "" }, without(suite.HeaderParent)),
		},
		{
			ID:    "tracing.disagreement-refused",
			About: "a traceparent and an X-Cycles-Trace-Id that disagree are refused",
			Fails: []string{"tracing.parent-wins"},
			Wrap: instead(func(r *suite.Request) bool {
				id := r.Header.Get(trace)
				return id != "" && strict.MatchString(r.Header.Get(suite.HeaderParent)) && !strings.Contains(r.Header.Get(suite.HeaderParent), id)
			}, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "tracing.sampled-only",
			About: "a traceparent that is not sampled is ignored",
			Fails: []string{"tracing.any-flags"},
			Wrap:  before(func(r *suite.Request) bool { return !strings.HasSuffix(r.Header.Get(suite.HeaderParent), "-01") }, without(suite.HeaderParent)),
		},
		{
			ID:    "tracing.malformed-refused",
			About: "a header that is no trace is refused with 400",
			Fails: []string{"tracing.malformed-*"},
			Wrap: instead(func(r *suite.Request) bool {
				for _, name := range []string{trace, suite.HeaderParent} {
					v, sent := r.Header[http.CanonicalHeaderKey(name)]
					if sent && !(name == trace && isTraceID(v[0]) || name == suite.HeaderParent && strict.MatchString(v[0]) && !hasZeros(v[0])) {
						return true
					}
				}
				return false
			}, refuse(400, "INVALID_REQUEST")),
		},
		{
			ID:    "tracing.lenient",
			About: "whatever holds 32 hex digits is taken for a trace, in lower case",
			Fails: []string{
				"tracing.malformed-parent-zero-trace", "tracing.malformed-parent-zero-span", "tracing.malformed-parent-upper-case", "tracing.malformed-parent-other-version",
				"tracing.malformed-parent-version-ff", "tracing.malformed-parent-no-flags", "tracing.malformed-parent-trailing",
				"tracing.malformed-header-long", "tracing.malformed-header-zero", "tracing.malformed-header-upper-case",
			},
			Wrap: adopt(func(r *suite.Request) string {
				for _, name := range []string{suite.HeaderParent, trace} {
					if id := anyTrace.FindString(r.Header.Get(name)); id != "" {
						return strings.ToLower(id)
					}
				}
				return ""
			}),
		},
		{
			ID:    "tracing.echo",
			About: "X-Cycles-Trace-Id is answered as it came, whatever it is",
			Fails: []string{"tracing.malformed-header-garbage", "tracing.malformed-header-short", "tracing.malformed-header-long", "tracing.malformed-header-zero", "tracing.malformed-header-upper-case"},
			Wrap:  adopt(func(r *suite.Request) string { return r.Header.Get(trace) }),
		},
		{
			ID:    "tracing.no-falling-through",
			About: "when traceparent is malformed X-Cycles-Trace-Id is not looked at either",
			Fails: []string{"tracing.malformed-parent-*"},
			Wrap: before(func(r *suite.Request) bool {
				parent := r.Header.Get(suite.HeaderParent)
				return parent != "" && (!strict.MatchString(parent) || hasZeros(parent))
			}, without(trace)),
		},
	}
}

func isTraceID(v string) bool {
	return len(v) == 32 && v == strings.ToLower(v) && anyTrace.MatchString(v) && strings.Trim(v, "0") != ""
}

func hasZeros(parent string) bool {
	part := strings.Split(parent, "-")
	return strings.Trim(part[1], "0") == "" || strings.Trim(part[2], "0") == ""
}
