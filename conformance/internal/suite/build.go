package suite

import (
	"net/http"
	"net/url"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// The builders make requests that are right in every way; checks then spoil
// what they want to see refused. Each body has a new idempotency key.

func (t *T) post(op Op, path string, by target.Tenant, body map[string]any) *Request {
	body["idempotency_key"] = t.Name()
	h := http.Header{"Content-Type": {"application/json"}}
	h.Set(HeaderKey, by.APIKey)
	return &Request{Op: op, Method: http.MethodPost, Path: path, Header: h, Body: body}
}

func get(op Op, path string, by target.Tenant) *Request {
	h := http.Header{}
	h.Set(HeaderKey, by.APIKey)
	return &Request{Op: op, Method: http.MethodGet, Path: path, Header: h}
}

// Amount is an amount as bodies carry it.
func Amount(unit string, amount int64) map[string]any {
	return map[string]any{"unit": unit, "amount": amount}
}

func action() map[string]any {
	return map[string]any{"kind": "llm.completion", "name": "conformance"}
}

func (t *T) about(b *target.Budget, member string, amount int64) map[string]any {
	return map[string]any{"subject": t.Subject(b), "action": action(), member: Amount(b.Unit, amount)}
}

// Decide asks whether amount would be allowed on the budget.
func (t *T) Decide(b *target.Budget, amount int64) *Request {
	return t.post(Decide, "/v1/decide", b.Tenant, t.about(b, "estimate", amount))
}

// Create reserves amount on the budget, with the defaults of the protocol.
func (t *T) Create(b *target.Budget, amount int64) *Request {
	return t.post(Create, "/v1/reservations", b.Tenant, t.about(b, "estimate", amount))
}

// Event charges amount to the budget.
func (t *T) Event(b *target.Budget, amount int64) *Request {
	return t.post(Event, "/v1/events", b.Tenant, t.about(b, "actual", amount))
}

// on names the reservation that the request is about.
func (r *Request) on(id, verb string) *Request {
	r.Reservation, r.Path = id, "/v1/reservations/"+url.PathEscape(id)+verb
	return r
}

// Commit charges amount to the reservation, in its unit.
func (t *T) Commit(r *Reservation, amount int64) *Request {
	return t.post(Commit, "", r.Tenant, map[string]any{"actual": Amount(r.Budget.Unit, amount)}).on(r.ID, "/commit")
}

// Release gives the reservation back.
func (t *T) Release(r *Reservation) *Request { return t.release(r.ID, r.Tenant) }

func (t *T) release(id string, by target.Tenant) *Request {
	return t.post(Release, "", by, map[string]any{}).on(id, "/release")
}

// Extend moves the expiry of the reservation by ms milliseconds.
func (t *T) Extend(r *Reservation, ms int64) *Request {
	return t.post(Extend, "", r.Tenant, map[string]any{"extend_by_ms": ms}).on(r.ID, "/extend")
}

// Get reads the reservation.
func (t *T) Get(r *Reservation) *Request { return get(Get, "", r.Tenant).on(r.ID, "") }

// List lists the reservations of the tenant; add filters with WithQuery.
func (t *T) List(by target.Tenant) *Request { return get(List, "/v1/reservations", by) }

// Balances reads the balances of the budget's scope and those below it.
func (t *T) Balances(b *target.Budget) *Request { return balancesOf(b) }

func balancesOf(b *target.Budget) *Request {
	r := get(Balances, "/v1/balances", b.Tenant)
	r.Query = url.Values{}
	for level, name := range b.Subject {
		r.Query.Set(level, name)
	}
	return r
}

// Evidence fetches an evidence envelope, without a key.
func (t *T) Evidence(id string) *Request {
	return get(Evidence, "/v1/evidence/"+url.PathEscape(id), target.Tenant{}).WithoutKey()
}

// JWKS fetches the key set, without a key.
func (t *T) JWKS() *Request {
	return get(JWKS, "/v1/.well-known/cycles-jwks.json", target.Tenant{}).WithoutKey()
}
