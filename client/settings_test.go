package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
)

func TestSubjectIsTheOneThatWouldBeSent(t *testing.T) {
	tenant, app, own := "acme", "chat", "mail"
	c, err := client.New("http://localhost", client.WithSubject(gen.Subject{
		Tenant: &tenant, App: &app, Dimensions: map[string]string{"run": "1"},
	}))
	require.NoError(t, err)
	got := c.Subject(gen.Subject{App: &own})
	assert.Equal(t, gen.Subject{Tenant: &tenant, App: &own, Dimensions: map[string]string{"run": "1"}}, got)

	*got.Tenant, got.Dimensions["run"] = "changed", "2"
	assert.Equal(t, gen.Subject{Tenant: &tenant, App: &app, Dimensions: map[string]string{"run": "1"}}, c.Subject(gen.Subject{}))
}

func TestRetryPolicyShowsItsDefaults(t *testing.T) {
	c, err := client.New("http://localhost", client.WithRetry(client.RetryPolicy{MaxDelay: time.Second}))
	require.NoError(t, err)
	assert.Equal(t, client.RetryPolicy{
		MaxAttempts: 5, InitialDelay: 500 * time.Millisecond, Multiplier: 2, MaxDelay: time.Second, MaxRetryAfter: time.Hour,
	}, c.RetryPolicy())
}
