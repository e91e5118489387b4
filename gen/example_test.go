package gen_test

import (
	"encoding/json"
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen"
)

// A grace period of zero is sent, one that is not set is left to the server.
func Example() {
	request := gen.ReservationCreateRequest{
		IdempotencyKey: "run-42/step-1",
		Subject:        gen.Subject{Tenant: new("acme")},
		Action:         gen.Action{Kind: "llm.completion", Name: "summarize"},
		Estimate:       gen.Amount{Unit: gen.UnitEnumUSDMicrocents, Amount: 500_000},
		GracePeriodMs:  new(int64(0)),
	}
	body, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(body))
	// Output:
	// {
	//   "action": {
	//     "kind": "llm.completion",
	//     "name": "summarize"
	//   },
	//   "estimate": {
	//     "amount": 500000,
	//     "unit": "USD_MICROCENTS"
	//   },
	//   "grace_period_ms": 0,
	//   "idempotency_key": "run-42/step-1",
	//   "subject": {
	//     "tenant": "acme"
	//   }
	// }
}
