// Package mocktarget makes the module's own mock server a target with every
// fixture. The command and tests use it; the suite itself must not, or a fault
// of the mock could hide one of the suite.
package mocktarget

import (
	"context"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/attest"
	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// Options say what kind of mock is wanted.
type Options struct {
	// Virtual runs it on a clock that the suite moves.
	Virtual bool
	// Legacy answers like a server of edition 0.1.25.
	Legacy bool
	// Unsigned leaves evidence away.
	Unsigned bool
	// Mock are further options of the server.
	Mock []mockserver.Option
}

// adminKey opens the admin routes of the mock.
const adminKey = "conformance-admin-key"

// New starts a mock in memory and makes it a target. What the mock leaves out
// is added in front of it: evidence, and a tenant whose record is broken.
func New(o Options) target.Target {
	opts := []mockserver.Option{mockserver.WithoutDefaults(), mockserver.WithAdminKey(adminKey), mockserver.WithJournalSize(0)}
	if o.Virtual {
		opts = append(opts, mockserver.WithVirtualTime(time.Now().Truncate(time.Millisecond)))
	}
	srv := mockserver.New(append(opts, o.Mock...)...)
	broken := &Corruption{Next: srv}
	t := target.Target{
		Name: "cycles-mock", Version: "in memory",
		Handler: broken, AdminKey: adminKey,
		Provisioner: &provisioner{
			srv: srv, corruption: broken, legacy: o.Legacy,
			Admin: target.Admin{BaseURL: srv.URL(), Key: adminKey, Client: srv.Client()},
		},
	}
	if !o.Unsigned {
		t.Handler, t.Evidence = attest.New(broken, srv.Now, false), true
	}
	if o.Virtual {
		t.Clock = clock{srv}
	}
	return t
}

// clock is the server's virtual clock.
type clock struct{ srv *mockserver.Server }

func (c clock) Now(context.Context) (time.Time, error) { return c.srv.Now(), nil }

func (c clock) Advance(_ context.Context, d time.Duration) error {
	c.srv.Advance(d)
	return nil
}
