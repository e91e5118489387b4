// Package gen holds the Cycles protocol, edition 0.1.25.16, as Go types: a
// struct for every schema, a constant for every enumerated value, and a raw
// client with one method per operation. The types and the client are generated
// from openapi.yaml in this directory, and their comments are that file's
// descriptions.
//
// What it promises:
//
//   - the contract has the structure of the published protocol document, which
//     a test proves by digest, so a member here is a member on the wire;
//   - absence is kept apart from zero: an optional scalar or object is a
//     pointer and an optional list or map is nil, so grace_period_ms 0 and no
//     grace_period_ms are two different requests, and no default is ever sent
//     that the caller did not set;
//   - open sets stay open: an error code or a reason code that this edition
//     does not know decodes as itself;
//   - nothing here keeps state, and a [Client] is safe for concurrent use once
//     it is built.
//
// What it does not do:
//
//   - The types decode, they do not judge. encoding/json ignores unknown
//     members, takes null for a required one and the last of two equal keys,
//     and neither bounds nor enums are checked. Package client proves an
//     answer before it decodes it; use that to talk to a server.
//   - They encode what they are given. An optional list or map that is empty
//     is left out; a required list that is nil becomes null, which the
//     contract forbids, so a server must give it an empty one.
//   - The raw client neither retries, times out, authenticates nor reads the
//     response. It escapes a reservation id but does not check it: the empty
//     id, "." and ".." make a request for another resource. Check ids first.
//   - The generator also knows how to make parsers of responses
//     (ClientWithResponses). They are left out on purpose: they call {} and
//     null a success, read a body of any size, and when a header is odd or an
//     error page is not JSON they lose the status of the answer.
//   - The raw client's params carry X-Idempotency-Key. Leave it unset: net/http
//     takes that header as leave to send a POST a second time on its own. The
//     key in the body is the one that counts.
//
// Integers of the contract are int64. A free-form map (metadata, details,
// payload) decodes its numbers as float64; decode the body yourself where
// their digits matter.
//
// To change the package, edit openapi.yaml (or oapi-codegen.yaml and
// overlay.yaml, which say how code is made of it) and run
//
//	go generate ./gen
//
// The generated text depends on the versions of oapi-codegen and kin-openapi
// in go.mod; raise them and regenerate in one commit.
package gen
