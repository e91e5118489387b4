package checks

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// wantDetail wants what get or a row of a listing says of a reservation to be
// what its create asked for and was told. Null levels are for the contract to
// find.
func wantDetail(t *suite.T, a *suite.Answer, d row, res *suite.Reservation, status string) {
	wantMember(t, a, d, "reservation_id", res.ID)
	wantMember(t, a, d, "status", status)
	wantMember(t, a, d, "reserved.amount", res.Amount)
	wantMember(t, a, d, "reserved.unit", res.Budget.Unit)
	wantEqual(t, a, d, "subject", res.Create.Body["subject"])
	wantEqual(t, a, d, "action", res.Create.Body["action"])
	for _, member := range []string{"expires_at_ms", "scope_path", "affected_scopes"} {
		if told, ok := res.Created.Get(member); ok {
			wantEqual(t, a, d, member, told)
		}
	}
	made, ok := suite.Integer(d["created_at_ms"])
	expires, _ := suite.Integer(d["expires_at_ms"])
	t.True(a, ok && made < expires, "created_at_ms is before expires_at_ms", "created_at_ms %v, expires_at_ms %v", d["created_at_ms"], d["expires_at_ms"])
	if key, there := d["idempotency_key"]; there {
		t.True(a, key == res.Create.Key(), "idempotency_key is the create's", "it is %v", key)
	}
}

// wantMember compares one member, integers in every spelling.
func wantMember(t *suite.T, a *suite.Answer, d row, path string, want any) {
	wantEqual(t, a, d, path, want)
}

// wantEqual compares one member, however deep.
func wantEqual(t *suite.T, a *suite.Answer, d row, path string, want any) {
	got, there := suite.Lookup(d, path)
	t.True(a, there && equal(got, want), fmt.Sprintf("%s is %s", path, spelled(want)), "%s is %s", path, spelled(got))
}

func wantNoMember(t *suite.T, a *suite.Answer, d row, member string) {
	t.True(a, d[member] == nil, member+" is absent from a row with status "+fmt.Sprint(d["status"]), "%s is %s", member, spelled(d[member]))
}

// wantFinalized wants finalized_at_ms, which may be left out, not to be before
// the creation.
func wantFinalized(t *suite.T, a *suite.Answer, d row) {
	if d["finalized_at_ms"] == nil {
		t.WarnAt(a, "finalized_at_ms tells when the reservation was finalized", "it is absent")
		return
	}
	made, _ := suite.Integer(d["created_at_ms"])
	ended, ok := suite.Integer(d["finalized_at_ms"])
	t.True(a, ok && ended >= made, "finalized_at_ms is not before created_at_ms", "finalized_at_ms is %s, created_at_ms %d", spelled(d["finalized_at_ms"]), made)
}

func spelled(v any) string {
	if v == nil {
		return "absent"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// equal compares what came with what was sent: integers by value, objects
// without their null members.
func equal(got, want any) bool {
	if n, ok := suite.Integer(want); ok {
		g, ok := suite.Integer(got)
		return ok && g == n
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range g {
			if _, sent := w[k]; !sent && v != nil {
				return false
			}
		}
		for k, v := range w {
			if !equal(g[k], v) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !equal(g[i], w[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(got, want)
	}
}
