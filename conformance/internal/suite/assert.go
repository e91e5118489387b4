package suite

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// fail ends the check: the server broke the requirement.
func (t *T) fail(a *Answer, expected, got string) {
	v := verdict{outcome: Failed, expected: expected, got: got}
	if t.check.Level != Must {
		v.outcome = Warned
	}
	if a != nil {
		v.at, v.decided = a.Exchange, true
	}
	t.stop(v)
}

// Fail ends the check: the requirement is broken. Both say what was compared.
func (t *T) Fail(expected, got string) { t.fail(nil, expected, got) }

// FailAt is Fail and names the answer that decided.
func (t *T) FailAt(a *Answer, expected, got string) { t.fail(a, expected, got) }

// WarnAt notes that the server does what the protocol leaves open but does not
// suggest. The check goes on and cannot pass any more.
func (t *T) WarnAt(a *Answer, expected, got string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.warning == nil {
		t.warning = &verdict{outcome: Warned, expected: expected, got: got, at: a.Exchange, decided: true}
	}
}

// Skip ends the check: the requirement does not apply here, and why.
func (t *T) Skip(format string, args ...any) {
	t.stop(verdict{outcome: Skipped, got: fmt.Sprintf(format, args...)})
}

// Given ends the check without a verdict unless the answer has that status:
// the ground for what it tests could not be laid.
func (t *T) Given(a *Answer, status int) {
	if a.Status != status {
		t.stop(verdict{outcome: Errored, at: a.Exchange, decided: true,
			got: fmt.Sprintf("no ground for the check: it needs a %d here and got %s", status, Describe(a))})
	}
}

// NoError ends the check without a verdict when a Controller failed.
func (t *T) NoError(err error) {
	if err != nil {
		t.stop(verdict{outcome: Errored, got: "the target could not be changed as the check needs: " + err.Error()})
	}
}

// WantStatus compares the status.
func (t *T) WantStatus(a *Answer, status int) {
	if a.Status != status {
		t.fail(a, statusName(status), Describe(a))
	}
}

// ErrorCase is one refusal: a status and the code in the body.
type ErrorCase struct {
	Status int
	Code   string
}

func (e ErrorCase) String() string { return fmt.Sprintf("%d %s", e.Status, e.Code) }

// WantError compares status and error code.
func (t *T) WantError(a *Answer, status int, code string) {
	t.WantOneOf(a, ErrorCase{status, code})
}

// WantOneOf wants one of several refusals, where the protocol allows that, and
// returns the index of the one that came.
func (t *T) WantOneOf(a *Answer, cases ...ErrorCase) int {
	names := make([]string, len(cases))
	for i, c := range cases {
		if a.Status == c.Status && a.Code() == c.Code {
			return i
		}
		names[i] = c.String()
	}
	t.fail(a, strings.Join(names, " or "), Describe(a))
	return -1
}

// Want compares one member of the body with a string, bool, int or int64.
// Integers are equal in every spelling.
func (t *T) Want(a *Answer, path string, want any) {
	if got, ok := a.Get(path); !ok || !same(got, want) {
		t.fail(a, fmt.Sprintf("%s is %s", path, show(want)), a.at(path))
	}
}

// WantAbsent wants a member not to be there. Null counts as absent, since
// whether null is allowed is for the contract to say.
func (t *T) WantAbsent(a *Answer, path string) {
	if got, ok := a.Get(path); ok && got != nil {
		t.fail(a, path+" is absent", fmt.Sprintf("%s is %s", path, show(got)))
	}
}

// WantString wants a member to be a string that is not empty, and returns it.
func (t *T) WantString(a *Answer, path string) string {
	s := a.Str(path)
	if s == "" {
		t.fail(a, path+" is a string", a.at(path))
	}
	return s
}

// WantInt wants a member to be an integer and returns it.
func (t *T) WantInt(a *Answer, path string) int64 {
	n, ok := a.Int(path)
	if !ok {
		t.fail(a, path+" is an integer", a.at(path))
	}
	return n
}

// WantAllowed wants a create or decide to be answered 200 with ALLOW or
// ALLOW_WITH_CAPS.
func (t *T) WantAllowed(a *Answer) {
	t.WantStatus(a, http.StatusOK)
	if d := a.Decision(); d != "ALLOW" && d != "ALLOW_WITH_CAPS" {
		t.fail(a, "decision is ALLOW or ALLOW_WITH_CAPS", "decision is "+strconv.Quote(d))
	}
}

// WantDenied wants a dry run or decide to be answered 200 DENY with that reason
// code.
func (t *T) WantDenied(a *Answer, reason string) {
	t.WantStatus(a, http.StatusOK)
	t.Want(a, "decision", "DENY")
	t.Want(a, "reason_code", reason)
}

// WantSame wants two answers to have equal status and equal bodies but for the
// named members.
func (t *T) WantSame(first, second *Answer, except ...string) {
	if first.Status != second.Status {
		t.fail(second, fmt.Sprintf("the first answer again, %s", statusName(first.Status)), Describe(second))
	}
	a, b := without(first.Value, except), without(second.Value, except)
	if path, x, y, differ := difference("", a, b); differ {
		t.fail(second, fmt.Sprintf("the first answer again, with %s as %s", path, show(x)), fmt.Sprintf("%s is %s", path, show(y)))
	}
}

// WantHeader wants a header to have a value.
func (t *T) WantHeader(a *Answer, name, want string) {
	if got := a.Header.Get(name); got != want {
		t.fail(a, fmt.Sprintf("header %s is %q", name, want), fmt.Sprintf("header %s is %q", name, got))
	}
}

// True wants cond to hold; expected says what cond is and got what is so
// instead.
func (t *T) True(a *Answer, cond bool, expected, got string, args ...any) {
	if !cond {
		t.fail(a, expected, fmt.Sprintf(got, args...))
	}
}

func without(v any, members []string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	c := make(map[string]any, len(m))
	for k, e := range m {
		c[k] = e
	}
	for _, k := range members {
		delete(c, k)
	}
	return c
}

// difference finds the first place at which two decoded bodies differ.
func difference(at string, a, b any) (path string, x, y any, differ bool) {
	switch av := a.(type) {
	case map[string]any:
		bv, ok := b.(map[string]any)
		if !ok {
			return at, a, b, true
		}
		for _, k := range sortedKeys(av, bv) {
			if p, x, y, d := difference(join(at, k), member(av, k), member(bv, k)); d {
				return p, x, y, true
			}
		}
		return "", nil, nil, false
	case []any:
		bv, ok := b.([]any)
		if !ok || len(av) != len(bv) {
			return at, a, b, true
		}
		for i := range av {
			if p, x, y, d := difference(join(at, strconv.Itoa(i)), av[i], bv[i]); d {
				return p, x, y, true
			}
		}
		return "", nil, nil, false
	default:
		return at, a, b, !same(a, b)
	}
}

// absent stands for a member that is not there, which is not null.
type absent struct{}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func same(got, want any) bool {
	if w, ok := Integer(want); ok {
		g, ok := Integer(got)
		return ok && g == w
	}
	return reflect.DeepEqual(got, want)
}
