// Package strictjson reads JSON the way a ledger must: one document, valid
// UTF-8, no key twice, integers exact.
//
// encoding/json is made to be lenient. It takes the last of two equal keys,
// matches keys without regard to case, replaces broken UTF-8, and refuses 1e3
// for an int64 although JSON Schema calls it an integer. A client that proves
// its success from an answer, a server that compares payloads, a suite that
// judges servers and a journal that must replay what was written all need the
// opposite, so they share this scanner. It knows JSON only; which members an
// object has and what bounds they keep is the business of each side.
//
// What it promises:
//
//   - a syntax error, a byte that is not UTF-8, an unpaired surrogate, a raw
//     control character, a repeated key (compared after unescaping) and
//     anything but white space behind the document are errors;
//   - Int64 takes every spelling of an integer (7, 7.0, 0.7e1) and nothing
//     else: 1.5, 2^63 and -2^63-1 are errors, and no exponent makes it slow;
//   - nesting is limited to MaxDepth and nothing it does overflows the stack;
//   - an error tells the offset and the rule that was broken and never repeats
//     the input, which may hold what must not be logged.
//
// What it does not do: it neither streams (the caller bounds and reads the
// body first) nor decodes into structs by reflection. A Scanner is a value for
// one goroutine.
package strictjson
