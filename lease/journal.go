package lease

import "github.com/cycles-protocol/cycles-go/lease/settlement"

// WithJournal keeps spends that are not settled yet on disk, below dir, until
// they are: a crash, an outage or an expired reservation then loses none. A
// manager whose client was made by client.FromEnv has a journal without being
// told, unless CYCLES_JOURNAL_ENABLED=false. A directory that cannot be used is
// an error of NewManager.
func WithJournal(dir string) Option { return WithSettlement(settlement.WithJournal(dir)) }

// WithSettlement passes options on to the settler that commits the spends of
// this manager's leases.
func WithSettlement(opts ...settlement.Option) Option {
	return func(c *config) error {
		c.settlement = append(c.settlement, opts...)
		return nil
	}
}

// Settler is what commits the spends of this manager's leases. Its Status says
// what is not settled yet and its Flush tries that now. Close closes it.
func (m *Manager) Settler() *settlement.Settler { return m.settler }
