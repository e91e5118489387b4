package conformance

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// watcher gathers what a passive check finds in the answers of a run.
type watcher struct {
	check suite.Check

	mu     sync.Mutex
	judged int
	found  map[suite.Wrong]*sighting
}

type sighting struct {
	count int
	by    string // the check that saw it first
	first *suite.Answer
}

func newWatcher(c suite.Check) *watcher {
	return &watcher{check: c, found: make(map[suite.Wrong]*sighting)}
}

func (w *watcher) see(a *suite.Answer, by string) {
	judged, wrong := w.check.Watch(a)
	if !judged {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judged++
	for i, x := range wrong {
		if slices.Contains(wrong[:i], x) {
			continue // in two elements of one array, say: it is one answer
		}
		s := w.found[x]
		if s == nil {
			s = &sighting{by: by, first: a}
			w.found[x] = s
		}
		s.count++
	}
}

func (w *watcher) result(s *scribe) report.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	res := describe(&w.check)
	switch {
	case w.judged == 0:
		res.Outcome, res.Reason = report.Skipped, "no check saw an answer that it judges"
		return res
	case len(w.found) == 0:
		res.Outcome = report.Passed
		return res
	}
	for x, seen := range w.found {
		res.Findings = append(res.Findings, report.Finding{
			Where: x.Where, What: s.clean(x.What), Count: seen.count, Check: seen.by,
			Exchange: s.exchange(suite.Exchange{Request: seen.first.Request, Answer: seen.first}),
		})
	}
	slices.SortFunc(res.Findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.What, b.What))
	})
	res.Outcome = report.Failed
	if w.check.Level != report.Must {
		res.Outcome = report.Warned
	}
	first := res.Findings[0]
	res.Expected = "no answer that departs from it"
	res.Got = first.Where + " " + first.What
	if more := len(res.Findings) - 1; more > 0 {
		res.Got += plural(more, " (and %d finding more)", " (and %d findings more)")
	}
	return res
}
