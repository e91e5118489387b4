package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/checks"
	"github.com/cycles-protocol/cycles-go/conformance/internal/schema"
	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/gen/contract"
)

// cleanupTimeout bounds what a check does after its end.
const cleanupTimeout = 5 * time.Second

// Run judges the target.
//
// The error is a *UsageError when target or options make no sense,
// ErrNothingSelected when no check is left, and a *StartError when the target
// could not be made ready; the report is nil then. When ctx ends, the checks
// that run stop, release what they reserved and count as errors, and Run
// returns both the report of what was found so far and the cause.
//
// What the server does wrong is in the report, never in the error.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	all, err := allChecks()
	if err != nil {
		return nil, err
	}
	return run(ctx, all, t, o)
}

// allChecks are the active checks and the passive ones that judge all answers.
func allChecks() ([]suite.Check, error) {
	passive, err := schema.Checks()
	if err != nil {
		return nil, err
	}
	return slices.Concat(checks.All(), passive), nil
}

func run(ctx context.Context, all []suite.Check, t Target, o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(all, o.Run, o.Skip)
	if err != nil {
		return nil, err
	}
	session, err := newSession(t, o)
	if err != nil {
		return nil, err
	}
	defer session.close()

	started := time.Now()
	r := &runner{options: o, target: t, session: session, slots: newSlots(o.Parallel), id: runID(), plan: plan(all, chosen, o)}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.work(ctx)
	rep := r.report(started)
	rep.Results = r.collect()
	rep.Seconds = time.Since(started).Seconds()
	rep.Requests = int(session.answers.Load())
	rep.Interrupted = ctx.Err() != nil
	rep.Judge(o.Baseline, func(id string) bool {
		return slices.ContainsFunc(all, func(c suite.Check) bool { return c.ID == id })
	})
	return rep, context.Cause(ctx)
}

// runID is short, since it becomes part of names of at most 64 characters.
func runID() string {
	var b [4]byte
	rand.Read(b[:])
	return "cf" + hex.EncodeToString(b[:])
}

// job is one check of a run.
type job struct {
	n     int // its place in the plan
	check suite.Check
	// hidden jobs run only so that passive checks have something to see.
	hidden   bool
	fixtures map[target.Kind]*target.Fixture
	done     bool
	result   report.Result
}

// plan makes a job of every chosen check. When only passive ones are chosen,
// the active ones that use their operations run as well, unseen.
func plan(all, chosen []suite.Check, o Options) []*job {
	var jobs []*job
	if !slices.ContainsFunc(chosen, func(c suite.Check) bool { return c.Run != nil }) {
		for _, c := range all {
			if c.Run != nil && applies(&c, o) == "" && feeds(c, chosen, o) {
				jobs = append(jobs, &job{check: c, hidden: true})
			}
		}
	}
	for _, c := range chosen {
		jobs = append(jobs, &job{check: c})
	}
	for n, j := range jobs {
		j.n = n
	}
	return jobs
}

// feeds tells whether one of the passive checks may judge what c sees.
func feeds(c suite.Check, passive []suite.Check, o Options) bool {
	return slices.ContainsFunc(passive, func(p suite.Check) bool {
		if applies(&p, o) != "" {
			return false
		}
		return len(p.Ops) == 0 || slices.ContainsFunc(p.Ops, func(op suite.Op) bool { return slices.Contains(c.Ops, op) })
	})
}

// runner is one run.
type runner struct {
	id      string
	options Options
	target  Target
	session *session
	slots   *slots
	stock   *stock
	scribe  *scribe
	virtual *virtualTime // nil on real time
	plan    []*job

	mu   sync.Mutex
	done int
}

// prepare makes the target ready and settles which checks can run.
func (r *runner) prepare(ctx context.Context) error {
	var needed []suite.Check
	for _, j := range r.plan {
		if applies(&j.check, r.options) == "" {
			needed = append(needed, j.check)
		}
	}
	var err error
	if r.stock, err = provide(ctx, r.target, r.id, needed); err != nil {
		return err
	}
	if err := r.stock.keyed(r.target.Provisioner != nil); err != nil {
		return err
	}
	r.scribe = newScribe(r.session, keysOf(r.stock.a, r.stock.b, r.stock.adminKey, r.stock.fixtures))
	if err := preflight(ctx, r.session, r.stock.a, r.stock.b); err != nil {
		return err
	}
	now := realTime{}.now
	err = r.stock.inspect(func(q *suite.Request) (*suite.Answer, error) { return r.session.do(ctx, q, now) },
		slices.Contains(r.options.Profile.operations(), suite.Balances))
	if err != nil {
		return &StartError{Doing: "looking at the fixtures", Err: err}
	}
	if r.target.Clock != nil {
		if r.virtual, err = newVirtualTime(ctx, r.target.Clock); err != nil {
			return &StartError{Doing: "reading the clock", Err: err}
		}
	}
	for _, j := range r.plan {
		r.settle(j)
	}
	return nil
}

