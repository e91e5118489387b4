package defects

import (
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func extend() []Defect {
	by := func(r *suite.Request) int64 {
		n, _ := suite.Integer(r.Body["extend_by_ms"])
		return n
	}
	const spent = "MAX_EXTENSIONS_EXCEEDED"
	return []Defect{
		{
			ID:    "extend.from-now",
			About: "an extend counts from the time of the request",
			Fails: []string{"extend.relative-to-expiry"},
			Wrap: after(on(suite.Extend), whenOK(func(r *suite.Request, a *suite.Answer) *suite.Answer {
				expires, _ := a.Int("expires_at_ms")
				left, _ := a.Int("remaining_ttl_ms")
				return set("expires_at_ms", expires-left+by(r))(r, a)
			})),
		},
		{
			ID:    "extend.twice-as-far",
			About: "an extend moves the expiry by twice what was asked for",
			Fails: []string{"extend.relative-to-expiry"},
			Wrap: before(on(suite.Extend), func(r *suite.Request) *suite.Request {
				if n := by(r); n > 0 && n < 40_000_000 {
					return r.With("extend_by_ms", 2*n)
				}
				return r
			}),
		},
		{
			ID:    "extend.not-active",
			About: "an extend is answered with another status than ACTIVE",
			Fails: []string{"extend.relative-to-expiry", "extend.expiry-only", "extend.max-extensions"},
			Wrap:  after(on(suite.Extend), whenOK(set("status", "EXTENDED"))),
		},
		{
			ID:    "extend.takes-metadata",
			About: "the metadata of an extend replaces the reservation's",
			Fails: []string{"extend.expiry-only"},
			Wrap: remembering(func() rule {
				var metadata memory[any]
				return func(r *suite.Request, next server) *suite.Answer {
					if m := r.Body["metadata"]; r.Op == suite.Extend && m != nil {
						metadata.swap(r.Reservation, m)
					}
					a := next(r)
					if m, was := metadata.get(r.Reservation); was && r.Op == suite.Get {
						return set("metadata", m)(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "extend.refused-moves",
			About: "a refused extend moves the expiry all the same",
			Fails: []string{"extend.active-only"},
			Wrap: remembering(func() rule {
				var moved memory[int64]
				return func(r *suite.Request, next server) *suite.Answer {
					a := next(r)
					if r.Op == suite.Extend && a.Status == http.StatusConflict {
						moved.swap(r.Reservation, by(r))
					}
					if n, was := moved.get(r.Reservation); was && r.Op == suite.Get {
						return add("expires_at_ms", n)(r, a)
					}
					return a
				}
			}),
		},
		{
			ID:    "extend.settled-goes-on",
			About: "a settled reservation can be extended",
			Fails: []string{"commit.then-extend", "release.then-extend", "extend.active-only"},
			Wrap:  after(on(suite.Extend), whenRefused(409, "RESERVATION_FINALIZED", success(goesOn))),
		},
		{
			ID:    "extend.no-maximum",
			About: "a reservation can be extended for ever",
			Fails: []string{"extend.max-extensions", "extend.replays-do-not-count", "extend.each-its-own-budget"},
			Wrap:  after(on(suite.Extend), whenRefused(409, spent, success(goesOn))),
		},
		{
			ID:    "extend.maximum-is-final",
			About: "when a reservation was extended as often as it may, an extend is answered RESERVATION_FINALIZED",
			Fails: []string{"extend.max-extensions", "extend.replays-do-not-count", "extend.each-its-own-budget"},
			Wrap:  after(on(suite.Extend), whenRefused(409, spent, refusal(409, "RESERVATION_FINALIZED"))),
		},
		{
			ID:    "extend.maximum-settles",
			About: "when a reservation was extended as often as it may, the next extend gives it back",
			Fails: []string{"extend.max-extensions"},
			Wrap: broken(func(r *suite.Request, next server) *suite.Answer {
				a := next(r)
				if a.Code() == spent {
					next(r.Without("extend_by_ms").WithPath("/v1/reservations/" + r.Reservation + "/release"))
				}
				return a
			}),
		},
		{
			ID:    "extend.replays-count",
			About: "an extend sent again counts as one more",
			Fails: []string{"extend.replays-do-not-count"},
			Wrap: remembering(func() rule {
				var seen memory[int]
				return func(r *suite.Request, next server) *suite.Answer {
					if r.Op == suite.Extend {
						name := r.Path + r.Key()
						n, _ := seen.get(name)
						seen.swap(name, n+1)
						if n > 0 {
							next(r.With("idempotency_key", r.Key()+"-again").With("extend_by_ms", 1))
						}
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "extend.shared-maximum",
			About: "when one reservation was extended as often as it may, none can be extended any more",
			Fails: []string{"extend.each-its-own-budget"},
			Wrap: remembering(func() rule {
				var over memory[bool]
				return func(r *suite.Request, next server) *suite.Answer {
					if was, _ := over.get(""); was && r.Op == suite.Extend {
						return refused(409, spent)
					}
					a := next(r)
					if a.Code() == spent {
						over.swap("", true)
					}
					return a
				}
			}),
		},
		{
			ID:    "remaining.not-told",
			About: "neither create nor extend tells the time left",
			Fails: []string{"remaining.create", "remaining.extend"},
			Wrap:  after(on(suite.Create, suite.Extend), drop("remaining_ttl_ms")),
		},
		{
			ID:    "remaining.with-grace",
			About: "a create counts the default grace to the time left",
			Fails: []string{"remaining.within-grant", "remaining.one-clock", "expiry.lives-as-told"},
			Wrap:  after(live, add("remaining_ttl_ms", 5000)),
		},
		{
			ID:    "remaining.what-was-asked",
			About: "an extend tells as the time left what was asked for",
			Fails: []string{"remaining.one-clock", "expiry.ends-as-told"},
			Wrap: after(on(suite.Extend), whenOK(func(r *suite.Request, a *suite.Answer) *suite.Answer {
				return set("remaining_ttl_ms", by(r))(r, a)
			})),
		},
		{
			ID:    "remaining.on-dry-run",
			About: "a dry run tells a time left",
			Fails: []string{"remaining.live-only", "dryrun.allowed"},
			Wrap:  after(dry, whenOK(set("remaining_ttl_ms", 60_000))),
		},
	}
}

// goesOn is the body of an extend that was taken.
func goesOn(*suite.Request) map[string]any {
	return map[string]any{"status": "ACTIVE", "expires_at_ms": farFuture, "remaining_ttl_ms": 60_000}
}
