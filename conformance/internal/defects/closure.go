package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// withClosed is a rule that can ask whether the tenant of the reservation or of
// the request is closed, by a dry run of nothing there.
func withClosed(f func(r *suite.Request, next server, closed func() bool) *suite.Answer) Wrap {
	return remembering(func() rule {
		var (
			serial memory[int]
			made   memory[*suite.Request] // creates, by reservation and by key
		)
		return func(r *suite.Request, next server) *suite.Answer {
			a := f(r, next, func() bool {
				create, known := made.get(r.Reservation)
				if !known {
					create, known = made.get(r.Header.Get(suite.HeaderKey))
				}
				if !known {
					return false
				}
				probe := anew(create, count(&serial, "")).With("estimate.amount", 0).With("dry_run", true)
				return next(probe).Str("reason_code") == "TENANT_CLOSED"
			})
			if id := a.Str("reservation_id"); live(r) && id != "" {
				made.first(id, r)
				made.swap(r.Header.Get(suite.HeaderKey), r)
			}
			if evaluation(r) || r.Op == suite.Event {
				create := anew(r, count(&serial, "")).Without("dry_run").Without("overage_policy")
				create.Op, create.Path = suite.Create, "/v1/reservations"
				if amount, ok := create.Body["actual"]; ok {
					create = create.With("estimate", amount).Without("actual")
				}
				made.first(r.Header.Get(suite.HeaderKey), create)
			}
			return a
		}
	})
}

