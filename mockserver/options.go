package mockserver

import (
	"log/slog"
	"time"
)

// Defaults of a server that was told nothing else. They are meant to be used
// in tests as they are: mockserver.Start(t) is a server with one tenant, one
// key and one budget.
const (
	// DefaultTenant is the tenant of a server without WithTenant, WithConfig
	// or WithoutDefaults.
	DefaultTenant = "demo"
	// DefaultAPIKey is the key of DefaultTenant.
	DefaultAPIKey = "cyc_live_demo"
	// DefaultScope is the scope of the default budget.
	DefaultScope = "tenant:" + DefaultTenant
	// DefaultAllocated is what the default budget holds: 100 US dollars in
	// USD_MICROCENTS.
	DefaultAllocated int64 = 10_000_000_000
	// DefaultAdminKey opens the /v1/admin routes, like the bootstrap key of the
	// reference stack.
	DefaultAdminKey = "admin-bootstrap-key"
	// DefaultJournalSize is how many requests Requests remembers.
	DefaultJournalSize = 10_000
	// DefaultMaxBody is the largest request body that is read, in bytes. A
	// larger one is answered with 413.
	DefaultMaxBody int64 = 1 << 20
)

// Option configures a Server.
type Option func(*config)

// config is what New starts from and Reset goes back to.
type config struct {
	contents
	errs        []error // of the options themselves
	noDefaults  bool
	adminKey    string
	now         func() time.Time
	virtual     bool
	start       time.Time
	journalSize int
	maxBody     int64
	logger      *slog.Logger
}

// contents are what a server is filled with.
type contents struct {
	tenants  []Tenant
	budgets  []Budget
	policies []ScopePolicy
	faults   []Fault
}

func newConfig(opts []Option) config {
	c := config{
		adminKey:    DefaultAdminKey,
		now:         time.Now,
		journalSize: DefaultJournalSize,
		maxBody:     DefaultMaxBody,
		logger:      slog.New(slog.DiscardHandler),
	}
	for _, o := range opts {
		o(&c)
	}
	if !c.noDefaults && len(c.tenants) == 0 {
		c.tenants = []Tenant{{ID: DefaultTenant, Keys: []string{DefaultAPIKey}}}
		if len(c.budgets) == 0 {
			c.budgets = []Budget{{Scope: DefaultScope, Allocated: DefaultAllocated}}
		}
	}
	return c
}

// WithTenant adds a tenant. The default tenant and budget are left out then.
func WithTenant(t Tenant) Option {
	return func(c *config) { c.tenants = append(c.tenants, t) }
}

// WithBudget adds a budget. Without WithTenant it belongs to DefaultTenant,
// whose default budget is left out.
func WithBudget(b Budget) Option {
	return func(c *config) { c.budgets = append(c.budgets, b) }
}

// WithScopePolicy adds caps or lease overrides for the scopes that a pattern
// matches.
func WithScopePolicy(p ScopePolicy) Option {
	return func(c *config) { c.policies = append(c.policies, p) }
}

// WithFault injects a fault at the start; Reset injects it again.
func WithFault(f Fault) Option {
	return func(c *config) { c.faults = append(c.faults, f) }
}

// WithoutDefaults starts an empty server: only the admin key works.
func WithoutDefaults() Option {
	return func(c *config) { c.noDefaults = true }
}

// WithAdminKey replaces DefaultAdminKey. An empty key closes the admin routes.
func WithAdminKey(key string) Option {
	return func(c *config) { c.adminKey = key }
}

// WithVirtualTime stops the clock at start. From then on it moves only when
// Advance or POST /_mock/clock tells it to, and a reservation never expires
// while a test is looking the other way. The delays of faults wait for that
// clock too.
func WithVirtualTime(start time.Time) Option {
	return func(c *config) { c.virtual, c.start = true, start }
}

// WithClock reads the time from now instead of time.Now, for a test that has a
// fake clock already. The delays of faults still wait in the time of the Go
// runtime, which inside a testing/synctest bubble is the bubble's.
func WithClock(now func() time.Time) Option {
	return func(c *config) { c.now, c.virtual = now, false }
}

// WithJournalSize sets how many requests the server remembers; 0 remembers
// none.
func WithJournalSize(n int) Option {
	return func(c *config) { c.journalSize = n }
}

// WithMaxBody sets the largest request body that is read, in bytes.
func WithMaxBody(n int64) Option {
	return func(c *config) { c.maxBody = n }
}

// WithLogger logs one line for each request: never a key, never a body.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.logger = l }
}
