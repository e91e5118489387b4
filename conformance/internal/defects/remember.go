package defects

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// update changes what is remembered and returns what it is now.
func (m *memory[V]) update(key string, f func(V) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.m == nil {
		m.m = make(map[string]V)
	}
	m.m[key] = f(m.m[key])
	return m.m[key]
}

// count counts one more and returns how many there are now.
func count(m *memory[int], key string) int {
	return m.update(key, func(n int) int { return n + 1 })
}

// identity is what the protocol knows a request with an idempotency key by.
func identity(r *suite.Request) string {
	return fmt.Sprint(r.Header.Get(suite.HeaderKey), " ", r.Method, r.Path, " ", r.Key())
}

// withFirst is a rule that knows the first success of the request's identity,
// nil when there was none.
func withFirst(f func(r *suite.Request, next server, first *suite.Answer) *suite.Answer) Wrap {
	return remembering(func() rule {
		var firsts memory[*suite.Answer]
		return func(r *suite.Request, next server) *suite.Answer {
			first, _ := firsts.get(identity(r))
			a := f(r, next, first)
			if r.Key() != "" && first == nil && a.Status < 300 {
				firsts.first(identity(r), a)
			}
			return a
		}
	})
}

// replays is withFirst for the operations, for requests that were successful
// before.
func replays(w which, f func(r *suite.Request, next server, first *suite.Answer) *suite.Answer) Wrap {
	return withFirst(func(r *suite.Request, next server, first *suite.Answer) *suite.Answer {
		if first == nil || !w(r) {
			return next(r)
		}
		return f(r, next, first)
	})
}

// anew is the request with a key that nothing else has.
func anew(r *suite.Request, serial int) *suite.Request {
	return r.With("idempotency_key", fmt.Sprintf("%s-again-%d", r.Key(), serial))
}

// withSettled is a rule that knows whether the reservation of the request, or
// the one that a create answered, is committed or released.
func withSettled(f func(r *suite.Request, next server, settled func(reservation string) bool) *suite.Answer) Wrap {
	return remembering(func() rule {
		var done memory[bool]
		return func(r *suite.Request, next server) *suite.Answer {
			a := f(r, next, func(id string) bool { is, _ := done.get(id); return is })
			if on(suite.Commit, suite.Release)(r) && a.Status == http.StatusOK {
				done.swap(r.Reservation, true)
			}
			return a
		}
	})
}

// whenAsked picks the requests whose query parameter satisfies is. An absent
// parameter is the empty string, as is a blank one.
func (w which) whenAsked(name string, is func(v string) bool) which {
	return func(r *suite.Request) bool { return w(r) && is(r.Query.Get(name)) }
}

func given(v string) bool { return v != "" }

// ask edits a query parameter that is there.
func askFor(name string, f func(v string) string) edit {
	return func(r *suite.Request) *suite.Request {
		if v := r.Query.Get(name); v != "" {
			return r.WithQuery(name, f(v))
		}
		return r
	}
}

func unasked(names ...string) edit {
	return func(r *suite.Request) *suite.Request {
		for _, name := range names {
			r = r.WithoutQuery(name)
		}
		return r
	}
}

// renamed asks under another name for what is asked.
func renamed(from, to string) edit {
	return func(r *suite.Request) *suite.Request {
		v, there := r.Query[from]
		if !there {
			return r
		}
		c := r.WithoutQuery(from)
		c.Query = url.Values(http.Header(c.Query).Clone())
		c.Query[to] = v
		return c
	}
}

// keep leaves only those elements of an array in the answer.
func keep(path string, is func(r *suite.Request, element map[string]any) bool) spoil {
	return change(path, func(r *suite.Request, v any) any {
		elements, ok := v.([]any)
		if !ok {
			return gone
		}
		return slices.DeleteFunc(slices.Clone(elements), func(e any) bool {
			m, _ := e.(map[string]any)
			return !is(r, m)
		})
	})
}

// refuse answers with that error in place of asking.
func refuse(status int, code string) func(*suite.Request) *suite.Answer {
	return func(*suite.Request) *suite.Answer { return refused(status, code) }
}
