package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// maxShown bounds each body in a report.
const maxShown = 8 << 10

// scribe writes down what a run saw, without the keys.
type scribe struct {
	session *session
	names   map[string]string // secret -> variable
	clear   *strings.Replacer
}

// keysOf names every key that a run may send.
func keysOf(a, b target.Tenant, admin string, fixtures []*target.Fixture) map[string]string {
	names := make(map[string]string)
	add := func(key, name string) {
		if _, taken := names[key]; key != "" && !taken {
			names[key] = "CYCLES_" + name
		}
	}
	add(a.APIKey, "KEY_A")
	add(b.APIKey, "KEY_B")
	add(admin, "ADMIN_KEY")
	for _, f := range fixtures {
		add(f.Tenant.APIKey, "KEY_"+strings.ToUpper(strings.ReplaceAll(f.ID, "-", "_")))
	}
	return names
}

func newScribe(s *session, names map[string]string) *scribe {
	// The longest first, so that a key that begins like another goes as a whole.
	secrets := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, secret := range secrets {
		variable := "$" + names[secret]
		for _, form := range spellings(secret) {
			pairs = append(pairs, form, variable)
		}
	}
	return &scribe{session: s, names: names, clear: strings.NewReplacer(pairs...)}
}

// spellings are the ways in which a key may come back in a body or URL.
func spellings(secret string) []string {
	forms := []string{secret}
	quoted, _ := json.Marshal(secret)
	for _, f := range []string{strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret)} {
		if !slices.Contains(forms, f) {
			forms = append(forms, f)
		}
	}
	return forms
}

// clean takes the keys out of a text.
func (s *scribe) clean(text string) string { return s.clear.Replace(text) }

func describe(c *suite.Check) report.Result {
	return report.Result{ID: c.ID, Level: c.Level, Section: c.Section, Lines: c.Lines, Requirement: c.Requirement}
}

// result turns what a check came to into what is reported.
func (s *scribe) result(c *suite.Check, r suite.Result) report.Result {
	res := describe(c)
	res.Outcome = r.Outcome
	switch r.Outcome {
	case report.Passed:
		return res
	case report.Skipped:
		res.Reason = s.clean(r.Got)
		return res
	case report.Errored:
		res.Reason = s.clean(r.Got)
	default:
		res.Expected, res.Got = s.clean(r.Expected), s.clean(r.Got)
	}
	for _, x := range r.Exchanges {
		res.Exchanges = append(res.Exchanges, s.exchange(x))
	}
	if r.At >= 0 && r.At < len(r.Exchanges) {
		at := r.At
		res.Decisive = &at
	}
	return res
}

func (s *scribe) exchange(x suite.Exchange) report.Exchange {
	body, err := x.Request.Payload()
	if err != nil {
		body = []byte("(a body that could not be written)")
	}
	out := report.Exchange{
		Method:         x.Request.Method,
		URL:            s.clean(s.session.url(x.Request)),
		RequestHeaders: s.headers(x.Request.Header),
		RequestBody:    s.body(body),
		Curl:           s.curl(x.Request, body),
	}
	if x.Err != nil {
		out.Error = s.clean(x.Err.Error())
	}
	if x.Answer != nil {
		out.Status = x.Answer.Status
		out.ResponseHeaders = s.headers(x.Answer.Header)
		out.ResponseBody = s.body(x.Answer.Body)
		out.Milliseconds = float64(x.Answer.Took.Microseconds()) / 1000
	}
	return out
}

func (s *scribe) headers(h http.Header) []report.Header {
	var out []report.Header
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, report.Header{Name: name, Value: s.header(name, v)})
		}
	}
	return out
}

func (s *scribe) header(name, value string) string {
	if name == http.CanonicalHeaderKey(suite.HeaderKey) || name == http.CanonicalHeaderKey(suite.HeaderAdminKey) {
		return s.key(value)
	}
	return s.clean(strings.ToValidUTF8(value, "\uFFFD"))
}

// key names a key, and hides one that is made from a real one.
func (s *scribe) key(value string) string {
	if name, ok := s.names[value]; ok {
		return "$" + name
	}
	const telling = 4
	for secret := range s.names {
		n := min(telling, len(secret))
		if strings.Contains(strings.ToLower(value), strings.ToLower(secret[:n])) {
			return "$CYCLES_WRONG_KEY"
		}
	}
	return value
}

func (s *scribe) body(b []byte) string {
	text := s.clean(strings.ToValidUTF8(string(b), "\uFFFD"))
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s ... (%d bytes in all)", text[:cut], len(b))
}

// curl is a line for a POSIX shell that has the keys in its environment.
func (s *scribe) curl(r *suite.Request, body []byte) string {
	var b strings.Builder
	b.WriteString("curl -i")
	if r.Method != http.MethodGet || body != nil {
		b.WriteString(" -X " + quote(r.Method))
	}
	b.WriteString(" " + quote(s.clean(s.session.url(r))))
	for _, h := range s.headers(r.Header) {
		field := h.Name + ": " + h.Value
		switch {
		case h.Value == "":
			b.WriteString(" -H " + quote(h.Name+";"))
		case strings.HasPrefix(h.Value, "$"):
			b.WriteString(` -H "` + field + `"`)
		default:
			b.WriteString(" -H " + quote(field))
		}
	}
	switch {
	case body == nil:
	case len(body) > maxShown:
		fmt.Fprintf(&b, " --data-binary @body # %d bytes, too long to print", len(body))
	default:
		b.WriteString(" --data-binary " + quote(s.clean(string(body))))
	}
	return b.String()
}

// simple is what no shell reads in any way of its own.
var simple = regexp.MustCompile(`^[A-Za-z0-9_./:-]+$`)

// quote writes one word for a shell. Bytes that are not text are spelt out,
// which bash and zsh understand.
func quote(word string) string {
	if simple.MatchString(word) {
		return word
	}
	plain := utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f })
	if plain {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(word) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf(one, n)
	}
	return fmt.Sprintf(many, n)
}
