package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var page string

// WriteHTML writes one page that needs no network: the verdict, what failed
// with its exchanges and curl lines, and every check by area.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"count": count,
		"class": class,
		"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"first": func(x *int, i int) bool { return x != nil && *x == i },
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r.view())
}

// view is what the page shows, sorted and counted.
type view struct {
	*Report
	Subject string
	// VerdictClass is the outcome that the verdict has the color of.
	VerdictClass Outcome
	// Bar has the shares of the outcomes, in the order of the bar.
	Bar []share
	// Troubles are the failures, the undecided and the warnings.
	Troubles []section
	Areas    []areaView
}

type share struct {
	Class, Name string
	N           int
	Percent     string
}

type section struct {
	Title, Class string
	Areas        []areaView
	N            int
}

type areaView struct {
	Name    string
	Results []resultView
	Bar     []share
}

type resultView struct {
	Result
	Where string
	See   *Exchange
}

func (r *Report) view() view {
	v := view{Report: r, Subject: r.subject(), Bar: bar(r.Results), VerdictClass: Errored}
	switch r.Verdict {
	case Conformant:
		v.VerdictClass = Passed
	case NotConformant:
		v.VerdictClass = Failed
	}
	for _, s := range []struct {
		title   string
		outcome Outcome
	}{{"Failures", Failed}, {"Could not tell", Errored}, {"Warnings", Warned}} {
		if found := r.With(s.outcome); len(found) > 0 {
			v.Troubles = append(v.Troubles, section{Title: s.title, Class: string(s.outcome), Areas: areaViews(found), N: len(found)})
		}
	}
	v.Areas = areaViews(r.Results)
	return v
}

func areaViews(results []Result) []areaView {
	var out []areaView
	for _, a := range group(results) {
		av := areaView{Name: a.name, Bar: bar(a.results)}
		for _, res := range a.results {
			av.Results = append(av.Results, resultView{Result: res, Where: res.where(), See: res.decisive()})
		}
		out = append(out, av)
	}
	return out
}

// class is the outcome for the eye: a known failure looks like neither a
// failure nor a pass.
func class(r Result) string {
	if r.Known {
		return "known"
	}
	return string(r.Outcome)
}

func bar(results []Result) []share {
	var shares []share
	for _, s := range []struct{ class, name string }{
		{"fail", "failed"}, {"known", "known failures"}, {"error", "could not tell"}, {"warn", "warnings"}, {"pass", "passed"}, {"skip", "skipped"},
	} {
		n := 0
		for _, res := range results {
			if class(res) == s.class {
				n++
			}
		}
		if n > 0 {
			percent := strings.TrimSuffix(fmt.Sprintf("%.2f", 100*float64(n)/float64(len(results))), ".00")
			shares = append(shares, share{Class: s.class, Name: s.name, N: n, Percent: percent})
		}
	}
	return shares
}
