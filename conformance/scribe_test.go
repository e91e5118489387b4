package conformance

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/report"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

const (
	secretA     = `secret-of-acme`
	secretB     = `se"cret/of b`
	secretAdmin = `secret-of-acme-and-more`
	secretFix   = `another-hidden-word`
)

// gossip is a target whose server repeats every key it knows wherever it can.
func gossip() Target {
	tgt := acme(&little{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/extend") {
			return false
		}
		w.Header().Set("X-Echo", secretA+" "+secretAdmin)
		refuse(w, http.StatusTeapot, strings.ReplaceAll(strings.Join([]string{secretA, secretB, secretAdmin, secretFix}, " "), `"`, `\"`))
		return true
	}})
	tgt.B = target.Tenant{ID: "other", APIKey: secretB}
	tgt.AdminKey = secretAdmin
	tgt.Fixtures = append(tgt.Fixtures, &target.Fixture{Kind: target.RevokedKey, Tenant: target.Tenant{ID: "acme", APIKey: secretFix}})
	return tgt
}

func TestKeysAreInNoReport(t *testing.T) {
	check := check("a.b", func(ctx context.Context, t *suite.T) {
		r := t.Extend(t.Stranger(t.Budget(target.Funded)), 1)
		for _, key := range []string{secretA, secretB, secretFix, secretA + "x"} {
			t.Do(ctx, r.WithKey(key).With("metadata", map[string]any{"key": key}).WithQuery("key", key))
		}
		t.Do(ctx, r.WithKey(secretA[:9]))
		t.Do(ctx, r.WithKey(strings.ToUpper(secretA)))
		a := t.Do(ctx, r.AsAdmin(secretAdmin).WithHeader("X-Other", secretB))
		t.WantError(a, 200, secretA+" expected")
	}, needs(target.Funded, target.RevokedKey))
	undecided := check
	undecided.ID = "a.undecided"
	undecided.Run = func(ctx context.Context, t *suite.T) {
		t.Given(t.Do(ctx, t.Extend(t.Stranger(t.Budget(target.Funded)), 1)), 200)
	}
	rep, err := run(t.Context(), withContract(t, check, undecided), gossip(), Options{})
	require.NoError(t, err)
	require.Equal(t, report.Failed, result(t, rep, "a.b").Outcome)

	var all bytes.Buffer
	for _, write := range []func() error{
		func() error { return rep.WriteJSON(&all) }, func() error { return rep.WriteJUnit(&all) }, func() error { return rep.WriteHTML(&all) },
		func() error { return rep.WriteText(&all, report.TextOptions{All: true}) }, func() error { return rep.WriteBaseline(&all) },
	} {
		require.NoError(t, write())
	}
	text := all.String()
	for _, secret := range []string{secretA, "-and-more", secretAdmin, secretFix, secretB, strings.ReplaceAll(secretB, `"`, `\"`), url.QueryEscape(secretB)} {
		assert.False(t, strings.Contains(strings.ToLower(text), strings.ToLower(secret)), "%s is in a report", secret)
	}
	for _, name := range []string{"$CYCLES_KEY_A", "$CYCLES_KEY_B", "$CYCLES_ADMIN_KEY", "$CYCLES_KEY_REVOKED_KEY", "$CYCLES_WRONG_KEY"} {
		assert.True(t, strings.Contains(text, name), "%s stands for no key", name)
	}
}

func TestCurlLineSendsWhatTheCheckSent(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err, "the test runs the line in a shell")
	base, err := url.Parse("http://localhost:7878/p")
	require.NoError(t, err)
	s := newScribe(&session{base: base}, map[string]string{"k1": "CYCLES_KEY_A"})
	for name, c := range map[string]struct {
		request suite.Request
		want    []string
	}{
		"with a body": {
			suite.Request{Method: "POST", Path: "/v1/x", Header: http.Header{"X-Cycles-Api-Key": {"k1"}, "X-Empty": {""}}, RawBody: []byte(`{"it's": "$HOME"}`)},
			[]string{"-i", "-X", "POST", "http://localhost:7878/p/v1/x", "-H", "X-Cycles-Api-Key: the key", "-H", "X-Empty;", "--data-binary", `{"it's": "$HOME"}`},
		},
		"without one": {
			suite.Request{Method: "GET", Path: "/v1/x", Query: url.Values{"a": {"b c"}}},
			[]string{"-i", "http://localhost:7878/p/v1/x?a=b+c"},
		},
		"with bytes that are no text": {
			suite.Request{Method: "PUT", Path: "/", RawBody: []byte("\xff'\\\n\x7f")},
			[]string{"-i", "-X", "PUT", "http://localhost:7878/p/", "--data-binary", "\xff'\\\n\x7f"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := s.exchange(suite.Exchange{Request: &c.request})
			cmd := exec.Command(bash, "-c", "curl() { printf '%s\\0' \"$@\"; }; "+x.Curl)
			cmd.Env = []string{"CYCLES_KEY_A=the key", "LC_ALL=C"}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, c.want, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
		})
	}
}

func TestLongBodiesAreCutAndSaySo(t *testing.T) {
	s := newScribe(&session{base: &url.URL{Scheme: "http", Host: "h"}}, nil)
	body := strings.Repeat("é", maxShown)
	x := s.exchange(suite.Exchange{Request: &suite.Request{Method: "POST", Path: "/", RawBody: []byte(body)}})
	assert.Less(t, len(x.RequestBody), maxShown+50)
	assert.Contains(t, x.RequestBody, "(16384 bytes in all)")
	assert.True(t, strings.HasPrefix(x.RequestBody, "éé"))
	assert.Less(t, len(x.Curl), 200)
}