// settle decides beforehand what can be decided: a check that does not apply or
// lacks a fixture is skipped.
func (r *runner) settle(j *job) {
	reason := applies(&j.check, r.options)
	if reason == "" && j.check.Watch != nil {
		r.session.watchers = append(r.session.watchers, newWatcher(j.check))
		return
	}
	var lacks []string
	if reason == "" {
		j.fixtures, lacks, reason = r.stock.give(&j.check)
	}
	if reason != "" {
		res := describe(&j.check)
		res.Outcome, res.Reason, res.Lacks = report.Skipped, reason, lacks
		r.finish(j, res)
	}
}

// work runs the active checks. On real time the ones that wait begin at once
// and overlap with the rest; on virtual time they come after the rest, since
// they move the clock under everybody.
func (r *runner) work(ctx context.Context) {
	var waiting, busy []*job
	for _, j := range r.plan {
		switch {
		case j.done || j.check.Run == nil:
		case j.check.Waits:
			waiting = append(waiting, j)
		default:
			busy = append(busy, j)
		}
	}
	if r.virtual == nil {
		r.together(ctx, slices.Concat(waiting, busy))
		return
	}
	r.together(ctx, busy)
	r.virtual.join(len(waiting))
	r.together(ctx, waiting)
}

func (r *runner) together(ctx context.Context, jobs []*job) {
	var wg sync.WaitGroup
	for _, j := range jobs {
		// In line before its goroutine runs, so that checks begin in their order.
		turn := r.slots.queue(j.check.Waits)
		wg.Go(func() { r.one(ctx, j, turn) })
	}
	wg.Wait()
}

func (r *runner) one(ctx context.Context, j *job, turn chan struct{}) {
	if r.virtual != nil && j.check.Waits {
		defer r.virtual.leave(ctx)
	}
	if r.slots.wait(ctx, turn) != nil {
		res := describe(&j.check)
		res.Outcome, res.Reason = report.Errored, "the run was interrupted before it began"
		r.finish(j, res)
		return
	}
	defer r.slots.release()
	began := time.Now()
	checkCtx, cancel := context.WithTimeoutCause(ctx, r.options.CheckTimeout, fmt.Errorf("the check came to no end within %v", r.options.CheckTimeout))
	defer cancel()
	result := suite.Execute(checkCtx, &j.check, suite.Env{
		Backend: &backend{runner: r, check: j.check.ID, time: r.timeline()},
		Prefix:  fmt.Sprintf("%s-%d", r.id, j.n),
		A:       r.stock.a, B: r.stock.b, AdminKey: r.stock.adminKey,
		Fixtures: j.fixtures, Controller: r.stock.controller,
		Legacy: r.options.Legacy, CleanupTimeout: cleanupTimeout,
	})
	res := r.scribe.result(&j.check, result)
	res.Seconds = time.Since(began).Seconds()
	r.finish(j, res)
}

func (r *runner) timeline() timeline {
	if r.virtual != nil {
		return r.virtual
	}
	return realTime{}
}

func (r *runner) finish(j *job, res report.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.done, j.result = true, res
	if j.hidden {
		return
	}
	r.done++
	if r.options.Progress != nil {
		total := len(r.plan)
		for _, other := range r.plan {
			if other.hidden {
				total--
			}
		}
		r.options.Progress(Progress{Done: r.done, Total: total, Last: res})
	}
}

// collect closes the passive checks and returns all results in order.
func (r *runner) collect() []report.Result {
	passive := make(map[string]*watcher)
	for _, w := range r.session.watchers {
		passive[w.check.ID] = w
	}
	var results []report.Result
	for _, j := range r.plan {
		if !j.done {
			r.finish(j, passive[j.check.ID].result(r.scribe))
		}
		if !j.hidden {
			results = append(results, j.result)
		}
	}
	return results
}

func (r *runner) report(started time.Time) *Report {
	return &Report{
		Implementation: r.target.Name, Version: r.target.Version, Target: r.session.name,
		Protocol: contract.Edition, Profile: string(r.options.Profile), Legacy: r.options.Legacy,
		Run: r.id, Started: started,
	}
}

// backend is what one check has of a run.
type backend struct {
	runner *runner
	check  string
	time   timeline
}

func (b *backend) Do(ctx context.Context, r *suite.Request) (*suite.Answer, error) {
	s := b.runner.session
	a, err := s.do(ctx, r, b.time.now)
	if err != nil {
		return nil, err
	}
	for _, w := range s.watchers {
		w.see(a, b.check)
	}
	return a, nil
}

func (b *backend) Now() time.Time { return b.time.now() }

func (b *backend) Wait(ctx context.Context, until time.Time) error {
	b.runner.slots.release()
	err := b.time.wait(ctx, until)
	<-b.runner.slots.queue(true)
	return err
}