func closure() []Defect {
	mutations := on(suite.Create, suite.Event, suite.Commit, suite.Release, suite.Extend)
	refusals := []string{"closure.create", "closure.event", "closure.commit*", "closure.release*", "closure.extend*", "closure.admin-release"}
	whenDenied := func(s spoil) spoil {
		return func(r *suite.Request, a *suite.Answer) *suite.Answer {
			if a.Str("reason_code") != "TENANT_CLOSED" {
				return a
			}
			return s(r, a)
		}
	}
	// afterClosing spoils the answers of a closed tenant.
	afterClosing := func(w which, s spoil) Wrap {
		return withClosed(func(r *suite.Request, next server, closed func() bool) *suite.Answer {
			a := next(r)
			if w(r) && a.Status < 300 && closed() {
				return s(r, a)
			}
			return a
		})
	}
	return []Defect{
		{
			ID:    "closure.tenant-is-budget",
			About: "a closed tenant is answered BUDGET_CLOSED",
			Fails: append([]string{"closure.dry-run", "closure.decide"}, refusals...),
			Wrap:  after(every, both(whenRefused(409, "TENANT_CLOSED", refusal(409, "BUDGET_CLOSED")), whenDenied(set("reason_code", "BUDGET_CLOSED")))),
		},
		{
			ID:    "closure.not-guarded",
			About: "a closed tenant reserves, and is charged, like an open one",
			Fails: refusals,
			Wrap: after(mutations, whenRefused(409, "TENANT_CLOSED", func(r *suite.Request, a *suite.Answer) *suite.Answer {
				bodies := map[suite.Op]func(*suite.Request) map[string]any{
					suite.Create: allowed, suite.Event: applied,
					suite.Commit: func(r *suite.Request) map[string]any {
						return map[string]any{"status": "COMMITTED", "charged": r.Body["actual"]}
					},
					suite.Release: func(*suite.Request) map[string]any {
						return map[string]any{"status": "RELEASED", "released": suite.Amount("USD_MICROCENTS", 2)}
					},
					suite.Extend: func(*suite.Request) map[string]any {
						return map[string]any{"status": "ACTIVE", "expires_at_ms": farFuture}
					},
				}
				c := *success(bodies[r.Op])(r, a)
				if r.Op == suite.Event {
					c.Status = http.StatusCreated
				}
				return &c
			})),
		},
		{
			ID:    "closure.evaluation-is-refused",
			About: "an evaluation of a closed tenant is answered 409 TENANT_CLOSED",
			Fails: []string{"closure.dry-run", "closure.decide"},
			Wrap:  after(every, whenDenied(refusal(409, "TENANT_CLOSED"))),
		},
		{
			ID:    "closure.evaluation-allows",
			About: "an evaluation does not look at the tenant's status",
			Fails: []string{"closure.dry-run", "closure.decide"},
			Wrap:  after(every, whenDenied(both(set("decision", "ALLOW"), drop("reason_code")))),
		},
		{
			ID:    "closure.event-denies",
			About: "an event of a closed tenant is answered 200 with a decision",
			Fails: []string{"closure.event"},
			Wrap: after(on(suite.Event), whenRefused(409, "TENANT_CLOSED", success(func(*suite.Request) map[string]any {
				return map[string]any{"decision": "DENY", "reason_code": "TENANT_CLOSED"}
			}))),
		},
		{
			ID:    "closure.state-goes-first",
			About: "a settled reservation of a closed tenant is answered RESERVATION_FINALIZED",
			Fails: []string{"closure.*-before-finalized", "closure.admin-release"},
			Wrap: withSettled(func(r *suite.Request, next server, settled func(string) bool) *suite.Answer {
				a := next(r)
				if settled(r.Reservation) && a.Code() == "TENANT_CLOSED" {
					return refused(409, "RESERVATION_FINALIZED")
				}
				return a
			}),
		},
		{
			ID:    "closure.time-goes-first",
			About: "a reservation of a closed tenant is answered RESERVATION_EXPIRED",
			Fails: []string{"closure.*-before-expired"},
			Wrap: after(func(r *suite.Request) bool { return r.Reservation != "" },
				whenRefused(409, "TENANT_CLOSED", refusal(410, "RESERVATION_EXPIRED"))),
		},
		{
			ID:    "closure.no-replay",
			About: "a closed tenant's replay is answered like a new request",
			Fails: []string{"closure.replay-create", "closure.replay-event", "closure.replay-commit", "closure.replay-release", "closure.replay-extend", "closure.admin-replay"},
			Wrap: afterClosing(func(r *suite.Request) bool { return mutations(r) && !evaluation(r) },
				refusal(409, "TENANT_CLOSED")),
		},
		{
			ID:    "closure.no-replayed-decision",
			About: "a closed tenant's question that was answered before is answered DENY",
			Fails: []string{"closure.replay-decide", "closure.replay-dry-run"},
			Wrap: afterClosing(evaluation, func(r *suite.Request, a *suite.Answer) *suite.Answer {
				return success(func(r *suite.Request) map[string]any {
					return map[string]any{"decision": "DENY", "reason_code": "TENANT_CLOSED", "affected_scopes": scopesOf(r)}
				})(r, a)
			}),
		},
		{
			ID:    "closure.reads-shut",
			About: "the reservations of a closed tenant can no longer be read",
			Fails: []string{"closure.reads", "closure.admin-reads"},
			Wrap:  afterClosing(on(suite.Get), refusal(409, "TENANT_CLOSED")),
		},
		{
			ID:    "closure.listing-shut",
			About: "a closed tenant's reservations are not listed any more",
			Fails: []string{"closure.reads"},
			Wrap:  afterClosing(on(suite.List), refusal(409, "TENANT_CLOSED")),
		},
		{
			ID:    "closure.corrupt-is-unauthorized",
			About: "a tenant whose status cannot be told is answered 401",
			Fails: []string{"closure.corrupt-*"},
			Wrap:  after(every, whenRefused(500, "INTERNAL_ERROR", refusal(401, "UNAUTHORIZED"))),
		},
		{
			ID:    "closure.corrupt-is-open",
			About: "a tenant whose status cannot be told is taken for open",
			Fails: []string{"closure.corrupt-create", "closure.corrupt-dry-run"},
			Wrap:  after(on(suite.Create), whenRefused(500, "INTERNAL_ERROR", success(allowed))),
		},
		{
			ID:    "closure.corrupt-is-closed",
			About: "a tenant whose status cannot be told is taken for closed",
			Fails: []string{"closure.corrupt-*"},
			Wrap:  after(every, whenRefused(500, "INTERNAL_ERROR", refusal(409, "TENANT_CLOSED"))),
		},
	}
}
