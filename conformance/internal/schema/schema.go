// Package schema compares answers with the contract.
//
// The schemas of gen/contract decide, read by kin-openapi's built-in visitor.
// What that lets through is looked for here: members that come twice, bytes
// behind the document, integers beyond 64 bits, constants. One thing it
// would refuse is taken: deny_detail in the answers of create and decide, which
// is published for the next edition.
package schema

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/gen/contract"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// Validator judges answers. It is safe for concurrent use.
type Validator struct {
	ops     map[suite.Op]*operation
	problem *openapi3.Schema // ErrorResponse
}

type operation struct {
	declared map[int]*openapi3.Schema
}

// New reads the contract.
func New() (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(contract.YAML())
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	problem := doc.Components.Schemas["ErrorResponse"]
	if problem == nil {
		return nil, errors.New("the contract has no ErrorResponse")
	}
	v := &Validator{ops: make(map[suite.Op]*operation), problem: problem.Value}
	constants := make(map[*openapi3.Schema]bool)
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			declared, err := responses(op, constants)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.OperationID, err)
			}
			v.ops[suite.Op(op.OperationID)] = &operation{declared: declared}
		}
	}
	for _, name := range []string{"ReservationCreateResponse", "DecisionResponse"} {
		s := doc.Components.Schemas[name].Value
		s.Properties["deny_detail"] = openapi3.NewSchemaRef("", openapi3.NewObjectSchema().WithAnyAdditionalProperties())
	}
	return v, nil
}

func responses(op *openapi3.Operation, seen map[*openapi3.Schema]bool) (map[int]*openapi3.Schema, error) {
	declared := make(map[int]*openapi3.Schema)
	for status, ref := range op.Responses.Map() {
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("status %q is no number", status)
		}
		media := ref.Value.Content.Get("application/json")
		if media == nil {
			return nil, fmt.Errorf("status %d has no JSON schema", code)
		}
		constantsToEnums(media.Schema.Value, seen)
		declared[code] = media.Schema.Value
	}
	return declared, nil
}

// constantsToEnums says const in the way that the built-in visitor understands.
func constantsToEnums(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Const != nil && s.Enum == nil {
		s.Enum = []any{s.Const}
	}
	for _, p := range s.Properties {
		constantsToEnums(p.Value, seen)
	}
	if s.Items != nil {
		constantsToEnums(s.Items.Value, seen)
	}
}

// Ops returns the operations of the contract in the order of their names.
func (v *Validator) Ops() []suite.Op {
	ops := make([]suite.Op, 0, len(v.ops))
	for op := range v.ops {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Answer says what is wrong with an answer of an operation. An answer to a
// request that is no operation of the contract is not judged.
func (v *Validator) Answer(a *suite.Answer) (judged bool, wrong []suite.Wrong) {
	op := v.ops[a.Request.Op]
	if op == nil {
		return false, nil
	}
	name := string(a.Request.Op)
	add := func(where, what string) {
		wrong = append(wrong, suite.Wrong{Where: fmt.Sprintf("%s %d %s", name, a.Status, where), What: what})
	}
	switch id := a.Header.Get(suite.HeaderTrace); {
	case id == "":
		add("header "+suite.HeaderTrace, "is missing")
	case !traceID.MatchString(id):
		add("header "+suite.HeaderTrace, "is not 32 lower-case hex digits")
	}
	if media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type")); err != nil || media != "application/json" {
		add("header Content-Type", "is not application/json")
	}
	switch err := strictjson.Check(a.Body); {
	case err != nil:
		add("body", tokenFault(err))
		return true, wrong
	case a.Value == nil:
		add("body", "is null")
		return true, wrong
	}
	s, declared := op.declared[a.Status]
	if !declared {
		s = v.problem
		if a.Status < http.StatusBadRequest {
			add("status", "is not one that the operation has")
			return true, wrong
		}
	}
	for _, w := range violations(s, a.Value) {
		add(w.Where, w.What)
	}
	if renamed(a, s) {
		add(remaining, "is absent beside a member that the contract does not have; is it misnamed?")
	}
	return true, wrong
}

// tokenFault names the fault without its place in the body, which differs from
// answer to answer.
func tokenFault(err error) string {
	var e *strictjson.Error
	if errors.As(err, &e) {
		return "is not one strict JSON document: " + e.Kind.Error()
	}
	return "is not one strict JSON document"
}

func violations(s *openapi3.Schema, value any) []suite.Wrong {
	var wrong []suite.Wrong
	collect(s.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsResponse(), openapi3.DisableSchemaErrorDetails()), &wrong)
	var big []suite.Wrong
	bigIntegers(s, value, nil, &big)
	for _, w := range big {
		if !slices.ContainsFunc(wrong, func(seen suite.Wrong) bool { return seen.Where == w.Where }) {
			wrong = append(wrong, w)
		}
	}
	return wrong
}

func collect(err error, wrong *[]suite.Wrong) {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		for _, e := range many {
			collect(e, wrong)
		}
		return
	}
	var one *openapi3.SchemaError
	if errors.As(err, &one) {
		reason := one.Reason
		if one.SchemaField == "enum" {
			reason = "is not one of the values that the contract lists"
		}
		*wrong = append(*wrong, suite.Wrong{Where: member(one.JSONPointer()), What: reason})
	} else if err != nil {
		*wrong = append(*wrong, suite.Wrong{Where: "body", What: err.Error()})
	}
}

// member writes a path with [] for every index, so that the same fault in two
// elements is one finding.
func member(path []string) string {
	if len(path) == 0 {
		return "body"
	}
	var b strings.Builder
	for _, p := range path {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// bigIntegers looks for integers outside 64 bits, which the visitor compares
// through a float64 and so takes 2^63 for an int64.
func bigIntegers(s *openapi3.Schema, value any, path []string, wrong *[]suite.Wrong) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if p := s.Properties[name]; p != nil {
				bigIntegers(p.Value, v, append(path[:len(path):len(path)], name), wrong)
			}
		}
	case []any:
		if s.Items == nil {
			return
		}
		for _, v := range value {
			bigIntegers(s.Items.Value, v, append(path[:len(path):len(path)], "0"), wrong)
		}
	default:
		if !s.Type.Includes("integer") || value == nil {
			return
		}
		if _, ok := suite.Integer(value); !ok {
			*wrong = append(*wrong, suite.Wrong{Where: member(path), What: "is not an integer of 64 bits"})
		}
	}
}
