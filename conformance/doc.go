// Package conformance tells whether a server keeps the Cycles protocol.
//
// Point it at a server and it says which sentences of the protocol the server
// breaks, what was expected, what came instead, and a curl line to see it:
//
//	rep, err := conformance.Run(ctx, conformance.Target{
//		Name:    "my-server",
//		BaseURL: "http://localhost:7878",
//		A:       target.Tenant{ID: "acme", APIKey: keyA},
//		B:       target.Tenant{ID: "other", APIKey: keyB},
//		Fixtures: []*target.Fixture{funded},
//	}, conformance.Options{Profile: conformance.Runtime})
//
// In a test of your own server, one subtest per check, against the handler in
// memory:
//
//	func TestProtocol(t *testing.T) {
//		conformance.Test(t, conformance.Target{Handler: myServer(), Provisioner: myBudgets{}})
//	}
//
// What a result is worth:
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
// What it does not do: it is no load test, it does not read what the server
// logs, and it cannot see what the protocol says about parts that are not on
// the wire. Checks run in parallel on subjects and keys that no other run
// uses, and release what they reserved; spend stays on the budgets that the
// target hands over, so do not hand over a real one.
//
// The suite speaks HTTP by itself, with neither retries nor validation of the
// client package: a fault there must not hide one here.
package conformance
