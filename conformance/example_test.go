package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/target"
	"github.com/cycles-protocol/cycles-go/mockserver"
)

// newServer stands for your own server and its handler.
func newServer() http.Handler {
	return mockserver.New(
		mockserver.WithTenant(mockserver.Tenant{ID: "acme", Keys: []string{"key-of-acme"}}),
		mockserver.WithTenant(mockserver.Tenant{ID: "other", Keys: []string{"key-of-other"}}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:acme", Allocated: 1_000_000}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:other", Allocated: 1_000_000}),
	)
}

func funded(kind target.Kind, tenant string) *target.Fixture {
	return &target.Fixture{Kind: kind, Budgets: []*target.Budget{{
		Subject: map[string]string{"tenant": tenant}, Unit: "USD_MICROCENTS", Allocated: 1_000_000,
	}}}
}

func myTarget() conformance.Target {
	return conformance.Target{
		Name: "my-server", Version: "1.0", Handler: newServer(),
		A:        target.Tenant{ID: "acme", APIKey: "key-of-acme"},
		B:        target.Tenant{ID: "other", APIKey: "key-of-other"},
		Fixtures: []*target.Fixture{funded(target.Funded, "acme"), funded(target.FundedB, "other")},
	}
}

// A handler in memory, two tenants and a budget for each are enough to begin.
func ExampleRun() {
	rep, err := conformance.Run(context.Background(), myTarget(), conformance.Options{
		Profile: conformance.Core,
		Run:     []string{"extend.unknown-reservation", "contract.extendReservation"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rep.Verdict)
	for _, res := range rep.Results {
		fmt.Println(res.Outcome, res.ID)
	}
	// Output:
	// conformant
	// pass extend.unknown-reservation
	// pass contract.extendReservation
}

// In the tests of your server, one subtest for each check.
func ExampleTest() {
	var t *testing.T // of func TestProtocol(t *testing.T)
	conformance.Test(t, myTarget(), conformance.Options{Profile: conformance.Core})
}
