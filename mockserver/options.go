package mockserver

import (
	"fmt"
	"log/slog"
	"math"
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

// Option configures a Server. Open refuses one that is nil, and values that no
// server can run with.
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
		if o == nil {
			c.refuse("an option must not be nil")
			continue
		}
		o(&c)
	}
	c.check()
	if !c.noDefaults && len(c.tenants) == 0 {
		c.tenants = []Tenant{{ID: DefaultTenant, Keys: []string{DefaultAPIKey}}}
		if len(c.budgets) == 0 {
			c.budgets = []Budget{{Scope: DefaultScope, Allocated: DefaultAllocated}}
		}
	}
	return c
}

func (c *config) refuse(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("mockserver: "+format, args...))
}

// check refuses settings that no server can run with, wherever they are from.
func (c *config) check() {
	if c.journalSize < 0 {
		c.refuse("the size of the journal must be at least 0, not %d", c.journalSize)
	}
	if c.maxBody < 0 || c.maxBody == math.MaxInt64 {
		c.refuse("the largest body must be at least 0 and below 2^63-1 bytes, not %d", c.maxBody)
	}
	if c.virtual && (c.start.Before(time.UnixMilli(0)) || c.start.After(lastInstant)) {
		c.refuse("virtual time starts between the years 1970 and 9999")
	}
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
// runtime, which inside a testing/synctest bubble is the bubble's. now must not
// be nil.
func WithClock(now func() time.Time) Option {
	return func(c *config) {
		if now == nil {
			c.refuse("WithClock must not be given nil")
		}
		c.now, c.virtual = now, false
	}
}

// WithJournalSize sets how many requests the server remembers; 0 remembers
// none. It must not be negative.
func WithJournalSize(n int) Option {
	return func(c *config) { c.journalSize = n }
}

// WithMaxBody sets the largest request body that is read, in bytes. It
// must not be negative; 0 takes no body at all.
func WithMaxBody(n int64) Option {
	return func(c *config) { c.maxBody = n }
}

// WithLogger logs one line for each request: never a key, never a body. l must
// not be nil; without this option nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) {
		if l == nil {
			c.refuse("WithLogger must not be given nil")
		}
		c.logger = l
	}
}
