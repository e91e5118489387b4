package ledger

import "github.com/cycles-protocol/cycles-go/gen"

// Print stands for the payload of a request: equal payloads, however they are
// spelt, have equal prints.
type Print [32]byte

// Identity identifies a request: its tenant ("" for the admin), its idempotency key
// and its payload.
type Identity struct {
	Tenant string
	Key    string
	Print  Print
}

// endpoint separates the keys of the operations. Live and dry-run creates share
// one: they are the same operation.
type endpoint byte

const (
	endpointDecide endpoint = iota
	endpointReserve
	endpointEvent
	endpointCommit
	endpointRelease
	endpointFund
)

type answerKey struct {
	endpoint endpoint
	key      string
}

// record remembers a success under its key.
type record struct {
	print  Print
	answer any
}

// recall looks for an earlier success of this request. ok is true when there
// is one and the payload is the same.
func (a *account) recall(e endpoint, id *Identity) (answer any, ok bool, err *Denial) {
	rec, ok := a.answers[answerKey{e, id.Key}]
	if !ok {
		return nil, false, nil
	}
	if err := rec.compare(id); err != nil {
		return nil, false, err
	}
	return rec.answer, true, nil
}

func (rec *record) compare(id *Identity) *Denial {
	if rec.print != id.Print {
		return deny(gen.ErrorCodeIdempotencyMismatch, "the idempotency key was used with another payload")
	}
	return nil
}

func (a *account) remember(e endpoint, id *Identity, answer any) {
	a.answers[answerKey{e, id.Key}] = record{id.Print, answer}
}
