package defects

import "github.com/cycles-protocol/cycles-go/conformance/internal/suite"

func extend() []Defect {
	return []Defect{
		{
			ID:    "extend.unknown-is-gone",
			About: "an extend of a reservation that never existed is answered 410 RESERVATION_EXPIRED",
			Fails: []string{"extend.unknown-reservation"},
			Wrap: after(on(suite.Extend), whenRefused(404, "NOT_FOUND",
				refusal(410, "RESERVATION_EXPIRED"))),
		},
	}
}
