package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// TextOptions says how WriteText looks.
type TextOptions struct {
	// Color uses the colors of a terminal.
	Color bool
	// All lists the checks that passed or were skipped, too.
	All bool
}

// WriteText writes the summary for a terminal: what failed first, grouped by
// area, then what could not be told, then the warnings, then the numbers.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	p := &printer{w: w, color: o.Color}
	p.troubles("FAILED", red, r.With(Failed))
	p.troubles("COULD NOT TELL", magenta, r.With(Errored))
	p.troubles("WARNINGS", yellow, r.With(Warned))
	if o.All {
		p.all(r)
	} else {
		p.skips(r.With(Skipped))
	}
	p.baseline(r.Baseline)
	p.summary(r)
	return p.err
}

const (
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	bold    = "1"
	dim     = "2"
)

type printer struct {
	w     io.Writer
	color bool
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// in sets a text in a color.
func (p *printer) in(color, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (p *printer) troubles(title, color string, results []Result) {
	if len(results) == 0 {
		return
	}
	p.printf("%s\n", p.in(color+";"+bold, fmt.Sprintf("%s (%d)", title, len(results))))
	for _, a := range group(results) {
		p.printf("\n  %s\n", p.in(bold, a.name))
		for _, res := range a.results {
			p.trouble(color, res)
		}
	}
	p.printf("\n")
}

func (p *printer) trouble(color string, res Result) {
	p.printf("\n    %s  %s\n", p.in(color, res.ID), p.in(dim, string(res.Level)+", "+res.where()))
	p.field("", res.Requirement)
	if len(res.Findings) == 0 { // Got is the first of them
		p.field("expected", res.Expected)
		p.field("got", res.Got)
	}
	p.field("reason", res.Reason)
	for _, f := range res.Findings {
		p.field("finding", fmt.Sprintf("%s %s (%s, first in %s)", f.Where, f.What, count(f.Count, "answer"), f.Check))
		p.printf("      %-10s%s\n", "", plain(f.Exchange.Curl))
	}
	if x := res.decisive(); x != nil {
		p.printf("      %-10s%s\n", "see it", plain(x.Curl))
	}
}

// width is that of a column that is read with ease.
const width = 100

// field writes a named value and folds it to a line length that is read with
// ease.
func (p *printer) field(name, value string) {
	if value == "" {
		return
	}
	for i, line := range fold(plain(value), width) {
		if i > 0 {
			name = ""
		}
		p.printf("      %-10s%s\n", name, line)
	}
}

// plain takes out what could steer the terminal: the text may come from the
// server.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func fold(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}

// skips counts them by reason, since one missing fixture skips many checks.
func (p *printer) skips(results []Result) {
	if len(results) == 0 {
		return
	}
	var reasons []string
	by := make(map[string][]string)
	for _, res := range results {
		if by[res.Reason] == nil {
			reasons = append(reasons, res.Reason)
		}
		by[res.Reason] = append(by[res.Reason], res.ID)
	}
	p.printf("%s\n", p.in(bold, fmt.Sprintf("SKIPPED (%d)", len(results))))
	for _, reason := range reasons {
		what := by[reason][0]
		if n := len(by[reason]); n > 1 {
			what = count(n, "check")
		}
		p.printf("  %s: %s\n", plain(reason), p.in(dim, what))
	}
	p.printf("\n")
}

func (p *printer) all(r *Report) {
	color := map[Outcome]string{Passed: green, Failed: red, Errored: magenta, Warned: yellow, Skipped: dim}
	for _, a := range r.areas() {
		p.printf("%s\n", p.in(bold, a.name))
		for _, res := range a.results {
			note := ""
			switch {
			case res.Known:
				note = "known"
			case res.Outcome == Skipped:
				note = res.Reason
			}
			p.printf("  %s %-60s %s\n", p.in(color[res.Outcome], fmt.Sprintf("%-5s", res.Outcome)), res.ID, p.in(dim, note))
		}
	}
	p.printf("\n")
}

func (p *printer) baseline(c *Comparison) {
	if c == nil {
		return
	}
	if len(c.Stale) > 0 {
		p.printf("%s\n", p.in(red+";"+bold, fmt.Sprintf("STALE IN THE BASELINE (%d): these do not fail, take them out", len(c.Stale))))
		for _, id := range c.Stale {
			p.printf("  %s\n", id)
		}
		p.printf("\n")
	}
	if len(c.Untested) > 0 {
		p.printf("in the baseline and not judged: %s\n\n", strings.Join(c.Untested, ", "))
	}
}

func (p *printer) summary(r *Report) {
	color := map[Verdict]string{Conformant: green, NotConformant: red, Undecided: magenta}[r.Verdict]
	profile := r.Profile
	if r.Legacy {
		profile += ", legacy"
	}
	p.printf("%s, judged by Cycles %s, profile %s: %s\n", plain(r.subject()), r.Protocol, profile, p.in(color+";"+bold, strings.ToUpper(string(r.Verdict))))
	c := r.Counts
	line := fmt.Sprintf("%d passed, %d failed, ", c.Pass, c.Fail)
	if c.Known > 0 {
		line += count(c.Known, "known failure") + ", "
	}
	line += fmt.Sprintf("%s, %d skipped, %s", count(c.Warn, "warning"), c.Skip, count(c.Error, "error"))
	p.printf("%s; %s in %.1f s\n", line, count(r.Requests, "request"), r.Seconds)
	if r.Interrupted {
		p.printf("the run was interrupted\n")
	}
	for _, note := range []string{r.Shortfall(), r.CurlNote()} {
		if note == "" {
			continue
		}
		p.printf("\n")
		for _, line := range fold(plain(note), width) {
			p.printf("%s\n", line)
		}
	}
}
