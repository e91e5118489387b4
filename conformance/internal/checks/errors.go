package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// errorAnswers is about what a refusal looks like. Which one it is when there
// are several reasons is in precedence.go.
func errorAnswers() []suite.Check {
	return slices.Concat(errorBodies(), errorForms())
}

// fixedStatus is the status of the codes that the text gives one to.
func fixedStatus() map[string]int {
	return map[string]int{
		"UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404,
		"BUDGET_EXCEEDED": 409, "OVERDRAFT_LIMIT_EXCEEDED": 409, "DEBT_OUTSTANDING": 409, "TENANT_CLOSED": 409,
		"RESERVATION_FINALIZED": 409, "RESERVATION_EXPIRED": 410, "IDEMPOTENCY_MISMATCH": 409,
		"LIMIT_EXCEEDED": 429, "UNIT_MISMATCH": 400, "INTERNAL_ERROR": 500,
	}
}

// errorBodies looks at every refusal that any check saw.
func errorBodies() []suite.Check {
	refusal := func(a *suite.Answer) bool { return a.Request.Op != "" && a.Status >= 400 }
	return []suite.Check{
		{
			ID: "errors.status-of-code", Level: suite.Must, Section: "ERROR SEMANTICS",
			Lines:       []int{64, 65, 68, 70, 133, 134, 139, 141, 143, 191},
			Requirement: "An error code comes with the status that the protocol gives it, and with no other.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				status, fixed := fixedStatus()[a.Code()]
				if !refusal(a) || !fixed {
					return false, nil
				}
				if a.Status != status {
					return true, []suite.Wrong{{Where: string(a.Request.Op), What: fmt.Sprintf("answers %s with status %d, which is %d", a.Code(), a.Status, status)}}
				}
				return true, nil
			},
		},
		{
			ID: "errors.request-id", Level: suite.Must, Section: "CORRELATION AND TRACING", Lines: []int{232},
			Requirement: "The request_id of an error is the X-Request-Id of its answer.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if !refusal(a) || a.Str("request_id") == "" {
					return false, nil
				}
				if a.Str("request_id") != a.Header.Get("X-Request-Id") {
					return true, []suite.Wrong{{Where: string(a.Request.Op) + " request_id", What: "is not the X-Request-Id of the answer"}}
				}
				return true, nil
			},
		},
		{
			ID: "errors.trace-id", Level: suite.Must, Section: "CORRELATION AND TRACING", Lines: []int{269, 289, 809},
			Requirement: "Every error carries trace_id, which is the X-Cycles-Trace-Id of its answer.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if !refusal(a) || a.Code() == "" {
					return false, nil
				}
				where := string(a.Request.Op) + " trace_id"
				switch {
				case a.Str("trace_id") == "":
					return true, []suite.Wrong{{Where: where, What: "is absent from an error"}}
				case a.Str("trace_id") != a.Header.Get(suite.HeaderTrace):
					return true, []suite.Wrong{{Where: where, What: "is not the X-Cycles-Trace-Id of the answer"}}
				}
				return true, nil
			},
		},
		{
			ID: "errors.throttled", Level: suite.Should, Section: "ERROR SEMANTICS", Lines: []int{140, 141, 479}, Edition: suite.Current,
			Requirement: "A 429 carries LIMIT_EXCEEDED, Retry-After as whole seconds, and X-RateLimit-Reset. No check provokes one.",
			Ops:         []suite.Op{suite.Create},
			Watch: func(a *suite.Answer) (bool, []suite.Wrong) {
				if a.Status != http.StatusTooManyRequests {
					return false, nil
				}
				var wrong []suite.Wrong
				add := func(what string) {
					wrong = append(wrong, suite.Wrong{Where: string(a.Request.Op) + " 429", What: what})
				}
				if a.Code() != "LIMIT_EXCEEDED" {
					add("does not carry LIMIT_EXCEEDED")
				}
				if _, err := strconv.ParseUint(a.Header.Get("Retry-After"), 10, 63); err != nil {
					add("has no Retry-After in seconds")
				}
				if _, err := strconv.ParseUint(a.Header.Get("X-RateLimit-Reset"), 10, 63); err != nil {
					add("has no X-RateLimit-Reset in seconds")
				}
				return true, wrong
			},
		},
	}
}

// errorForms is about requests that are none of the contract's, of which it
// says nothing; they are the client's fault all the same.
func errorForms() []suite.Check {
	clientFault := func(t *suite.T, a *suite.Answer, status int) {
		t.True(a, a.Status == status, fmt.Sprintf("%d %s", status, http.StatusText(status)), "%s", suite.Describe(a))
	}
	return []suite.Check{
		{
			ID: "errors.unknown-path", Level: suite.May, Section: "paths", Lines: []int{1872},
			Requirement: "A path that does not exist is answered 404.",
			Ops:         []suite.Op{suite.List},
			Run: func(ctx context.Context, t *suite.T) {
				t.Given(t.Do(ctx, t.List(t.TenantA())), http.StatusOK)
				clientFault(t, t.Do(ctx, t.List(t.TenantA()).WithPath("/v1/no-such-thing")), http.StatusNotFound)
			},
		},
		{
			ID: "errors.wrong-method", Level: suite.May, Section: "paths", Lines: []int{1872},
			Requirement: "A method that a path does not have is answered 405.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				clientFault(t, t.Do(ctx, t.Create(t.Budget(target.Funded), 1).WithMethod(http.MethodPut)), http.StatusMethodNotAllowed)
			},
		},
		{
			ID: "errors.wrong-content-type", Level: suite.May, Section: "paths", Lines: []int{1872},
			Requirement: "A body that does not claim to be JSON is answered 415.",
			Needs:       []target.Kind{target.Funded}, Ops: []suite.Op{suite.Create},
			Run: func(ctx context.Context, t *suite.T) {
				r := t.Create(t.Budget(target.Funded), 1).WithHeader("Content-Type", "text/plain")
				clientFault(t, t.Do(ctx, r), http.StatusUnsupportedMediaType)
			},
		},
	}
}
