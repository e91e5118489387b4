package schema

import "github.com/cycles-protocol/cycles-go/conformance/internal/suite"

// Checks are one passive check per operation: its answers are what the contract
// says.
func Checks() ([]suite.Check, error) {
	v, err := New()
	if err != nil {
		return nil, err
	}
	var checks []suite.Check
	for _, op := range v.Ops() {
		checks = append(checks, suite.Check{
			ID:          "contract." + string(op),
			Level:       suite.Must,
			Section:     string(op),
			Requirement: "Every answer of " + string(op) + " has the JSON content type, carries a trace id, and is one strict JSON document that keeps the schema declared for its status, or ErrorResponse where the status is not declared.",
			Ops:         []suite.Op{op},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Request.Op != op {
					return false, nil
				}
				return v.Answer(a)
			},
		})
	}
	return checks, nil
}
