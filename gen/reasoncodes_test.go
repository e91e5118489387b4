package gen_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen"
)

// knownReasonCodes reads the values that the contract's description of the
// type lists. The schema itself is an open string and lists none.
func knownReasonCodes(t *testing.T) []string {
	t.Helper()
	description := loadContract(t).Components.Schemas["DecisionReasonCode"].Value.Description
	var codes []string
	for _, item := range regexp.MustCompile(`(?m)^ *- ([A-Z_]+):`).FindAllStringSubmatch(description, -1) {
		codes = append(codes, item[1])
	}
	return codes
}

func TestEveryKnownReasonCodeHasOneConstantNamedAfterIt(t *testing.T) {
	want := map[string]constant{}
	for _, code := range knownReasonCodes(t) {
		want["ReasonCode"+mixedCaps(code)] = constant{"DecisionReasonCode", code}
	}
	assertConstants(t, want, constantsOf(t, "reasoncodes.go"))
}

func TestKnownReasonCodesAreThoseOfTheProtocolAndItsExtension(t *testing.T) {
	assert.ElementsMatch(t, []string{
		"BUDGET_EXCEEDED", "BUDGET_FROZEN", "BUDGET_CLOSED", "BUDGET_NOT_FOUND",
		"OVERDRAFT_LIMIT_EXCEEDED", "DEBT_OUTSTANDING", "TENANT_CLOSED",
		"ACTION_QUOTA_EXCEEDED", "ACTION_KIND_DENIED", "ACTION_KIND_NOT_ALLOWED",
	}, knownReasonCodes(t))
}

func TestReasonCodeOfALaterExtensionDecodesAsItself(t *testing.T) {
	const body = `{"decision":"DENY","reason_code":"LUNAR_ECLIPSE"}`

	var decision gen.DecisionResponse
	require.NoError(t, json.Unmarshal([]byte(body), &decision))
	require.NotNil(t, decision.ReasonCode)
	assert.Equal(t, "LUNAR_ECLIPSE", *decision.ReasonCode)
	again, err := json.Marshal(decision)
	require.NoError(t, err)
	assert.JSONEq(t, body, string(again))
}

func TestErrorCodeOfALaterEditionDecodesAsItself(t *testing.T) {
	const body = `{"error":"LUNAR_ECLIPSE","message":"wait","request_id":"r1"}`

	var refusal gen.ErrorResponse
	require.NoError(t, json.Unmarshal([]byte(body), &refusal))
	assert.Equal(t, gen.ErrorCode("LUNAR_ECLIPSE"), refusal.Error)
	again, err := json.Marshal(refusal)
	require.NoError(t, err)
	assert.JSONEq(t, body, string(again))
}
