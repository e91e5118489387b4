package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit XML as CI systems read them: testsuites, testsuite,
// testcase, and in a testcase at most one of failure, error and skipped.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitTotals
		Suites []junitSuite `xml:"testsuite"`
	}
	junitTotals struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Time     seconds `xml:"time,attr"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitTotals
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Classname string        `xml:"classname,attr"`
		Time      seconds       `xml:"time,attr"`
		Failure   *junitTrouble `xml:"failure"`
		Error     *junitTrouble `xml:"error"`
		Skipped   *junitSkipped `xml:"skipped"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	junitTrouble struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

type seconds float64

func (s seconds) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%.3f", float64(s)), nil }

// WriteJUnit writes the report for CI systems: one testsuite per area, one
// testcase per check. A known failure is skipped, a warning passes and says so
// in system-out, and an entry of the baseline that is stale is a failure of its
// own.
func (r *Report) WriteJUnit(w io.Writer) error {
	root := junitSuites{Name: "cycles-conformance"}
	for _, area := range r.areas() {
		suite := junitSuite{Name: area.name, Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"), Properties: r.properties()}
		for _, res := range area.results {
			suite.add(junitCheck(res))
		}
		root.add(suite)
	}
	if r.Baseline != nil && len(r.Baseline.Stale) > 0 {
		suite := junitSuite{Name: "baseline", Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"), Properties: r.properties()}
		for _, id := range r.Baseline.Stale {
			suite.add(junitCase{Name: id, Classname: "cycles.baseline", Failure: &junitTrouble{
				Message: "the baseline is stale: " + id + " does not fail", Type: "stale",
			}})
		}
		root.add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(root); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	s.Time += c.Time
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuites) add(suite junitSuite) {
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Errors += suite.Errors
	s.Skipped += suite.Skipped
	s.Time += suite.Time
	s.Suites = append(s.Suites, suite)
}

func junitCheck(res Result) junitCase {
	c := junitCase{Name: res.ID, Classname: "cycles." + res.Area(), Time: seconds(res.Seconds)}
	switch {
	case res.Known:
		c.Skipped = &junitSkipped{Message: "known to fail: " + res.Got}
	case res.Outcome == Failed:
		c.Failure = &junitTrouble{Message: res.Got, Type: string(res.Level), Text: res.text()}
	case res.Outcome == Errored:
		c.Error = &junitTrouble{Message: res.Reason, Type: "undecided", Text: res.text()}
	case res.Outcome == Skipped:
		c.Skipped = &junitSkipped{Message: res.Reason}
	case res.Outcome == Warned:
		c.SystemOut = "warning\n" + res.text()
	}
	return c
}

func (r *Report) properties() []junitProperty {
	return []junitProperty{
		{"implementation", r.Implementation}, {"version", r.Version}, {"target", r.Target},
		{"protocol", r.Protocol}, {"profile", r.Profile}, {"legacy", fmt.Sprint(r.Legacy)}, {"run", r.Run},
	}
}

// text tells a check's story in plain text.
func (res Result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, %s\n%s\n", res.Level, res.ID, res.where(), res.Requirement)
	if res.Expected != "" && len(res.Findings) == 0 { // Got is the first of them
		fmt.Fprintf(&b, "expected: %s\ngot:      %s\n", res.Expected, res.Got)
	}
	if res.Reason != "" {
		fmt.Fprintf(&b, "%s\n", res.Reason)
	}
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "%s %s (%s, first in %s)\n%s\n", f.Where, f.What, count(f.Count, "answer"), f.Check, f.Exchange.Curl)
	}
	if x := res.decisive(); x != nil {
		fmt.Fprintf(&b, "%s\n", x.Curl)
	}
	return b.String()
}
