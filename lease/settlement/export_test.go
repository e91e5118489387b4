package settlement

import "github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"

// WithFiles replaces the file system under the journal.
func WithFiles(f journal.Files) Option {
	return func(c *config) error {
		c.files = f
		return nil
	}
}

// WithSync undoes WithoutSync.
func WithSync() Option {
	return func(c *config) error {
		c.noSync = false
		return nil
	}
}
