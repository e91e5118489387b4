package defects

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// which picks the requests that a rule is about.
type which func(r *suite.Request) bool

// edit spoils a request on its way in.
type edit func(r *suite.Request) *suite.Request

// spoil spoils an answer on its way out. r is what was asked for.
type spoil func(r *suite.Request, a *suite.Answer) *suite.Answer

// every picks all requests.
func every(*suite.Request) bool { return true }

// on picks the requests for these operations.
func on(ops ...suite.Op) which {
	return func(r *suite.Request) bool { return slices.Contains(ops, r.Op) }
}

// and narrows down: the member at path satisfies is. An absent member is nil.
func (w which) and(path string, is func(v any) bool) which {
	return func(r *suite.Request) bool {
		if !w(r) {
			return false
		}
		v, _ := suite.Lookup(any(r.Body), path)
		return is(v)
	}
}

func equals(want any) func(any) bool { return func(v any) bool { return v == want } }

func not(is func(any) bool) func(any) bool { return func(v any) bool { return !is(v) } }

// live picks the creates that are no dry runs, dry those that are.
func live(r *suite.Request) bool { return r.Op == suite.Create && r.Body["dry_run"] != true }
func dry(r *suite.Request) bool  { return r.Op == suite.Create && r.Body["dry_run"] == true }

// before spoils requests.
func before(w which, e edit) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		if w(r) {
			r = e(r)
		}
		return next(r)
	})
}

// after spoils answers.
func after(w which, s spoil) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		a := next(r)
		if w(r) {
			a = s(r, a)
		}
		return a
	})
}

// instead answers without asking the server behind, so that nothing happens.
func instead(w which, answer func(r *suite.Request) *suite.Answer) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		if w(r) {
			return answer(r)
		}
		return next(r)
	})
}

// lenient asks again with an edited request when the server behind refuses the
// one that came with that status: a server that does not look at what was
// edited.
func lenient(w which, status int, e edit) Wrap {
	return broken(func(r *suite.Request, next server) *suite.Answer {
		a := next(r)
		if w(r) && a.Status == status {
			return next(e(r))
		}
		return a
	})
}

// Edits of requests.

func put(path string, v any) edit {
	return func(r *suite.Request) *suite.Request { return r.With(path, v) }
}

func leaveOut(path string) edit {
	return func(r *suite.Request) *suite.Request { return r.Without(path) }
}

func putHeader(name, value string) edit {
	return func(r *suite.Request) *suite.Request { return r.WithHeader(name, value) }
}

// all makes all of these edits.
func all(edits ...edit) edit {
	return func(r *suite.Request) *suite.Request {
		for _, e := range edits {
			r = e(r)
		}
		return r
	}
}

// Answers made up.

// ok is a 200 with that body.
func ok(body map[string]any) *suite.Answer { return answer(http.StatusOK, body) }

// refused is an error answer.
func refused(status int, code string) *suite.Answer {
	return answer(status, map[string]any{
		"error": code, "message": "a defect of this server", "request_id": "req-defect", "trace_id": strings.Repeat("d", 32),
	})
}

func answer(status int, body any) *suite.Answer {
	a := &suite.Answer{Status: status, Header: http.Header{
		"Content-Type":      {"application/json"},
		"X-Request-Id":      {"req-defect"},
		"X-Cycles-Trace-Id": {strings.Repeat("d", 32)},
	}}
	return withBody(a, body)
}

// withBody is the answer with another body.
func withBody(a *suite.Answer, body any) *suite.Answer {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("a defect made a body that is no JSON: %v", err))
	}
	c := *a
	c.Header = a.Header.Clone()
	c.Body, c.Value = raw, decode(raw)
	return &c
}

// Spoils of answers.

// whenRefused spoils the refusals with that status and code only.
func whenRefused(status int, code string, s spoil) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		if a.Status != status || a.Code() != code {
			return a
		}
		return s(r, a)
	}
}

// whenOK spoils the answers with a 2xx only.
func whenOK(s spoil) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		if a.Status > 299 {
			return a
		}
		return s(r, a)
	}
}

// refusal answers with that error in place of the answer.
func refusal(status int, code string) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		e := refused(status, code)
		e.Header = a.Header
		return both(set("request_id", a.Header.Get("X-Request-Id")), set("trace_id", a.Header.Get(suite.HeaderTrace)))(r, e)
	}
}

// success answers 200 with that body in place of the answer.
func success(body func(r *suite.Request) map[string]any) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		e := ok(body(r))
		e.Header = a.Header
		return withBody(e, e.Value)
	}
}

// set sets a member of the answer.
func set(path string, v any) spoil {
	return change(path, func(*suite.Request, any) any { return v })
}

// drop takes a member out of the answer.
func drop(path string) spoil {
	return change(path, func(*suite.Request, any) any { return gone })
}

// gone in place of a member takes it out.
var gone = new(struct{})

// add adds n to an integer of the answer, if it is there.
func add(path string, n int64) spoil {
	return change(path, func(_ *suite.Request, v any) any {
		if i, ok := suite.Integer(v); ok {
			return i + n
		}
		return gone
	})
}

// change computes a member of the answer anew: from nil when it is absent; gone
// takes it out. The path goes through objects and arrays; * stands for every
// element of an array.
func change(path string, f func(r *suite.Request, v any) any) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		c := withBody(a, a.Value) // a copy to change
		changeIn(c.Value, strings.Split(path, "."), func(v any) any { return f(r, v) })
		return withBody(c, c.Value)
	}
}

func changeIn(v any, path []string, f func(any) any) {
	switch at := v.(type) {
	case map[string]any:
		if len(path) > 1 {
			changeIn(at[path[0]], path[1:], f)
		} else if n := f(at[path[0]]); n != any(gone) {
			at[path[0]] = n
		} else {
			delete(at, path[0])
		}
	case []any:
		for i := range at {
			if path[0] != "*" && path[0] != strconv.Itoa(i) {
				continue
			}
			if len(path) > 1 {
				changeIn(at[i], path[1:], f)
			} else {
				at[i] = f(at[i])
			}
		}
	}
}

// setHeader sets a header of the answer; an empty value takes it out.
func setHeader(name, value string) spoil {
	return func(_ *suite.Request, a *suite.Answer) *suite.Answer {
		c := *a
		c.Header = a.Header.Clone()
		if c.Header.Set(name, value); value == "" {
			c.Header.Del(name)
		}
		return &c
	}
}

// both spoils an answer by all of these in turn.
func both(s ...spoil) spoil {
	return func(r *suite.Request, a *suite.Answer) *suite.Answer {
		for _, f := range s {
			a = f(r, a)
		}
		return a
	}
}

// withCreates is a rule that knows how the reservation of the request was
// created; nil when the request is about none that was.
func withCreates(f func(r *suite.Request, next server, created *suite.Answer) *suite.Answer) Wrap {
	return remembering(func() rule {
		var creates memory[*suite.Answer]
		return func(r *suite.Request, next server) *suite.Answer {
			created, _ := creates.get(r.Reservation)
			a := f(r, next, created)
			if id := a.Str("reservation_id"); r.Op == suite.Create && id != "" && a.Status == http.StatusOK {
				creates.first(id, &suite.Answer{Request: r, Value: a.Value})
			}
			return a
		}
	})
}

// estimate is what a create asked for.
func estimate(create *suite.Request) int64 {
	v, _ := suite.Lookup(any(create.Body), "estimate.amount")
	n, _ := suite.Integer(v)
	return n
}

// farFuture is an expires_at_ms that no run lives to see.
const farFuture int64 = 4_000_000_000_000
