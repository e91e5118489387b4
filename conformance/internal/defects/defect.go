package defects

import (
	"net/http"
	"path"
	"slices"
)

// Defect is one way to break the protocol.
type Defect struct {
	// ID is area.what, in lower case, words joined by dashes.
	ID string
	// About says in one sentence what the broken server does.
	About string
	// Fails are the checks that the defect is made for, by id or by pattern as
	// in path.Match. Each must fail on it; others may fail as well.
	Fails []string
	// Wrap breaks a server that keeps the protocol.
	Wrap Wrap
}

// Meant tells whether the check must fail on the defect.
func (d Defect) Meant(check string) bool {
	return slices.ContainsFunc(d.Fails, func(pattern string) bool {
		ok, _ := path.Match(pattern, check)
		return ok
	})
}

// Wrap makes a broken server out of one that keeps the protocol.
type Wrap func(next http.Handler) http.Handler

// All returns every defect, area by area, in a fixed order.
func All() []Defect {
	return slices.Concat(
		auth(),
		tenancy(),
		validation(),
		reserve(),
		obstacles(),
		scopes(),
		decide(),
		settle(),
		overage(),
		extend(),
		expiry(),
		idempotency(),
		replay(),
		get(),
		list(),
		windows(),
		sorting(),
		cursors(),
		projection(),
		balances(),
		ledger(),
		events(),
		errorAnswers(),
		precedence(),
		headers(),
		tracing(),
		closure(),
		concurrency(),
		evidence(),
	)
}
