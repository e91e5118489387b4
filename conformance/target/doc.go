// Package target says what a conformance run is pointed at: where the server
// is, who the two tenants are, and which budgets the suite may use.
//
// What it promises:
//
//   - A Target holds facts, not behaviour: a base URL (or a handler in memory),
//     two tenants with their keys, and fixtures. A run does not change it, and
//     several may share it.
//   - A fixture is something the suite needs to find on the server and cannot
//     make through the protocol, which has no way to create a budget: a funded
//     budget, a frozen one, a closed tenant. The kinds stand in one table,
//     Catalogue, with what each must be.
//   - What is missing is not an error: the checks that need it are skipped and
//     name it. A key of tenant a and one funded budget are enough to begin; with
//     tenant b the checks that need a stranger run too.
//
// What it does not do: nothing here looks whether a fixture is what it is said
// to be, and nothing takes down what a Provisioner made.
//
// Fixtures that are not listed come from a Provisioner:
//
//	Admin   the governance-admin routes of the server make them
//	Exec    a command reads the list as JSON and answers what it made
//	yours   a type with a method Provision
//
// A target file that says the same (see File and ReadFile):
//
//	base_url: http://localhost:7878
//	tenants:
//	  a: {id: acme, api_key: "${CYCLES_KEY_A}"}
//	fixtures:
//	  - kind: funded
//	    budgets: [{subject: {tenant: acme}, unit: TOKENS, allocated: 1000000}]
package target
