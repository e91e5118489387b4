package ledger

import (
	"github.com/cycles-protocol/cycles-go/gen"
)

// Decide asks what a reserve would be told.
type Decide struct {
	Spend
}

// Decided answers a Decide.
type Decided struct {
	Decision gen.DecisionEnum
	Reason   string // on DENY
	Path     string
	Caps     *gen.Caps
	Replayed bool
}

// Decide evaluates and changes nothing but the memory of its key.
func (l *Ledger) Decide(now int64, q *Decide) (Decided, *Denial) {
	l.step(now)
	a, d := l.subjectAccount(q.Tenant, &q.Subject)
	if d != nil {
		return Decided{}, d
	}
	answer, ok, d := a.recall(endpointDecide, &q.Identity)
	if d != nil {
		return Decided{}, d
	}
	if ok {
		out := answer.(Decided)
		out.Replayed = true
		return out, nil
	}
	path := q.Subject.Path()
	e, d := a.evaluate(path, q.Unit, q.Amount)
	if d != nil {
		return Decided{}, d
	}
	out := Decided{Decision: e.decision(), Reason: e.reason, Path: path, Caps: e.caps}
	a.remember(endpointDecide, &q.Identity, out)
	return out, nil
}
