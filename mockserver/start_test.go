package mockserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// serving are the goroutines of servers and their connections.
func serving() string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	var out []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, "net/http.(*conn).serve") || strings.Contains(stack, "net/http.(*Server).Serve") ||
			strings.Contains(stack, "mockserver.memoryTransport") {
			out = append(out, stack)
		}
	}
	return strings.Join(out, "\n\n")
}

func TestStartLeavesNoGoroutineBehind(t *testing.T) {
	require.Empty(t, serving())
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	t.Run("a test with a server", func(t *testing.T) {
		s := mockserver.Start(t, mockserver.WithVirtualTime(epoch))
		w := &world{s, t, mockserver.DefaultAPIKey}
		c := &http.Client{Transport: transport}
		body := spendBody("k", "estimate", `{"tenant":"demo"}`, 1)
		resp, err := post(t, w, c, "/v1/reservations", body) // stays open, idle
		require.NoError(t, err)
		w.read(resp).ok()
		s.Inject(mockserver.Fault{Kind: mockserver.FaultResponseLost})
		_, err = post(t, w, c, "/v1/reservations", body)
		require.Error(t, err)
		// Two requests that nobody will ever let go on.
		s.Inject(mockserver.Fault{Delay: time.Hour, Count: 2})
		for _, c := range []*http.Client{c, s.Client()} {
			go func() {
				if resp, err := post(t, w, c, "/v1/reservations", body); err == nil {
					_ = resp.Body.Close()
				}
			}()
		}
		for s.Waiting() < 2 {
			runtime.Gosched()
		}
		require.NotEmpty(t, serving())
	})
	// A connection that was hijacked ends by itself, a moment later.
	for range 1000 {
		if serving() == "" {
			break
		}
		runtime.Gosched()
	}
	assert.Empty(t, serving())
}

func TestTheHandlerOnAServerOfTheCaller(t *testing.T) {
	s := mockserver.New(mockserver.WithVirtualTime(epoch))
	ts := httptest.NewServer(s)
	defer ts.Close()
	resp, err := http.Get(ts.URL + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 200, resp.StatusCode)
}

// fatal stands in for a test that Start ends.
type fatal struct{ messages []string }

func (f *fatal) Helper()        {}
func (f *fatal) Cleanup(func()) {}
func (f *fatal) Fatalf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func TestStartFailsTheTestOnOptionsThatContradict(t *testing.T) {
	var f fatal
	done := make(chan struct{})
	go func() {
		defer close(done)
		mockserver.Start(&f, mockserver.WithBudget(mockserver.Budget{Scope: "tenant:nobody"}))
	}()
	<-done
	require.Len(t, f.messages, 1)
	assert.Contains(t, f.messages[0], "nobody")
}

func TestTheServerAnswersInMemoryAfterClose(t *testing.T) {
	s := mockserver.Start(t)
	w := &world{s, t, mockserver.DefaultAPIKey}
	s.Inject(mockserver.Fault{Operation: mockserver.GetBalances, Delay: time.Hour})
	s.Close()
	w.call("GET", "/v1/balances?tenant=demo", "").ok() // no delay holds it up any more
	assert.Len(t, s.Requests(), 1)
	_, err := http.Get(s.URL() + "/healthz")
	assert.Error(t, err, "nobody listens")
}

// Under the race detector.
func TestPrintingAServerAtWork(t *testing.T) {
	s := mockserver.New(mockserver.WithAdminKey("secret-of-the-operator"))
	w := &world{s, t, mockserver.DefaultAPIKey}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 100 {
			w.call("POST", "/v1/reservations", spendBody(fmt.Sprint(i), "estimate", `{"tenant":"demo"}`, 1))
		}
	})
	for range 100 {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%t"} {
			text := fmt.Sprintf(verb, s)
			assert.NotContains(t, text, "secret")
			if verb != "%x" {
				assert.Contains(t, text, "cycles mock server at http://cycles.mock", verb)
			}
		}
	}
	wg.Wait()
}

func TestURLWithAndWithoutAListener(t *testing.T) {
	assert.Equal(t, "http://cycles.mock", mockserver.New().URL())
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+$`, mockserver.Start(t).URL())
}
