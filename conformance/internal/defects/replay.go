package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func replay() []Defect {
	return append(replayAnswers(), append(replayEffects(), replayTimes()...)...)
}

// evaluation picks the questions that move nothing.
func evaluation(r *suite.Request) bool { return r.Op == suite.Decide || dry(r) }

func replayAnswers() []Defect {
	return []Defect{
		{
			ID:    "replay.refused",
			About: "a request that comes a second time is refused as a mismatch",
			Fails: []string{
				"replay.create*", "replay.dry-run*", "replay.decide*", "replay.event*", "replay.commit*", "replay.release*", "replay.extend*",
				"closure.replay-*", "closure.admin-replay", "concurrency.same-create", "concurrency.same-commit", "concurrency.same-event", "concurrency.same-extend",
			},
			Wrap: replays(every, func(r *suite.Request, next server, _ *suite.Answer) *suite.Answer {
				return refused(409, "IDEMPOTENCY_MISMATCH")
			}),
		},
		{
			ID:    "replay.shorter",
			About: "the answer to a replay leaves out the scopes and the balances",
			Fails: []string{"replay.create", "replay.commit", "replay.release", "replay.extend", "replay.event", "replay.dry-run", "replay.decide"},
			Wrap: replays(every, func(r *suite.Request, next server, _ *suite.Answer) *suite.Answer {
				return both(drop("balances"), drop("affected_scopes"))(r, next(r))
			}),
		},
		{
			ID:    "replay.event-is-200",
			About: "the replay of an event is answered 200",
			Fails: []string{"replay.event"},
			Wrap: replays(on(suite.Event), func(r *suite.Request, next server, _ *suite.Answer) *suite.Answer {
				a := *next(r)
				a.Status = http.StatusOK
				return &a
			}),
		},
		{
			ID:    "replay.state-goes-first",
			About: "the replay of a create or an extend whose reservation is settled is answered RESERVATION_FINALIZED",
			Fails: []string{"replay.create-after-commit", "replay.create-after-release", "replay.*-time-left-after-commit", "replay.*-time-left-after-release"},
			Wrap: withSettled(func(r *suite.Request, next server, settled func(string) bool) *suite.Answer {
				a := next(r)
				id := r.Reservation
				if r.Op == suite.Create {
					id = a.Str("reservation_id")
				}
				if on(suite.Create, suite.Extend)(r) && a.Status == http.StatusOK && settled(id) {
					return refused(409, "RESERVATION_FINALIZED")
				}
				return a
			}),
		},
		{
			ID:    "replay.time-goes-first",
			About: "the replay of a create or an extend whose time is over is answered RESERVATION_EXPIRED",
			Fails: []string{"replay.create-after-expiry", "replay.extend-after-expiry", "replay.extend-after-its-expiry"},
			Wrap: replays(on(suite.Create, suite.Extend), func(r *suite.Request, next server, _ *suite.Answer) *suite.Answer {
				a := next(r)
				if left, ok := a.Int("remaining_ttl_ms"); ok && left == 0 {
					return refused(410, "RESERVATION_EXPIRED")
				}
				return a
			}),
		},
		{
			ID:    "replay.settlement-is-gone",
			About: "the replay of a commit or a release is answered RESERVATION_EXPIRED",
			Fails: []string{"replay.commit-after-expiry", "replay.release-after-expiry", "replay.commit", "replay.release"},
			Wrap: replays(on(suite.Commit, suite.Release), func(*suite.Request, server, *suite.Answer) *suite.Answer {
				return refused(410, "RESERVATION_EXPIRED")
			}),
		},
		{
			ID:    "replay.decision-of-now",
			About: "an evaluation is made anew each time, whatever its key",
			Fails: []string{"replay.decide-keeps-decision", "replay.dry-run-keeps-decision", "idempotency.mismatch-decide", "idempotency.mismatch-dry-run"},
			Wrap: remembering(func() rule {
				var serial memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					if evaluation(r) {
						r = anew(r, count(&serial, ""))
					}
					return next(r)
				}
			}),
		},
	}
}

