package suite

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Backend carries requests and keeps time. The engine provides it.
type Backend interface {
	// Do sends the request and returns the complete answer. An error means that
	// there is none, and that the harness could not tell.
	Do(ctx context.Context, r *Request) (*Answer, error)
	// Now is the time on the harness clock.
	Now() time.Time
	// Wait returns when the harness clock has reached until, or with the error
	// of ctx.
	Wait(ctx context.Context, until time.Time) error
}

// Env is what one check is given.
type Env struct {
	Backend Backend
	// Prefix is a short lower-case name that no other check of any run has.
	Prefix string
	// A and B are the tenants, AdminKey the operator's key; empty when missing.
	A, B     target.Tenant
	AdminKey string
	// Fixtures has one fixture for each kind that the check needs and that is no
	// ability.
	Fixtures map[target.Kind]*target.Fixture
	// Controller is there when the check needs one of its abilities.
	Controller target.Controller
	// Legacy says that the server is of edition 0.1.25.
	Legacy bool
	// CleanupTimeout bounds the releases after the check.
	CleanupTimeout time.Duration
}

// T is what a check works with.
type T struct {
	check *Check
	env   Env

	mu        sync.Mutex
	serial    int
	together  bool
	exchanges []Exchange
	open      map[string]string // reservation id -> API key that made it
	warning   *verdict
}

// TenantA is the tenant most checks work for.
func (t *T) TenantA() target.Tenant { return t.env.A }

// TenantB is the stranger. The check must need target.TenantB.
func (t *T) TenantB() target.Tenant {
	t.needs(target.TenantB)
	return t.env.B
}

// AdminKey is the operator's key. The check must need target.AdminKey.
func (t *T) AdminKey() string {
	t.needs(target.AdminKey)
	return t.env.AdminKey
}

// Controller changes fixtures. The check must need the ability it uses.
func (t *T) Controller() target.Controller { return t.env.Controller }

// Legacy tells whether the server is of edition 0.1.25.
func (t *T) Legacy() bool { return t.env.Legacy }

// Fixture is the fixture of that kind. The check must need it.
func (t *T) Fixture(kind target.Kind) *target.Fixture {
	t.needs(kind)
	return t.env.Fixtures[kind]
}

// Budget is the first budget of the fixture of that kind.
func (t *T) Budget(kind target.Kind) *target.Budget { return t.Fixture(kind).Budgets[0] }

// needs catches checks that use what they did not declare: they would be run
// where it is missing.
func (t *T) needs(kind target.Kind) {
	for _, k := range t.check.Needs {
		if k == kind {
			return
		}
	}
	panic(fmt.Sprintf("check %s uses fixture %s without needing it", t.check.ID, kind))
}

// Name returns a name that nothing else has: lower-case letters, digits and
// dashes, at most 40 characters.
func (t *T) Name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	return fmt.Sprintf("%s-%d", t.env.Prefix, t.serial)
}

// Subject is a subject on the scope of the budget, and below it at a level that
// no other subject shares, so that listings can be told apart. When the budget
// sits on the lowest level already it is the budget's own.
func (t *T) Subject(b *target.Budget) map[string]any {
	s := make(map[string]any, len(b.Subject)+1)
	for level, name := range b.Subject {
		s[level] = name
	}
	for _, level := range []string{"agent", "toolset"} {
		if _, taken := s[level]; !taken {
			s[level] = t.Name()
			break
		}
	}
	return s
}

// Do sends the request and returns the answer, whatever it is. It ends the
// check when there is no complete answer.
func (t *T) Do(ctx context.Context, r *Request) *Answer {
	t.uses(r.Op)
	a, err := t.env.Backend.Do(ctx, r)
	if err != nil {
		t.record(r, nil, err)
		t.stop(verdict{outcome: Errored, got: err.Error()})
	}
	a.Exchange = t.record(r, a, nil)
	t.track(r, a)
	return a
}

func (t *T) uses(op Op) {
	if op == "" || op == Release {
		return
	}
	for _, o := range t.check.Ops {
		if o == op {
			return
		}
	}
	panic(fmt.Sprintf("check %s uses operation %s without declaring it", t.check.ID, op))
}

// track remembers which reservations are to be released after the check.
func (t *T) track(r *Request, a *Answer) {
	if a.Status < 200 || a.Status > 299 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Op {
	case Create:
		if id := a.Str("reservation_id"); id != "" {
			t.open[id] = r.Header.Get(HeaderKey)
		}
	case Commit, Release:
		delete(t.open, r.Reservation)
	}
}

// Together calls f(0) to f(n-1) at the same time and waits for all. The first
// of them that ended the check ends it when all are back. Waiting inside is not
// allowed.
func (t *T) Together(n int, f func(i int)) {
	var (
		wg    sync.WaitGroup
		ended = make([]any, n)
	)
	t.setTogether(true)
	for i := range n {
		wg.Go(func() {
			defer func() { ended[i] = recover() }()
			f(i)
		})
	}
	wg.Wait()
	t.setTogether(false)
	for _, e := range ended {
		if e != nil {
			panic(e)
		}
	}
}

func (t *T) setTogether(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.together = on
}

// Now is the time on the harness clock: the server's where that is virtual,
// else the local one. It says nothing about what a real server's clock shows.
func (t *T) Now() time.Time { return t.env.Backend.Now() }

// Wait lets d pass.
func (t *T) Wait(ctx context.Context, d time.Duration) { t.WaitUntil(ctx, t.Now().Add(d)) }

// WaitUntil waits for an instant of the harness clock, such as
// Reservation.Ends.
func (t *T) WaitUntil(ctx context.Context, until time.Time) {
	if !t.check.Waits {
		panic(fmt.Sprintf("check %s waits without saying so", t.check.ID))
	}
	t.mu.Lock()
	together := t.together
	t.mu.Unlock()
	if together {
		panic(fmt.Sprintf("check %s waits inside Together", t.check.ID))
	}
	if err := t.env.Backend.Wait(ctx, until); err != nil {
		t.stop(verdict{outcome: Errored, got: "waiting was cut short: " + err.Error()})
	}
}

// Eventually asks until it is told yes, every step, for at most within, and
// reports whether it was.
func (t *T) Eventually(ctx context.Context, within, step time.Duration, yes func() bool) bool {
	end := t.Now().Add(within)
	for !yes() {
		next := t.Now().Add(step)
		if next.After(end) {
			return false
		}
		t.WaitUntil(ctx, next)
	}
	return true
}

func (t *T) leftOpen() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.open)
}
