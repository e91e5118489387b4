package journal

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The names are those that the SDKs of other languages give.
func TestNamesThatOtherSDKsGive(t *testing.T) {
	for id, name := range map[string]string{
		"rsv/a":      "v2-e3edb9ca022de3c9c90c5667d47fa66448cee1f254e488a761313faee34141d7.json",
		"rsv_a":      "v2-80bbb4b84643293ad96bc2381b863301591d0acc7afb0858cd7bcdee5f698099.json",
		"r🚀":         "v2-34c5b33347a139e63c81ea72943cc15dd4c2087dc1eaa756a78f3c49974e0b87.json",
		"rsv_é/🚀":    "v2-ae00b656dbb53e1fbbc53eeb89fbd0f6816769cd9b9ba6905fe9dd4530e2e3a7.json",
		"rsv_\u00e9": Name("rsv_é"),
	} {
		assert.Equal(t, name, Name(id), id)
	}
	assert.NotEqual(t, Name("rsv_\u00e9"), Name("rsv_e\u0301"), "composed and decomposed are two ids")
}

func TestLegacyNamesCoverBothWaysToCountCharacters(t *testing.T) {
	assert.Equal(t, []string{"rsv_a.json"}, legacyNames("rsv/a"))
	assert.Equal(t, []string{"rsv_a.json"}, legacyNames("rsv_a"))
	assert.Equal(t, []string{"A-9_z.json"}, legacyNames("A-9_z"))
	assert.Equal(t, []string{"r__.json"}, legacyNames("r.é"), "letters beyond ASCII are not plain")
	assert.Equal(t, []string{"r_.json", "r__.json"}, legacyNames("r🚀"), "one code point, two UTF-16 units")
}
