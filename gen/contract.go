package gen

import _ "embed"

// contractYAML is a string and has no initializer but the directive, so that
// the linker leaves it out of every program that does not call ContractYAML.
//
//go:embed openapi.yaml
var contractYAML string

// ContractYAML returns openapi.yaml, the contract this package is generated
// from, byte for byte. It is here because a package can embed only what lies
// at or below its own directory; validators find it, with its edition, in
// package gen/contract.
func ContractYAML() string { return contractYAML }
