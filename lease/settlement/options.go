package settlement

import (
	"log/slog"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

const (
	// DefaultRescan is how often the journal is looked through.
	DefaultRescan = time.Minute
	// DefaultFlushTimeout is how long Close waits for pending spends.
	DefaultFlushTimeout = 10 * time.Second
	// workers is how many attempts may be under way at a time in the background,
	// once for the spends of this process and once for those found in the journal.
	workers = 16
)

// Option sets one property of a Settler.
type Option func(*config) error

type config struct {
	journal      string
	noJournal    bool
	mayFail      bool // the journal was not asked for by name
	noSync       bool
	idle         bool
	rescan       time.Duration
	flushTimeout time.Duration
	logger       *slog.Logger
	notify       func(Result)
	files        journal.Files // nil: the real ones; a seam for tests
}

func refused(setting, reason string) error {
	return &client.ConfigError{Setting: setting, Reason: reason}
}

// WithJournal keeps the spends that are not settled yet below dir, in the
// directory of the client's identity, which is made when it is missing. Use the
// directory of the other SDKs to settle each other's records.
func WithJournal(dir string) Option {
	return func(c *config) error {
		if dir == "" {
			return refused("WithJournal", "must name a directory")
		}
		c.journal, c.noJournal, c.mayFail = dir, false, false
		return nil
	}
}

// WithoutJournal keeps spends in memory only, whatever the environment says.
func WithoutJournal() Option {
	return func(c *config) error {
		c.journal, c.noJournal = "", true
		return nil
	}
}

// WithoutSync leaves out fsync: a spend then survives a crash of the process but
// not a loss of power.
func WithoutSync() Option {
	return func(c *config) error {
		c.noSync = true
		return nil
	}
}

// WithoutBackground does nothing by itself: no retry, no replay. Spends are
// journaled, and settled by Settle, Flush or another process.
func WithoutBackground() Option {
	return func(c *config) error {
		c.idle = true
		return nil
	}
}

// WithRescan sets how often the journal is looked through for records that
// other processes left; the default is DefaultRescan. It is also how long a
// spend waits that the server does not accept for now (401, 403, a 4xx that
// explains nothing).
func WithRescan(interval time.Duration) Option {
	return func(c *config) error {
		if interval <= 0 {
			return refused("WithRescan", "must be positive")
		}
		c.rescan = interval
		return nil
	}
}

// WithFlushTimeout sets how long Close waits for pending spends; 0 does not
// wait. The default is what FromEnv found, else DefaultFlushTimeout.
func WithFlushTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return refused("WithFlushTimeout", "must not be negative")
		}
		c.flushTimeout = d
		return nil
	}
}

// WithLogger reports what happens in the background, and what is wrong with the
// journal. Bodies and keys of the API are never logged.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return refused("WithLogger", "must not be nil")
		}
		c.logger = l
		return nil
	}
}

// WithNotify calls f with the last result of each settlement that ends in the
// background, those of other processes that are found in the journal included.
// Calls may come at the same time; Close waits for them.
func WithNotify(f func(Result)) Option {
	return func(c *config) error {
		if f == nil {
			return refused("WithNotify", "must not be nil")
		}
		c.notify = f
		return nil
	}
}

// configure applies the options over what the environment says, if the client
// was made from it.
func configure(c *client.Client, opts []Option) (config, error) {
	cfg := config{rescan: DefaultRescan, flushTimeout: DefaultFlushTimeout, logger: slog.New(slog.DiscardHandler)}
	if env, ok := c.JournalSettings(); ok {
		cfg.flushTimeout = env.FlushTimeout
		// CYCLES_RETRY_ENABLED=false: what is pending is left to somebody else.
		cfg.idle = c.RetryPolicy().MaxAttempts == 1
		if env.Enabled {
			cfg.journal, cfg.mayFail = env.Dir, true
		}
	}
	for _, opt := range opts {
		if opt == nil {
			return cfg, refused("option", "must not be nil")
		}
		if err := opt(&cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}
