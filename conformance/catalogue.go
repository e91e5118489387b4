package conformance

import (
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Info is what there is to know about a check without running it.
type Info struct {
	ID          string        `json:"id"`
	Level       report.Level  `json:"level"`
	Section     string        `json:"section"`
	Lines       []int         `json:"lines,omitempty"`
	Requirement string        `json:"requirement"`
	Needs       []target.Kind `json:"needs,omitempty"`
	Operations  []string      `json:"operations,omitempty"`
	// Profile is the smallest one in which the check runs.
	Profile Profile `json:"profile"`
	// Waits says that it lets time pass.
	Waits bool `json:"waits,omitempty"`
	// Passive says that it judges the answers that other checks see.
	Passive bool `json:"passive,omitempty"`
	// Legacy tells whether it runs when the server is judged as one of edition
	// 0.1.25, Current whether it runs otherwise.
	Legacy  bool `json:"legacy"`
	Current bool `json:"current"`
}

// Checks returns what the options select, in the order in which reports show
// it. It fails like Run does when the selection makes no sense.
func Checks(o Options) ([]Info, error) {
	chosen, o, err := selected(o)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, c := range chosen {
		if applies(&c, o) == "" || len(o.Run) > 0 {
			infos = append(infos, info(c))
		}
	}
	return infos, nil
}

// Wants returns the fixtures that the selected checks can use, as a provisioner
// is asked for them.
func Wants(o Options) ([]target.Want, error) {
	chosen, o, err := selected(o)
	if err != nil {
		return nil, err
	}
	chosen = slices.DeleteFunc(chosen, func(c suite.Check) bool { return applies(&c, o) != "" })
	return missing(nil, chosen), nil
}

func selected(o Options) ([]suite.Check, Options, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, o, err
	}
	all, err := allChecks()
	if err != nil {
		return nil, o, err
	}
	chosen, err := choose(all, o.Run, o.Skip)
	return chosen, o, err
}

func info(c suite.Check) Info {
	i := Info{
		ID: c.ID, Level: c.Level, Section: c.Section, Lines: c.Lines, Requirement: c.Requirement, Needs: c.Needs,
		Waits: c.Waits, Passive: c.Watch != nil, Legacy: c.Edition != suite.Current, Current: c.Edition != suite.LegacyOnly,
	}
	for _, op := range c.Ops {
		i.Operations = append(i.Operations, string(op))
	}
	for _, p := range Profiles() {
		if applies(&c, Options{Profile: p, Legacy: c.Edition == suite.LegacyOnly}) == "" {
			i.Profile = p
			break
		}
	}
	return i
}
