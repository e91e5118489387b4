// Package contract hands out the contract of the Cycles protocol to those who
// validate against it: test suites, mock servers, gateways.
//
// [YAML] is an OpenAPI 3.1 document. Its structure (paths, members, types,
// bounds, enums, statuses, headers) is that of the published protocol document
// of the same [Edition]; its prose is this project's own. Load it with the
// validator of your choice: this package brings none and parses nothing.
//
// Two things a validator will not see in it. A client must accept error codes
// that the enum does not list, and additions published for later editions are
// invalid where the schema closes the object.
package contract
