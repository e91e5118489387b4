package checks

import (
	"context"
	"strconv"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// headers is about what answers say in their headers. The trace id has a file
// of its own, tracing.go.
func headers() []suite.Check {
	const section = "components.headers"
	return []suite.Check{
		{
			ID: "headers.request-id", Level: suite.Must, Section: section, Lines: []int{232, 445},
			Requirement: "Every answer carries X-Request-Id.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Request.Op == "" {
					return false, nil
				}
				if a.Header.Get("X-Request-Id") == "" {
					return true, []suite.Wrong{{Where: string(a.Request.Op) + " X-Request-Id", What: "is absent from a " + strconv.Itoa(a.Status)}}
				}
				return true, nil
			},
		},
		{
			ID: "headers.request-id-unique", Level: suite.Must, Section: "CORRELATION AND TRACING", Lines: []int{232},
			Requirement: "X-Request-Id names one request: the same request sent twice gets two, also when the second is a replay, and whatever the client sends under that name.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1)
				mine := t.Name()
				seen := map[string]bool{}
				for _, r := range []*suite.Request{r, r, r.WithHeader("X-Request-Id", mine), r.WithHeader("X-Request-Id", mine)} {
					a := t.Do(ctx, r)
					t.WantAllowed(a)
					id := a.Header.Get("X-Request-Id")
					t.True(a, id != "" && !seen[id], "an X-Request-Id that no other answer has", "%q", id)
					seen[id] = true
				}
			},
		},
		{
			ID: "headers.tenant", Level: suite.Must, Section: section, Lines: []int{44, 488},
			Requirement: "X-Cycles-Tenant, which a server may leave out, names the tenant of the key.",
			Needs:       []target.Kind{target.TenantB}, Ops: []suite.Op{suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				for _, tenant := range []target.Tenant{t.TenantA(), t.TenantB()} {
					a := t.Do(ctx, t.List(tenant).WithQuery("limit", "1"))
					t.WantStatus(a, 200)
					if a.Header.Get("X-Cycles-Tenant") == "" {
						t.Skip("the server does not send X-Cycles-Tenant, which is optional")
					}
					t.WantHeader(a, "X-Cycles-Tenant", tenant.ID)
				}
			},
		},
		{
			ID: "headers.rate-limit", Level: suite.Should, Section: section, Lines: []int{462, 466},
			Requirement: "X-RateLimit-Remaining and X-RateLimit-Reset, where they are sent, are whole numbers.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (judged bool, wrong []suite.Wrong) {
				for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Reset"} {
					v := a.Header.Get(name)
					if v == "" {
						continue
					}
					judged = true
					if _, err := strconv.ParseInt(v, 10, 64); err != nil {
						wrong = append(wrong, suite.Wrong{Where: string(a.Request.Op) + " " + name, What: "is no whole number"})
					}
				}
				return judged, wrong
			},
		},
	}
}
