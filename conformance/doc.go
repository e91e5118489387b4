// Package conformance tells whether a server keeps the Cycles protocol.
//
// Point it at a server and it says which sentences of the protocol the server
// breaks, what was expected, what came instead, and a curl line to see it.
//
// What it promises, by the result of a check:
//
//   - pass: the server answered for the reason under test, by status and code
//     and effect. A server that refuses everything passes nothing.
//   - fail: a MUST of the protocol was broken. Every answer that any check saw
//     is also compared with the contract; what is wrong there fails the check
//     contract.<operation> and no other.
//   - warn: a SHOULD was not followed.
//   - skip: the check does not apply, or the target lacks what it needs. The
//     reason names it.
//   - error: the harness could not tell. It is never a pass and never a
//     failure, and a run that has one is not conformant.
//
// Checks run in parallel on subjects and keys that no other run uses, and
// release what they reserved, also when the run is interrupted. No report holds
// an API key.
//
// What it does not do:
//
//   - It makes no budgets: the protocol cannot. A target needs at least one
//     funded budget of tenant a, and what else it lacks is skipped.
//   - It gives no spend back. Do not hand over a real budget.
//   - It is no load test, does not read what the server logs, and cannot see
//     what the protocol says about parts that are not on the wire.
//   - It does not use the client package, with its retries and its validation:
//     a fault there must not hide one here.
//
// A server with an address:
//
//	rep, err := conformance.Run(ctx, conformance.Target{
//		Name:    "my-server",
//		BaseURL: "http://localhost:7878",
//		A:       target.Tenant{ID: "acme", APIKey: keyA},
//		B:       target.Tenant{ID: "other", APIKey: keyB},
//		Fixtures: []*target.Fixture{{Kind: target.Funded, Budgets: []*target.Budget{{
//			Subject: map[string]string{"tenant": "acme"}, Unit: "TOKENS", Allocated: 1_000_000,
//		}}}},
//	}, conformance.Options{Profile: conformance.Runtime})
//	if err != nil {
//		return err // it could not begin, or was interrupted; what a server does wrong is in rep
//	}
//	rep.WriteText(os.Stdout, report.TextOptions{})
//
// In a test of your own server, one subtest per check, against the handler in
// memory:
//
//	func TestProtocol(t *testing.T) {
//		conformance.Test(t, conformance.Target{Handler: myServer(), Provisioner: myBudgets{}})
//	}
package conformance
