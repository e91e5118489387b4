package report

import (
	"fmt"
	"slices"
	"strings"
)

// area is the results of one area, in the order of the report.
type area struct {
	name    string
	results []Result
}

func (r *Report) areas() []area { return group(r.Results) }

func group(results []Result) []area {
	var areas []area
	for _, res := range results {
		i := slices.IndexFunc(areas, func(a area) bool { return a.name == res.Area() })
		if i < 0 {
			i = len(areas)
			areas = append(areas, area{name: res.Area()})
		}
		areas[i].results = append(areas[i].results, res)
	}
	return areas
}

// decisive is the exchange that decided, if one did.
func (res Result) decisive() *Exchange {
	if res.Decisive == nil || *res.Decisive < 0 || *res.Decisive >= len(res.Exchanges) {
		return nil
	}
	return &res.Exchanges[*res.Decisive]
}

// where names the place in the protocol document.
func (res Result) where() string {
	if len(res.Lines) == 0 {
		return res.Section
	}
	lines := make([]string, len(res.Lines))
	for i, n := range res.Lines {
		lines[i] = fmt.Sprint(n)
	}
	word := "line "
	if len(lines) > 1 {
		word = "lines "
	}
	return res.Section + ", " + word + strings.Join(lines, ", ")
}

// count writes "1 failure" and "2 failures".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// subject is what was judged, in one line.
func (r *Report) subject() string {
	name := strings.TrimSpace(r.Implementation + " " + r.Version)
	if name == "" {
		name = "unnamed server"
	}
	return name
}
