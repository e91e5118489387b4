// Package checks holds the checks, one file per area of the protocol. The file
// tree is the table of contents, and the file of a check is the area in front
// of its id.
package checks

import (
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// All returns every check, area by area, in a fixed order.
func All() []suite.Check {
	return slices.Concat(
		auth(),
		tenancy(),
		validation(),
		reserve(),
		obstacles(),
		scopes(),
		decide(),
		dryRun(),
		commit(),
		overage(),
		release(),
		extend(),
		remaining(),
		expiry(),
		idempotency(),
		replays(),
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
