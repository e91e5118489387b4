package target

import (
	"context"
	"net/http"
	"time"
)

// Target is a server and what the suite may use on it. It is not changed by a
// run and may serve several at a time.
type Target struct {
	// Name and Version say what is judged; they stand in every report.
	Name, Version string
	// BaseURL is where the server is, with a path prefix if it has one, without
	// /v1. It may stay empty when Handler or Transport is set.
	BaseURL string
	// Handler, when set, answers in memory; nothing is dialled.
	Handler http.Handler
	// Transport, when set, carries the requests instead of the suite's own.
	Transport http.RoundTripper
	// A and B are two tenants that are open and have each a key. B may be left
	// empty; the checks that need a stranger are skipped then.
	A, B Tenant
	// AdminKey is the operator's key that list, get and release also take.
	// Optional.
	AdminKey string
	// Evidence says that the server signs its decisions and serves the evidence.
	Evidence bool
	// Fixtures are what exists already. A Provisioner may add more.
	Fixtures []*Fixture
	// Provisioner makes what Fixtures does not have. Optional.
	Provisioner Provisioner
	// Controller changes fixtures during a check. Optional; a Provisioner that
	// is a Controller too is used when this is nil.
	Controller Controller
	// Clock is the server's virtual clock. Nil means that the server's time is
	// real and waiting is done by sleeping.
	Clock Clock
}

// Tenant is one tenant and a key of it.
type Tenant struct {
	// ID is the tenant's name, as a subject would give it.
	ID string
	// APIKey is sent as X-Cycles-API-Key.
	APIKey string
}

// Budget is one budget of a fixture.
type Budget struct {
	// Subject gives the levels of the scope that the budget sits on, tenant
	// included: {"tenant": "acme", "workspace": "w1"}.
	Subject map[string]string
	// Unit is the unit of the budget.
	Unit string
	// Allocated and OverdraftLimit are in that unit. Allocated is what the
	// budget held when it was handed over.
	Allocated, OverdraftLimit int64
	// Tenant owns the budget. It is the tenant of the fixture.
	Tenant Tenant
}

// Fixture is one thing the suite may use.
type Fixture struct {
	// Kind says what it is, see Catalogue.
	Kind Kind
	// ID tells fixtures of one kind apart.
	ID string
	// Tenant is the tenant the fixture belongs to, with a key that works for it.
	Tenant Tenant
	// Budgets are in the order in which the catalogue names them.
	Budgets []*Budget
	// Limit is the number that the kind is about, where there is one: extensions
	// for max-extensions, milliseconds for ttl-ceiling.
	Limit int64
}

// Clock is a clock that the server runs on and the suite may move. Both
// methods must be safe for concurrent use.
type Clock interface {
	// Now is the server's present time.
	Now(ctx context.Context) (time.Time, error)
	// Advance moves the clock forward by d and returns when all that fell due
	// has happened.
	Advance(ctx context.Context, d time.Duration) error
}

// Provisioner makes fixtures.
type Provisioner interface {
	// Provision makes as many of the wanted fixtures as it can, and tells with
	// them the tenants and the admin key when it made those too. A fixture it
	// cannot make is left out of the answer, which is not an error.
	Provision(ctx context.Context, want Wanted) (*Provisioned, error)
}

// Controller changes what was provisioned while a check runs. A method is called
// only when Can says yes to the ability it stands for.
type Controller interface {
	// Can tells which of the kinds CanCloseTenant, CanFreeze and CanRepayDebt the
	// target offers.
	Can(ability Kind) bool
	// CloseTenant closes the tenant for good and returns when that is durable.
	CloseTenant(ctx context.Context, tenant Tenant) error
	// FreezeBudget and UnfreezeBudget set the status of the budget.
	FreezeBudget(ctx context.Context, budget *Budget) error
	UnfreezeBudget(ctx context.Context, budget *Budget) error
	// RepayDebt pays amount of the budget's debt.
	RepayDebt(ctx context.Context, budget *Budget, amount int64) error
}

// Wanted is the list of fixtures that a run can use.
type Wanted struct {
	// Run is a short name that no other run has. Names made for this run should
	// hold it, so that two runs at a time do not meet.
	Run string
	// Fixtures has one entry per fixture.
	Fixtures []Want
}

// Want asks for one fixture.
type Want struct {
	Kind Kind
	ID   string
}

// Provisioned is what a Provisioner made.
type Provisioned struct {
	// A and B replace the target's tenants when their ID is not empty.
	A, B Tenant
	// AdminKey replaces the target's when it is not empty.
	AdminKey string
	Fixtures []*Fixture
}
