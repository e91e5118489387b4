package contract_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen/contract"
)

// Everything a validator needs to begin.
func Example() {
	document, err := openapi3.NewLoader().LoadFromData(contract.YAML())
	if err != nil {
		panic(err)
	}
	commit := document.Paths.Value("/v1/reservations/{reservation_id}/commit").Post
	fmt.Println(contract.Edition, commit.OperationID)
	// Output: 0.1.25.16 commitReservation
}

func load(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(contract.YAML())
	require.NoError(t, err)
	return document
}

func TestContractIsAValidOpenAPIDocument(t *testing.T) {
	assert.NoError(t, load(t).Validate(t.Context()))
}

func TestContractHasAllOperationsAndSchemas(t *testing.T) {
	document := load(t)
	var operations []string
	for _, path := range document.Paths.Map() {
		for _, operation := range path.Operations() {
			operations = append(operations, operation.OperationID)
		}
	}
	assert.ElementsMatch(t, []string{
		"decide", "createReservation", "listReservations", "getReservation", "commitReservation",
		"releaseReservation", "extendReservation", "getBalances", "createEvent", "getEvidence", "getEvidenceJwks",
	}, operations)
	assert.Len(t, document.Components.Schemas, 37)
}

func TestEditionIsTheVersionOfTheContract(t *testing.T) {
	assert.Equal(t, load(t).Info.Version, contract.Edition)
}

func TestBytesAreThoseOfTheContractFile(t *testing.T) {
	file, err := os.ReadFile("../openapi.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(file), string(contract.YAML()))
}

func TestCallerMayOverwriteTheBytes(t *testing.T) {
	first := contract.YAML()
	clear(first)
	assert.NotEqual(t, first, contract.YAML())
	assert.Contains(t, string(contract.YAML()), "openapi: 3.1.0")
}
