package checks

import (
	"context"
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func extend() []suite.Check {
	return []suite.Check{
		{
			ID:          "extend.unknown-reservation",
			Level:       suite.Must,
			Section:     "ERROR SEMANTICS",
			Lines:       []int{139},
			Requirement: "An extend of a reservation that never existed is refused with 404 NOT_FOUND.",
			Needs:       []target.Kind{target.Funded},
			Ops:         []suite.Op{suite.Extend},
			Run: func(ctx context.Context, t *suite.T) {
				stranger := t.Stranger(t.Budget(target.Funded))
				a := t.Do(ctx, t.Extend(stranger, 1000))
				t.WantError(a, http.StatusNotFound, "NOT_FOUND")
			},
		},
	}
}