// replayEffects has servers that answer a replay rightly and do something again.
func replayEffects() []Defect {
	return []Defect{
		{
			ID:    "replay.moves-the-books",
			About: "every replay of a create, commit, release or event is charged as an event besides",
			Fails: []string{
				"replay.create-holds-once", "replay.commit-charges-once", "replay.release-returns-once", "replay.event-charges-once",
				"concurrency.same-create", "concurrency.same-commit", "concurrency.same-release", "concurrency.same-event",
			},
			Wrap: remembering(func() rule {
				var (
					serial, seen memory[int]
					subjects     memory[*suite.Request]
				)
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if a.Status > 299 || r.Key() == "" {
						return a
					}
					if id := a.Str("reservation_id"); id != "" {
						subjects.first(id, r)
					}
					about, known := subjects.get(r.Reservation)
					if r.Op == suite.Create || r.Op == suite.Event {
						about, known = r, true
					}
					if count(&seen, identity(r)) > 1 && known && !evaluation(r) && r.Op != suite.Extend {
						next(eventOn(about, 1, count(&serial, "")))
					}
					return a
				}
			}),
		},
		{
			ID:    "replay.extends-again",
			About: "every replay of an extend moves the expiry once more",
			Fails: []string{"replay.extend-moves-once", "replay.extend-after-its-expiry", "concurrency.same-extend"},
			Wrap: remembering(func() rule {
				var serial memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if r.Op == suite.Extend && a.Status == http.StatusOK {
						if n := count(&serial, identity(r)); n > 1 {
							next(anew(r, n))
						}
					}
					return a
				}
			}),
		},
		{
			ID:    "replay.extend-key-forgotten",
			About: "the key of an extend is forgotten when the expiry that it gave is over",
			Fails: []string{"replay.extend-after-expiry", "replay.extend-after-its-expiry"},
			Wrap: remembering(func() rule {
				var serial memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if left, ok := a.Int("remaining_ttl_ms"); r.Op == suite.Extend && ok && left == 0 {
						return next(anew(r, count(&serial, "")))
					}
					return a
				}
			}),
		},
		{
			ID:    "replay.keys-wear-out",
			About: "the third time that a key comes, and ever after, it is taken for a new one",
			Fails: []string{"concurrency.same-create", "concurrency.same-commit", "concurrency.same-release", "concurrency.same-event", "concurrency.same-extend"},
			Wrap: remembering(func() rule {
				var seen memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Key() != "" && !evaluation(r) {
						if n := count(&seen, identity(r)); n > 2 {
							r = anew(r, n)
						}
					}
					return next(r)
				}
			}),
		},
	}
}

// eventOn charges the subject of another request, in its unit.
func eventOn(r *suite.Request, amount int64, serial int) *suite.Request {
	e := anew(r, serial)
	e.Op, e.Path = suite.Event, "/v1/events"
	unit, ok := suite.Lookup(any(r.Body), "estimate.unit")
	if !ok {
		unit, _ = suite.Lookup(any(r.Body), "actual.unit")
	}
	e.Body = map[string]any{
		"idempotency_key": e.Key(), "subject": r.Body["subject"], "action": r.Body["action"],
		"actual": map[string]any{"unit": unit, "amount": amount}, "overage_policy": "ALLOW_IF_AVAILABLE",
	}
	return e
}

// replayTimes has servers that tell the wrong time left.
func replayTimes() []Defect {
	leases := on(suite.Create, suite.Extend)
	return []Defect{
		{
			ID:    "replay.time-left-copied",
			About: "a replay tells the time left that the first answer told",
			Fails: []string{"replay.*-counts-time-left", "replay.*-time-left-after-commit", "replay.*-time-left-after-release", "replay.create-after-expiry", "replay.extend-after-expiry", "replay.extend-after-its-expiry"},
			Wrap: replays(leases, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				a := next(r)
				if left, ok := first.Int("remaining_ttl_ms"); ok && a.Status == http.StatusOK {
					return set("remaining_ttl_ms", left)(r, a)
				}
				return a
			}),
		},
		{
			ID:    "replay.time-left-of-the-settled",
			About: "a replay tells the time to the first expiry also when the reservation is settled",
			Fails: []string{"replay.*-time-left-after-commit", "replay.*-time-left-after-release"},
			Wrap: replays(leases, func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
				a := next(r)
				left, _ := a.Int("remaining_ttl_ms")
				was, _ := first.Int("remaining_ttl_ms")
				// A reservation whose time is over had its expiry in the grip of the
				// clock; this one is early.
				if was > 10_000 && left == 0 && a.Status == http.StatusOK {
					return set("remaining_ttl_ms", was-1)(r, a)
				}
				return a
			}),
		},
		{
			ID:    "replay.create-time-left-of-now",
			About: "the replay of a create tells the time left to the expiry that later extends have set",
			Fails: []string{"replay.create-time-left-after-extend"},
			Wrap: remembering(func() rule {
				var moved memory[int64]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if by, ok := suite.Integer(r.Body["extend_by_ms"]); ok && a.Status == http.StatusOK {
						moved.update(r.Reservation, func(n int64) int64 { return n + by })
					}
					if by, was := moved.get(a.Str("reservation_id")); was && live(r) {
						return add("remaining_ttl_ms", by)(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "replay.verbatim-expiry-lost",
			About: "the replay of a create tells the expiry that later extends have set",
			Fails: []string{"replay.create-time-left-after-extend"},
			Wrap: remembering(func() rule {
				var expiries memory[any]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if at, ok := a.Get("expires_at_ms"); ok && r.Op == suite.Extend {
						expiries.swap(r.Reservation, at)
					}
					if at, was := expiries.get(a.Str("reservation_id")); was && live(r) {
						return set("expires_at_ms", at)(r, a)
					}
					return a
				}
			}),
		},
	}
}
