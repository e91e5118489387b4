// Package target says what a conformance run is pointed at: where the server
// is, who the two tenants are, and which budgets the suite may use.
//
// A Target holds facts, not behaviour: a base URL (or a handler in memory),
// two tenants with their keys, and fixtures. A fixture is something the suite
// needs to find on the server and cannot make through the protocol itself,
// which has no way to create a budget: a funded budget, a frozen one, a closed
// tenant. The kinds stand in one table (Catalogue) with what each must be.
//
// Where fixtures come from is the business of a Provisioner:
//
//	static   the target file lists what exists already
//	admin    the governance-admin routes of the server make them
//	exec     a command reads the list as JSON and answers what it made
//
// What is missing is not an error: the checks that need it are skipped and
// name it. Two keys and one funded budget each are enough for a run.
package target
