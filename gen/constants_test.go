package gen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
)

// constant is a typed string constant as the source declares it.
type constant struct{ Type, Value string }

// constantsOf reads the typed string constants that a file of this directory
// declares, by name.
func constantsOf(t *testing.T, file string) map[string]constant {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]constant{}
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.ValueSpec)
			typ, ok := spec.Type.(*ast.Ident)
			require.True(t, ok, "constant %s has no type", spec.Names[0].Name)
			for i, name := range spec.Names {
				value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
				require.NoError(t, err)
				found[name.Name] = constant{typ.Name, value}
			}
		}
	}
	return found
}

// assertConstants compares by name, so that a failure tells which one is wrong.
func assertConstants(t *testing.T, want, got map[string]constant) {
	t.Helper()
	for name, constant := range want {
		assert.Equal(t, constant, got[name], name)
	}
	for name := range got {
		assert.Contains(t, want, name, "constant for a value that the contract does not have")
	}
}

// words splits a name of the contract at everything that is neither letter nor
// digit, and where small letters give way to a capital.
var words = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// initialisms are the words that Go writes in capitals throughout.
var initialisms = map[string]bool{"ID": true, "JWK": true, "OKP": true, "USD": true}

// mixedCaps writes a name or value of the contract the way Go does.
func mixedCaps(name string) string {
	shouted := strings.ToUpper(name) == name
	var out strings.Builder
	for _, word := range words.FindAllString(name, -1) {
		switch {
		case initialisms[strings.ToUpper(word)]:
			out.WriteString(strings.ToUpper(word))
		case shouted:
			out.WriteString(word[:1] + strings.ToLower(word[1:]))
		default:
			out.WriteString(string(unicode.ToUpper(rune(word[0]))) + word[1:])
		}
	}
	return out.String()
}

func loadContract(t *testing.T) *openapi3.T {
	t.Helper()
	contract, err := openapi3.NewLoader().LoadFromData([]byte(gen.ContractYAML()))
	require.NoError(t, err)
	return contract
}

// enumerations returns the values that the contract enumerates, by the name of
// the Go type that stands for the place.
func enumerations(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	collect := func(typ string, ref *openapi3.SchemaRef) {
		if ref == nil || ref.Ref != "" {
			return
		}
		values := ref.Value.Enum
		if ref.Value.Const != nil {
			values = []any{ref.Value.Const}
		}
		for _, value := range values {
			found[typ] = append(found[typ], fmt.Sprint(value))
		}
	}
	contract := loadContract(t)
	for name, schema := range contract.Components.Schemas {
		collect(mixedCaps(name), schema)
		for property, schema := range schema.Value.Properties {
			collect(mixedCaps(name)+mixedCaps(property), schema)
		}
	}
	for _, path := range contract.Paths.Map() {
		for _, operation := range path.Operations() {
			for _, parameter := range operation.Parameters {
				collect(mixedCaps(operation.OperationID)+"Params"+mixedCaps(parameter.Value.Name), parameter.Value.Schema)
			}
		}
	}
	return found
}

// The generator takes the names of constants from a list that goes by position
// (overlay.yaml) and does not compare the two: a value inserted into an enum
// would shift every name behind it by one, without a word.
func TestEveryEnumeratedValueHasOneConstantNamedAfterIt(t *testing.T) {
	want := map[string]constant{}
	for typ, values := range enumerations(t) {
		for _, value := range values {
			want[typ+mixedCaps(value)] = constant{typ, value}
		}
	}
	require.Len(t, want, 55, "values in the contract")
	assertConstants(t, want, constantsOf(t, "cycles.gen.go"))
}

func TestMixedCapsNames(t *testing.T) {
	for value, want := range map[string]string{
		"USD_MICROCENTS":       "USDMicrocents",
		"ALLOW_WITH_CAPS":      "AllowWithCaps",
		"created_at_ms":        "CreatedAtMs",
		"reservation_id":       "ReservationID",
		"asc":                  "Asc",
		"EdDSA":                "EdDSA",
		"Ed25519":              "Ed25519",
		"CyclesEvidenceJwk":    "CyclesEvidenceJWK",
		"cycles-evidence/v0.1": "CyclesEvidenceV01",
	} {
		assert.Equal(t, want, mixedCaps(value))
	}
}

// A user of the package must not be able to reach the parsers that call an
// empty object a success, not even after an upgrade of the generator has
// renamed the template that makes them.
func TestGeneratedResponseParsersStayOut(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "cycles.gen.go", nil, 0)
	require.NoError(t, err)
	methods := 0
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := function.Name.Name
		assert.False(t, strings.HasPrefix(name, "Parse") || strings.Contains(name, "WithResponse"), name)
		if results := function.Type.Results; function.Recv != nil && results != nil && len(results.List) == 2 {
			if response, ok := results.List[0].Type.(*ast.StarExpr); ok {
				selector, ok := response.X.(*ast.SelectorExpr)
				assert.True(t, ok && selector.Sel.Name == "Response", "%s returns a decoded response", name)
				methods++
			}
		}
	}
	assert.Equal(t, 17, methods, "raw client methods: 11 operations and, for the 6 with a body, one that takes a reader")
}
