package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/client"
)

// environment sets exactly the given CYCLES_ variables.
func environment(t *testing.T, pairs ...string) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "CYCLES_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("USERPROFILE", "/home/somebody")
	t.Setenv("CYCLES_BASE_URL", "http://cycles.test/")
	t.Setenv("CYCLES_API_KEY", apiKey)
	for i := 0; i < len(pairs); i += 2 {
		t.Setenv("CYCLES_"+pairs[i], pairs[i+1])
	}
}

func TestFromEnvReadsWhatTheOtherSDKsRead(t *testing.T) {
	environment(t, "TENANT", "acme", "WORKSPACE", "w", "APP", "a", "WORKFLOW", "f", "AGENT", "b", "TOOLSET", "t",
		"CONNECT_TIMEOUT", "1500", "READ_TIMEOUT", "2.5s")
	server := always(200, createOK)
	c, err := client.FromEnv(client.WithHTTPClient(&http.Client{Transport: server}))
	require.NoError(t, err)
	assert.Equal(t, "http://cycles.test/", c.BaseURL())
	assert.Equal(t, 4*time.Second, c.RequestTimeout())
	req := createRequest
	req.Subject.Tenant = nil
	_, err = c.CreateReservation(t.Context(), req)
	require.NoError(t, err)
	got := server.attempts()[0]
	assert.Contains(t, got.body, `"subject":{"agent":"b","app":"a","tenant":"acme","toolset":"t","workflow":"f","workspace":"w"}`)
	assert.Equal(t, apiKey, got.header.Get("X-Cycles-API-Key"))

	settings, ok := c.JournalSettings()
	assert.True(t, ok)
	assert.Equal(t, client.JournalSettings{
		Enabled: true, Dir: filepath.Join("/home/somebody", ".runcycles", "commit-journal"), FlushTimeout: 10 * time.Second,
	}, settings)
	_, ok = newClient(t, server).JournalSettings()
	assert.False(t, ok, "New never touches the home directory")
}

func TestFromEnvTimeouts(t *testing.T) {
	for _, tc := range []struct {
		connect, read string
		want          time.Duration
	}{
		{"", "", client.DefaultRequestTimeout},
		{"1000", "", 6 * time.Second},
		{"", "3s", 5 * time.Second},
		{"250ms", "100", 350 * time.Millisecond},
		{" 1s ", "1m", 61 * time.Second},
		{"2562047h", "2562047h", 1<<63 - 1},
	} {
		environment(t, "CONNECT_TIMEOUT", tc.connect, "READ_TIMEOUT", tc.read)
		c, err := client.FromEnv()
		require.NoError(t, err)
		assert.Equal(t, tc.want, c.RequestTimeout(), "%+v", tc)
	}
}

func TestFromEnvRetriesAsTold(t *testing.T) {
	attempts := func(pairs ...string) []seen {
		environment(t, pairs...)
		server := always(503, "")
		synctest.Test(t, func(t *testing.T) {
			c, err := client.FromEnv(client.WithHTTPClient(&http.Client{Transport: server}))
			require.NoError(t, err)
			_, err = c.GetReservation(t.Context(), "r-1")
			require.Error(t, err)
		})
		return server.attempts()
	}
	assert.Len(t, attempts(), 5)
	assert.Len(t, attempts("RETRY_MAX_ATTEMPTS", "3"), 3)
	assert.Len(t, attempts("RETRY_ENABLED", "FALSE", "RETRY_MAX_ATTEMPTS", "9"), 1)
	assert.Len(t, attempts("RETRY_ENABLED", "true"), 5)
	slow := attempts("RETRY_INITIAL_DELAY", "50", "RETRY_MULTIPLIER", "1.0", "RETRY_MAX_DELAY", "1h", "RETRY_MAX_ATTEMPTS", "100")
	require.Len(t, slow, 100)
	assert.LessOrEqual(t, slow[99].at.Sub(slow[0].at), 99*50*time.Millisecond)
}

func TestFromEnvNamesTheVariableThatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, value, part string }{
		{"BASE_URL", "", "set"},
		{"BASE_URL", "  ", "set"},
		{"BASE_URL", "cycles.test", "http"},
		{"API_KEY", "", "set"},
		{"API_KEY", "key with space", "visible"},
		{"TENANT", strings.Repeat("x", 129), "128"},
		{"READ_TIMEOUT", "5", "5s"},
		{"CONNECT_TIMEOUT", "99", "99s"},
		{"CONNECT_TIMEOUT", "0", "positive"},
		{"READ_TIMEOUT", "-1", "positive"},
		{"READ_TIMEOUT", "-5s", "positive"},
		{"READ_TIMEOUT", "5.0", "duration"},
		{"READ_TIMEOUT", "NaN", "duration"},
		{"READ_TIMEOUT", "five", "duration"},
		{"READ_TIMEOUT", "1e3", "duration"},
		{"READ_TIMEOUT", "9223372036855", "large"},
		{"READ_TIMEOUT", "99999999999999999999", "duration"},
		{"RETRY_ENABLED", "1", "true or false"},
		{"RETRY_ENABLED", "yes", "true or false"},
		{"RETRY_MAX_ATTEMPTS", "0", "at least 1"},
		{"RETRY_MAX_ATTEMPTS", "many", "at least 1"},
		{"RETRY_MAX_ATTEMPTS", "2.5", "at least 1"},
		{"RETRY_INITIAL_DELAY", "0", "positive"},
		{"RETRY_INITIAL_DELAY", "0.5", "duration"},
		{"RETRY_MAX_DELAY", "-30s", "positive"},
		{"RETRY_MULTIPLIER", "0.5", "at least 1"},
		{"RETRY_MULTIPLIER", "NaN", "at least 1"},
		{"RETRY_MULTIPLIER", "Inf", "at least 1"},
		{"RETRY_MULTIPLIER", "x2", "at least 1"},
		{"RETRY_FLUSH_TIMEOUT", "10", "10s"},
		{"RETRY_FLUSH_TIMEOUT", "-1s", "negative"},
		{"JOURNAL_ENABLED", "off", "true or false"},
	} {
		environment(t, tc.name, tc.value)
		_, err := client.FromEnv()
		var config *client.ConfigError
		require.ErrorAs(t, err, &config, "%+v", tc)
		assert.Equal(t, "CYCLES_"+tc.name, config.Setting)
		assert.Contains(t, config.Reason, tc.part, "%+v", tc)
		if tc.name == "API_KEY" && tc.value != "" {
			assert.NotContains(t, err.Error(), tc.value)
		}
	}
}

func TestFromEnvJournalSettings(t *testing.T) {
	environment(t, "JOURNAL_ENABLED", "false", "JOURNAL_DIR", "/var/lib/cycles", "RETRY_FLUSH_TIMEOUT", "0")
	c, err := client.FromEnv()
	require.NoError(t, err)
	settings, ok := c.JournalSettings()
	assert.True(t, ok)
	assert.Equal(t, client.JournalSettings{Dir: "/var/lib/cycles"}, settings)
}

func TestOptionsWinOverTheEnvironment(t *testing.T) {
	environment(t, "READ_TIMEOUT", "3s")
	c, err := client.FromEnv(client.WithRequestTimeout(time.Second))
	require.NoError(t, err)
	assert.Equal(t, time.Second, c.RequestTimeout())
	_, err = client.FromEnv(client.WithRequestTimeout(-1))
	assert.Error(t, err)
}
