package lease

import (
	"math/rand/v2"
	"time"
)

// simServerKind is how a simulated budget authority grants lifetime, and whether it says how much is left.
type simServerKind int

const (
	simAdditive     simServerKind = iota // every extend adds what was asked
	simGrantClamped                      // create and extends are capped
	simMaximumLead                       // the expiry never stands more than a fixed lead ahead
	simCappedCreate                      // only the initial lease is capped
	simLegacy                            // any of the above without remaining_ttl_ms
	simFlapping                          // any of the above, the field comes and goes
	simReplaying                         // any of the above behind a network that loses answers
	simServerKinds
)

func (k simServerKind) String() string {
	return [...]string{"additive", "grant-clamped", "maximum-lead", "capped create", "legacy", "flapping", "replaying"}[k]
}

// simServer is one reservation on a server with a clock of its own. Its expiry is in whole milliseconds, as the wire has
// it, and its now is rounded down or up, depending on the server.
type simServer struct {
	rng            *rand.Rand
	kind, grants   simServerKind
	ttl, cap, lead int64
	maxExtensions  int
	skew           time.Duration
	ceil           bool

	expires    int64
	finalized  bool
	closed     bool
	extensions int
	answers    map[int]int64 // by key: the expiry it answered
	applied    map[int]int   // by key: how often it moved the expiry
	lapsed     bool
}

// simAnswer is a successful answer, or the permanent reason there is none.
type simAnswer struct {
	expires   int64
	remaining *int64
	reason    StopReason
}

func newSimServer(rng *rand.Rand, kind simServerKind, ttl int64) *simServer {
	s := &simServer{
		rng: rng, kind: kind, grants: kind, ttl: ttl,
		skew: time.Duration(rng.Int64N(int64(48*time.Hour))) - 24*time.Hour, ceil: rng.IntN(2) == 0,
		answers: map[int]int64{}, applied: map[int]int{},
	}
	if kind >= simLegacy {
		s.grants = simServerKind(rng.IntN(int(simLegacy)))
	}
	s.cap = max(1, ttl*(5+rng.Int64N(90))/100)
	s.lead = max(1, ttl*(20+rng.Int64N(180))/100)
	return s
}

func (s *simServer) now(at time.Duration) int64 {
	at += s.skew + 48*time.Hour
	ms := int64(at / time.Millisecond)
	if s.ceil && at%time.Millisecond != 0 {
		ms++
	}
	return ms
}

// life is the exact time the reservation has left at an instant of true time.
func (s *simServer) life(at time.Duration) time.Duration {
	return time.Duration(s.expires)*time.Millisecond - (at + s.skew + 48*time.Hour)
}

func (s *simServer) active(at time.Duration) bool {
	return !s.finalized && !s.closed && s.now(at) <= s.expires
}

func (s *simServer) create(at time.Duration) simAnswer {
	initial := s.ttl
	switch s.grants {
	case simGrantClamped, simCappedCreate:
		initial = min(initial, s.cap)
	case simMaximumLead:
		initial = min(initial, s.lead)
	}
	s.expires = s.now(at) + initial
	return s.answer(at, s.expires)
}

// extend is idempotent by key: a replay answers the original expiry and moves nothing.
func (s *simServer) extend(at time.Duration, key int) simAnswer {
	if expires, seen := s.answers[key]; seen {
		return s.answer(at, expires)
	}
	switch {
	case s.closed:
		return simAnswer{reason: StopTenantClosed}
	case s.finalized:
		return simAnswer{reason: StopFinalized}
	case s.now(at) > s.expires:
		s.lapsed = true
		return simAnswer{reason: StopExpired}
	case s.maxExtensions > 0 && s.extensions >= s.maxExtensions:
		return simAnswer{reason: StopMaxExtensions}
	}
	switch s.grants {
	case simGrantClamped:
		s.expires += min(s.ttl, s.cap)
	case simMaximumLead:
		s.expires = min(s.expires+s.ttl, s.now(at)+s.lead)
	default:
		s.expires += s.ttl
	}
	s.extensions++
	s.applied[key]++
	s.answers[key] = s.expires
	return s.answer(at, s.expires)
}

func (s *simServer) answer(at time.Duration, expires int64) simAnswer {
	a := simAnswer{expires: expires}
	if s.kind == simLegacy || s.kind == simFlapping && s.rng.IntN(2) == 0 {
		return a
	}
	remaining := max(0, expires-s.now(at))
	if s.finalized || s.closed {
		remaining = 0
	}
	a.remaining = &remaining
	return a
}
