package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/lease"
	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

// timeline is a lease.Observer that writes each step of the heartbeat for a
// person to follow: what went out, what came back, and how the next instant
// follows from it.
type timeline struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	keys  map[string]string
	// open is the key of a failed extend until its outcome is known.
	open string
}

func newTimeline(out io.Writer) *timeline {
	return &timeline{out: out, start: time.Now(), keys: map[string]string{}}
}

// Observe implements lease.Observer.
func (t *timeline) Observe(e lease.Event) {
	switch e.Step {
	case lease.StepKept:
		t.say(e.Time, "reserve", "<- 200 ALLOW, lead %s", ms(e.LeadFloor))
	case lease.StepAttempt:
		rule := "new key"
		if e.SameKey {
			rule = "same key"
		}
		t.say(e.Time, fmt.Sprintf("extend %d", e.Attempt), "-> %s %s, lead %s", rule, t.key(e.IdempotencyKey), ms(e.Lead))
	case lease.StepSuccess:
		t.say(e.Time, "", "<- 200, remaining_ttl_ms %d: lead %s -> %s", *e.RemainingTTLMs, ms(e.LeadBefore), ms(e.LeadFloor))
		if e.IdempotencyKey == t.open {
			t.note("key %s is applied exactly once, whichever of its attempts the server worked on", t.key(t.open))
		}
		t.open = ""
	case lease.StepFailure:
		t.open = e.IdempotencyKey
		t.say(e.Time, "", "<- %s: nobody knows whether it was applied; lead %s", cameBack(e.Err), ms(e.Lead))
	case lease.StepScheduled:
		t.next(e)
	case lease.StepUnproven, lease.StepLost, lease.StepStopped, lease.StepWarning:
		t.say(e.Time, string(e.Step), "%s%s", e.Reason, e.Warning)
	}
}

// next explains the delay until the next extend.
func (t *timeline) next(e lease.Event) {
	if e.SameKey {
		t.note("window %s = lead - %s attempt - %s margin; retry in %s (least of 30 s, lead/4, window) with the SAME key",
			ms(e.RetryWindow), ms(e.AttemptBudget), ms(e.SafetyMargin), ms(e.Delay))
		return
	}
	t.note("next extend in %s = lead %s - reserve %s (2 x %s attempt + %s margin) - %s for late timers",
		ms(e.Delay), ms(e.LeadFloor), ms(e.RetryReserve), ms(e.AttemptBudget), ms(e.SafetyMargin), ms(e.LeadFloor-e.RetryReserve-e.Delay))
}

func (t *timeline) committed(r settlement.Result) {
	t.say(time.Now(), "commit", "%s: charged %s, %s back in the budget", r.Disposition, amount(&r.Commit.Charged), amount(r.Commit.Released))
}

func (t *timeline) balances(r *gen.BalanceResponse) {
	for _, b := range r.Balances {
		t.say(time.Now(), "balance", "%s: %s allocated, %s spent, %s reserved, %d remaining",
			b.ScopePath, amount(b.Allocated), amount(b.Spent), amount(b.Reserved), b.Remaining.Amount)
	}
}

func (t *timeline) title(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format+"\n\n", args...)
}

func (t *timeline) say(at time.Time, what, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%7.3f s  %-9s %s\n", at.Sub(t.start).Seconds(), what, fmt.Sprintf(format, args...))
}

func (t *timeline) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%21s%s\n", "", fmt.Sprintf(format, args...))
}

// key gives a key a short name: a person compares A with B, not two UUIDs.
func (t *timeline) key(full string) string {
	short, known := t.keys[full]
	if !known {
		short = string(rune('A' + len(t.keys)))
		t.keys[full] = short
	}
	return short
}

// cameBack says in a few words how an attempt failed.
func cameBack(err error) string {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return fmt.Sprintf("%d %s", refused.Status, refused.Code)
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return "connection reset, no answer"
	}
	return err.Error()
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func amount(a *gen.Amount) string {
	if a == nil {
		return "none"
	}
	return fmt.Sprintf("%d", a.Amount)
}
