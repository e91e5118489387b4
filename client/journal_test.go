package client_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

// The directory names are those of the SDKs of the other languages.
func TestJournalFingerprintIsThatOfTheOtherSDKs(t *testing.T) {
	for _, tc := range []struct{ url, key, tenant, want string }{
		{"http://localhost", "test-key", "", "68c905017df7dbfc"},
		{"http://localhost", "test-key", " \t", "68c905017df7dbfc"},
		{"http://localhost", "any", "acme", "8baba538fb970da4"},
		{"http://localhost", "rotated", "acme", "8baba538fb970da4"},
		{"http://localhost", "any", " acme ", "44f607a3271b92a5"},
		{"http://localhost:7878", "cyc_live_k", "acme", "4eb53c28893cdf51"},
		{"http://localhost", "k", "テナント", "41031aa679999187"},
	} {
		c, err := client.New(tc.url, client.WithAPIKey(tc.key), client.WithSubject(gen.Subject{Tenant: &tc.tenant}))
		require.NoError(t, err)
		identity := c.JournalIdentity()
		assert.Equal(t, tc.want, identity.Fingerprint(), "%+v", tc)
		assert.Equal(t, tc.url, identity.BaseURL())
		assert.Equal(t, tc.want, c.JournalIdentity().Fingerprint(), "kept")
	}
	c, err := client.New("http://localhost/", client.WithAPIKey("test-key"))
	require.NoError(t, err)
	assert.NotEqual(t, "68c905017df7dbfc", c.JournalIdentity().Fingerprint(), "the URL counts as it was configured")
}

func TestJournalIdentityHidesThePrincipal(t *testing.T) {
	c, err := client.New("http://localhost", client.WithAPIKey("test-key"))
	require.NoError(t, err)
	identity := c.JournalIdentity()
	wrapped := struct{ id client.JournalIdentity }{identity}
	for range 2 {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			for _, v := range []any{identity, &identity, wrapped} {
				text := fmt.Sprintf(verb, v)
				assert.NotContains(t, text, "test-key")
				assert.NotContains(t, text, "68c905017df7dbfc")
			}
		}
		identity.Fingerprint()
	}
}
