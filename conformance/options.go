package conformance

import (
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Target is the server to judge. See package target for what it may hold.
type Target = target.Target

// Report is what a run found. See package report for the ways to write it.
type Report = report.Report

// Profile is a set of operations that a server offers. A check that uses an
// operation outside of it is skipped.
type Profile string

// The profiles. Each holds the ones before it.
const (
	// Core is create, commit, release and extend.
	Core Profile = "core"
	// Runtime adds decide, get, list, balances and events. It is the default.
	Runtime Profile = "runtime"
	// Full adds evidence.
	Full Profile = "full"
)

// Profiles returns all profiles, the smallest first.
func Profiles() []Profile { return []Profile{Core, Runtime, Full} }

func (p Profile) operations() []suite.Op {
	core := []suite.Op{suite.Create, suite.Commit, suite.Release, suite.Extend}
	runtime := slices.Concat(core, []suite.Op{suite.Decide, suite.Get, suite.List, suite.Balances, suite.Event})
	switch p {
	case Core:
		return core
	case Runtime:
		return runtime
	case Full:
		return slices.Concat(runtime, []suite.Op{suite.Evidence, suite.JWKS})
	default:
		return nil
	}
}

// The defaults of Options.
const (
	DefaultParallel       = 8
	DefaultCheckTimeout   = 90 * time.Second
	DefaultRequestTimeout = 10 * time.Second
	DefaultThrottleBound  = 30 * time.Second
)

// Options says what to run and how. The zero value runs everything of profile
// Runtime.
type Options struct {
	// Profile is what the server offers; empty means Runtime.
	Profile Profile
	// Legacy judges the server as one of edition 0.1.25, which has no
	// remaining_ttl_ms.
	Legacy bool
	// Run and Skip select checks by id or by pattern ("extend.*"). An empty Run
	// selects all. Skip wins.
	Run, Skip []string
	// Parallel is how many checks work at a time; checks that wait for time to
	// pass do not count while they wait. Zero means DefaultParallel.
	Parallel int
	// Rate bounds the requests per second. Zero means no bound.
	Rate float64
	// CheckTimeout bounds one check, waiting included. A check that runs out of
	// it is an error. Zero means DefaultCheckTimeout.
	CheckTimeout time.Duration
	// RequestTimeout bounds one request up to the end of its answer. Zero means
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// ThrottleBound is how long one request is tried again after a 429 that no
	// check asked for, in all. Zero means DefaultThrottleBound.
	ThrottleBound time.Duration
	// Baseline names the failures that are known.
	Baseline *report.Baseline
	// Progress is told about each check that ended. It is called from one
	// goroutine at a time and should be quick.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	// Done and Total count checks. Checks that are skipped beforehand are among
	// them.
	Done, Total int
	// Last is the check that just ended.
	Last report.Result
}

func (o Options) withDefaults() (Options, error) {
	if o.Profile == "" {
		o.Profile = Runtime
	}
	if !slices.Contains(Profiles(), o.Profile) {
		return o, usagef("unknown profile %q: there are core, runtime and full", o.Profile)
	}
	if o.Parallel < 0 || o.Rate < 0 || o.CheckTimeout < 0 || o.RequestTimeout < 0 || o.ThrottleBound < 0 {
		return o, usagef("parallel, rate and the timeouts must not be negative")
	}
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&o.CheckTimeout, DefaultCheckTimeout)
	or(&o.RequestTimeout, DefaultRequestTimeout)
	or(&o.ThrottleBound, DefaultThrottleBound)
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	return o, nil
}
