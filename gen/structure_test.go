package gen_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// structureDigest is the SHA-256 of the structure of the published protocol
// document, edition 0.1.25.16. It was made from that document and not from
// openapi.yaml: its YAML decoded, prose stripped as stripProse does, the rest
// encoded as canonical JSON (members sorted, no white space, no escapes that
// JSON does not demand), digested. It changes only with the edition.
const structureDigest = "94cf64bef0de536d522f3fb1c1df6bb9eef2fdd0112f20f93a2ad398398851ce"

// protocolDocument is where a copy of the published document lies on machines
// that have one, next to the repository.
const protocolDocument = "../../shared/spec/cycles-protocol-v0.1.25.16.yaml"

// prose lists the keywords whose values people read and programs do not.
var prose = map[string]bool{
	"description": true, "summary": true, "example": true, "examples": true, "x-changelog": true,
}

// namesBelow lists the keywords whose value is a map keyed by names. Below
// them "description" is the name of something and not a keyword.
var namesBelow = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "dependentSchemas": true,
	"paths": true, "webhooks": true, "callbacks": true, "content": true, "encoding": true, "links": true,
	"responses": true, "headers": true, "parameters": true, "requestBodies": true, "schemas": true,
	"securitySchemes": true, "pathItems": true, "variables": true, "mapping": true, "scopes": true,
}

// literal lists the keywords whose value is data and has no keywords in it.
var literal = map[string]bool{"default": true, "const": true, "enum": true, "security": true, "required": true}

// stripProse returns a node of an OpenAPI document without what only people
// read. keyedByNames says that the node is a map whose keys are names.
func stripProse(node any, keyedByNames bool) any {
	switch node := node.(type) {
	case map[string]any:
		kept := make(map[string]any, len(node))
		for key, value := range node {
			switch {
			case keyedByNames:
				kept[key] = stripProse(value, false)
			case prose[key]:
			case literal[key]:
				kept[key] = value
			default:
				kept[key] = stripProse(value, namesBelow[key])
			}
		}
		return kept
	case []any:
		kept := make([]any, len(node))
		for i, value := range node {
			kept[i] = stripProse(value, false)
		}
		return kept
	default:
		return node
	}
}

func structureOf(t *testing.T, document []byte) any {
	t.Helper()
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(document, &tree))
	return stripProse(tree, false)
}

func digestOf(t *testing.T, structure any) string {
	t.Helper()
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(structure))
	canonical, err := strictjson.Canonical(encoded.Bytes())
	require.NoError(t, err)
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// firstDifference returns the path of the first place where two structures
// differ, and what stands there; the empty string when they are equal.
func firstDifference(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := make([]string, 0, len(want)+len(got))
		for key := range want {
			keys = append(keys, key)
		}
		for key := range got {
			if _, ok := want[key]; !ok {
				keys = append(keys, key)
			}
		}
		sort.Strings(keys)
		for _, key := range keys {
			wantValue, wanted := want[key]
			gotValue, found := got[key]
			below := path + "/" + key
			switch {
			case !found:
				return below + ": missing"
			case !wanted:
				return below + ": not in the protocol document"
			}
			if difference := firstDifference(below, wantValue, gotValue); difference != "" {
				return difference
			}
		}
		return ""
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if difference := firstDifference(fmt.Sprintf("%s/%d", path, i), want[i], got[i]); difference != "" {
				return difference
			}
		}
		return ""
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s: want %v, got %v", path, want, got)
}

func TestContractHasTheStructureOfTheProtocolDocument(t *testing.T) {
	contract := structureOf(t, []byte(gen.ContractYAML()))
	assert.Equal(t, structureDigest, digestOf(t, contract),
		"openapi.yaml differs from the protocol document in more than prose")

	document, err := os.ReadFile(filepath.FromSlash(protocolDocument))
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("only the digest was checked: there is no protocol document at %s to name a difference by", protocolDocument)
		return
	}
	require.NoError(t, err)
	published := structureOf(t, document)
	assert.Empty(t, firstDifference("", published, contract))
	assert.Equal(t, structureDigest, digestOf(t, published), "the digest does not belong to this protocol document")
}

