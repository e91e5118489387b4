package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// The tenant of the quickstart.
const (
	demoTenant = "acme-corp"
	demoKey    = "cyc_live_quickstart"
)

// demo has a first conversation with a server, so that its reader sees every
// step, and then leaves the server running to go on with.
func demo(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	s, err := parseSettings("demo", args, env, stderr)
	if err != nil {
		return err
	}
	s.logLevel = max(s.logLevel, slog.LevelWarn) // the conversation is the log
	opts, err := s.options(stderr)
	if err != nil {
		return err
	}
	opts = append(opts,
		mockserver.WithTenant(mockserver.Tenant{ID: demoTenant, Keys: []string{demoKey}}),
		mockserver.WithBudget(mockserver.Budget{Scope: "tenant:" + demoTenant, Allocated: 100_000_000}))
	srv, l, url, err := s.open(opts)
	if err != nil {
		return err
	}
	talk := conversation{srv: srv, url: url, out: stdout, insecure: s.tls}
	if err := talk.run(ctx); err != nil {
		_ = l.Close()
		return err
	}
	fmt.Fprintf(stdout, "\nThe reservation is settled and the server still there. The lines above work in another\n"+
		"terminal, with keys of your own; Ctrl-C stops it.\n\ncycles-mock ready at %s\n", url)
	return srv.Serve(ctx, l)
}

// conversation prints each request as a curl line, with its answer.
type conversation struct {
	srv      *mockserver.Server
	url      string
	out      io.Writer
	insecure bool
}

func (c *conversation) run(ctx context.Context) error {
	fmt.Fprintf(c.out, "A Cycles server with tenant %s, key %s and a budget of 1 US dollar.\n", demoTenant, demoKey)
	created, err := c.say(ctx, "Reserve before the work: half a cent, for 30 seconds.", "POST", "/v1/reservations",
		`{"idempotency_key":"demo-1","subject":{"tenant":"acme-corp"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":500000},"ttl_ms":30000}`)
	if err != nil {
		return err
	}
	var reservation struct {
		ID string `json:"reservation_id"`
	}
	if err := json.Unmarshal(created, &reservation); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	path := "/v1/reservations/" + reservation.ID
	for _, step := range [][4]string{
		{"The work takes longer: extend the lease.", "POST", path + "/extend", `{"idempotency_key":"demo-2","extend_by_ms":30000}`},
		{"The work is done and took less: commit what it cost.", "POST", path + "/commit", `{"idempotency_key":"demo-3","actual":{"unit":"USD_MICROCENTS","amount":350000}}`},
		{"What is left.", "GET", "/v1/balances?tenant=acme-corp", ""},
	} {
		if _, err := c.say(ctx, step[0], step[1], step[2], step[3]); err != nil {
			return err
		}
	}
	return nil
}

func (c *conversation) say(ctx context.Context, why, method, path, body string) ([]byte, error) {
	curl := "curl -s"
	if c.insecure {
		curl += " -k"
	}
	curl += fmt.Sprintf(" '%s%s' -H 'X-Cycles-API-Key: %s'", c.url, path, demoKey)
	req, err := http.NewRequestWithContext(ctx, method, c.srv.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	req.Header.Set("X-Cycles-API-Key", demoKey)
	if body != "" {
		curl += fmt.Sprintf(" \\\n  -H 'Content-Type: application/json' -d '%s'", body)
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.srv.Client().Do(req)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("demo: %s %s answered %s", method, path, resp.Status)
	}
	fmt.Fprintf(c.out, "\n# %s\n%s\n%s\n", why, curl, answer)
	return answer, nil
}
