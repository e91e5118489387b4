package settlement

import (
	"errors"
	"sync"
	"time"

	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// secure claims the record and brings it and the journal together: what is on
// disk is taken over, what is not yet is written. It reports false when nothing
// is to be sent now. A claim that it returns is the caller's to release.
func (x *Settlement) secure() (claim *journal.Claim, proceed bool) {
	dir := x.settler.dir
	if dir == nil {
		return nil, true
	}
	claim, err := dir.Claim(x.rec.ReservationID)
	if err != nil {
		x.update(func(r *Result) { r.Err = ErrTakenElsewhere })
		x.postpone(spread(x.settler.backoff.first))
		return nil, false
	}
	onDisk, err := claim.Load()
	switch {
	case err == nil && (x.recorded || keyOf(onDisk.Body()) == x.result.IdempotencyKey):
		x.rec, x.recorded = onDisk, true
		x.update(func(r *Result) { r.Journaled = true })
	case err == nil:
		x.update(func(r *Result) { r.Disposition, r.Err = Rejected, ErrOtherSpend })
		return claim, false
	case errors.Is(err, journal.ErrGone) && x.recorded:
		x.update(func(r *Result) { r.Disposition, r.Err, r.Journaled = HandedOver, ErrTakenElsewhere, false })
		return claim, false
	case errors.Is(err, journal.ErrGone), errors.As(err, new(*journal.CorruptError)):
		x.write(claim)
	default:
		x.journalFailed(err)
	}
	return claim, true
}

// write records the spend. When it cannot be written it is sent all the same,
// and the next attempt tries to write it again.
func (x *Settlement) write(claim *journal.Claim) {
	if x.rec.Mode == journal.Commit {
		x.rec.RecordedAtMs = x.settler.nowMs()
	}
	if err := claim.Put(x.rec); err != nil {
		x.journalFailed(err)
		return
	}
	x.recorded = true
	x.journalWorks(claim)
}

// rewrite brings a change of the record to disk. A record that somebody has
// removed meanwhile stays removed: it is settled, and what this process still
// sends has the same key.
func (x *Settlement) rewrite(claim *journal.Claim) {
	switch {
	case claim == nil:
	case !x.recorded:
		x.write(claim)
	default:
		err := claim.Rewrite(x.rec)
		if err != nil && !errors.Is(err, journal.ErrGone) {
			x.journalFailed(err)
			return
		}
		x.journalWorks(claim)
	}
}

func (x *Settlement) journalWorks(claim *journal.Claim) {
	x.update(func(r *Result) { r.Journaled, r.JournalErr = true, nil })
	if err := claim.Unsecured(); err != nil {
		x.journalFailed(err)
		return
	}
	x.settler.trouble.works()
}

func (x *Settlement) journalFailed(err error) {
	err = &JournalError{ReservationID: x.rec.ReservationID, Err: err}
	x.update(func(r *Result) { r.JournalErr = err })
	x.settler.trouble.failed(err)
}

// floors keeps when a record may be sent that carries a not_before_ms. A floor
// counts once, and never more than maxFloor from when it was first seen: a clock
// that was set back must not make it endless.
type floors struct {
	mu     sync.Mutex
	byName map[string]floor
}

type floor struct {
	notBefore int64
	until     time.Time
}

// left is how long the record has to wait from now on.
func (f *floors) left(name string, notBefore *int64, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if notBefore == nil {
		delete(f.byName, name)
		return 0
	}
	known, ok := f.byName[name]
	if !ok || known.notBefore != *notBefore {
		wait := maxFloor
		if ahead := *notBefore - now.UnixMilli(); ahead < maxFloor.Milliseconds() {
			wait = time.Duration(ahead) * time.Millisecond
		}
		known = floor{*notBefore, now.Add(wait)}
		if f.byName == nil {
			f.byName = map[string]floor{}
		}
		f.byName[name] = known
	}
	return known.until.Sub(now)
}

// next is the earliest instant at which a floor ends after now; false when none
// does.
func (f *floors) next(now time.Time) (earliest time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.byName {
		if known.until.After(now) && (!ok || known.until.Before(earliest)) {
			earliest, ok = known.until, true
		}
	}
	return earliest, ok
}

// forget drops what is known of one record.
func (f *floors) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byName, name)
}

// keep forgets all records but those that there still are.
func (f *floors) keep(there func(name string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.byName {
		if !there(name) {
			delete(f.byName, name)
		}
	}
}