func TestChangeOfStructureIsSeenAndNamed(t *testing.T) {
	changes := []struct{ name, old, new, at string }{
		{
			name: "a bound",
			old:  "          maximum: 60000\n", new: "          maximum: 60001\n",
			at: "/components/schemas/ReservationCreateRequest/properties/grace_period_ms/maximum: want 60000, got 60001",
		},
		{
			name: "a required member left out",
			old:  "required: [decision, affected_scopes]", new: "required: [decision]",
			at: "/components/schemas/ReservationCreateResponse/required: want [decision affected_scopes], got [decision]",
		},
		{
			name: "a property renamed",
			old:  "        extend_by_ms:\n", new: "        extend_ms:\n",
			at: "/components/schemas/ReservationExtendRequest/properties/extend_by_ms: missing",
		},
		{
			name: "a property added",
			old:  "        extend_by_ms:\n", new: "        description: {type: string}\n        extend_by_ms:\n",
			at: "/components/schemas/ReservationExtendRequest/properties/description: not in the protocol document",
		},
		{
			name: "an enum value",
			old:  "enum: [USD_MICROCENTS, TOKENS,", new: "enum: [USD_MICROCENT, TOKENS,",
			at: "/components/schemas/UnitEnum/enum/0: want USD_MICROCENTS, got USD_MICROCENT",
		},
		{
			name: "an object opened",
			old:  "    Amount:\n      type: object\n      additionalProperties: false", new: "    Amount:\n      type: object\n      additionalProperties: true",
			at: "/components/schemas/Amount/additionalProperties: want false, got true",
		},
		{
			name: "a default",
			old:  "          default: 5000\n", new: "          default: 0\n",
			at: "/components/schemas/ReservationCreateRequest/properties/grace_period_ms/default: want 5000, got 0",
		},
		{
			name: "the title",
			old:  "  title: Cycles Budget Authority API\n", new: "  title: Cycles\n",
			at: "/info/title: want Cycles Budget Authority API, got Cycles",
		},
	}
	original := structureOf(t, []byte(gen.ContractYAML()))
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(gen.ContractYAML(), change.old), "the text to change must occur once")
			changed := structureOf(t, []byte(strings.Replace(gen.ContractYAML(), change.old, change.new, 1)))
			assert.Equal(t, change.at, firstDifference("", original, changed))
			assert.NotEqual(t, structureDigest, digestOf(t, changed))
		})
	}
}

func TestChangeOfProseIsNotAChangeOfStructure(t *testing.T) {
	const old = "  summary: Budgets for agents"
	require.Equal(t, 1, strings.Count(gen.ContractYAML(), old))
	changed := strings.Replace(gen.ContractYAML(), old, "  summary: Money for agents", 1)
	assert.Equal(t, structureDigest, digestOf(t, structureOf(t, []byte(changed))))
}

func TestPropertyNamedLikeProseIsStructure(t *testing.T) {
	document := func(bound, fallback, text string) any {
		return structureOf(t, fmt.Appendf(nil, `
components:
  schemas:
    Note:
      description: %[3]s
      default: {summary: %[2]s}
      properties:
        description: {type: string, maxLength: %[1]s, description: %[3]s}
        properties:
          summary: %[3]s
          properties:
            example: {type: integer, example: %[3]s}
  headers:
    summary: {description: %[3]s, schema: {type: string}}
`, bound, fallback, text))
	}
	original := document("3", "a", "old words")

	assert.Empty(t, firstDifference("", original, document("3", "a", "new words")))
	assert.Equal(t, "/components/schemas/Note/properties/description/maxLength: want 3, got 4",
		firstDifference("", original, document("4", "a", "old words")))
	assert.Equal(t, "/components/schemas/Note/default/summary: want a, got b",
		firstDifference("", original, document("3", "b", "old words")))

	note := original.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)["Note"]
	assert.Equal(t, map[string]any{
		"default": map[string]any{"summary": "a"},
		"properties": map[string]any{
			"description": map[string]any{"type": "string", "maxLength": 3},
			"properties": map[string]any{
				"properties": map[string]any{"example": map[string]any{"type": "integer"}},
			},
		},
	}, note)
}
