package contract

import "github.com/cycles-protocol/cycles-go/gen"

// Edition is the edition of the protocol document that the contract mirrors.
// It is the contract's info.version.
const Edition = "0.1.25.16"

// YAML returns the contract. The slice is the caller's own.
func YAML() []byte { return []byte(gen.ContractYAML()) }
