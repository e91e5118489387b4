package defects

import (
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

func auth() []Defect {
	return []Defect{
		{
			ID:    "auth.forbidden-for-unauthorized",
			About: "a key that is missing or not known is answered 403 FORBIDDEN",
			Fails: []string{"auth.no-key-*", "auth.unknown-key-*", "auth.revoked-key", "auth.admin-key-shut-*", "auth.wrong-admin-key"},
			Wrap:  after(every, whenRefused(401, "UNAUTHORIZED", refusal(403, "FORBIDDEN"))),
		},
		{
			ID:    "auth.key-not-needed",
			About: "a request without a key is answered as if it had the last one that worked",
			Fails: []string{"auth.no-key-commit", "auth.no-key-release", "auth.no-key-extend", "auth.no-key-get", "auth.no-key-list"},
			Wrap:  impersonating(func(key, _ string) bool { return key == "" }),
		},
		{
			ID:    "auth.key-by-prefix",
			About: "the last character of a key is not compared, and more may follow",
			Fails: []string{"auth.unknown-key-commit", "auth.unknown-key-release", "auth.unknown-key-extend", "auth.unknown-key-get", "auth.unknown-key-list"},
			Wrap: impersonating(func(key, last string) bool {
				return last != "" && strings.HasPrefix(key, last[:len(last)-1])
			}),
		},
		{
			ID:    "auth.revoked-key-works",
			About: "a key that is not known any more is taken for the last one that worked",
			Fails: []string{"auth.revoked-key"},
			Wrap:  impersonating(func(key, _ string) bool { return strings.HasPrefix(key, "revoked") }),
		},
		{
			ID:    "auth.acts-while-refusing",
			About: "a request whose key is missing or not known is answered 401, but done",
			Fails: []string{"auth.no-key-commit", "auth.no-key-release", "auth.unknown-key-commit", "auth.unknown-key-release", "auth.wrong-admin-key"},
			Wrap: withLastKey(func(r *suite.Request, next server, last string) *suite.Answer {
				a := next(r)
				if a.Status == http.StatusUnauthorized && last != "" {
					next(r.WithoutKey().WithKey(last))
				}
				return a
			}),
		},
		{
			ID:    "auth.admin-key-opens-all",
			About: "the operator's key is taken in place of a tenant's everywhere",
			Fails: []string{"auth.admin-key-shut-commit", "auth.admin-key-shut-extend"},
			Wrap: impersonatingWhen(func(r *suite.Request, _ string) bool {
				return r.Header.Get(suite.HeaderAdminKey) != ""
			}),
		},
		{
			ID:    "auth.any-admin-key",
			About: "any operator's key will do",
			Fails: []string{"auth.wrong-admin-key"},
			Wrap: impersonatingWhen(func(r *suite.Request, _ string) bool {
				return on(suite.List, suite.Get, suite.Release)(r) && r.Header.Get(suite.HeaderAdminKey) != ""
			}),
		},
		{
			ID:    "auth.admin-list-of-another",
			About: "the tenant parameter of a listing with the operator's key is looked at the first time only",
			Fails: []string{"auth.admin-list"},
			Wrap: remembering(func() rule {
				var tenants memory[string]
				return func(r *suite.Request, next server) *suite.Answer {
					if asAdmin(suite.List)(r) {
						tenant, _ := tenants.first("", r.Query.Get("tenant"))
						r = r.WithQuery("tenant", tenant)
					}
					return next(r)
				}
			}),
		},
		{
			ID:    "auth.admin-list-without-tenant",
			About: "a listing with the operator's key and without a tenant is empty in place of a refusal",
			Fails: []string{"auth.admin-list-without-tenant"},
			Wrap: after(asAdmin(suite.List), whenRefused(400, "INVALID_REQUEST", success(func(*suite.Request) map[string]any {
				return map[string]any{"reservations": []any{}, "has_more": false}
			}))),
		},
		{
			ID:    "auth.admin-cannot-read",
			About: "the operator's key does not open get",
			Fails: []string{"auth.admin-get"},
			Wrap:  instead(asAdmin(suite.Get), func(*suite.Request) *suite.Answer { return refused(401, "UNAUTHORIZED") }),
		},
		{
			ID:    "auth.admin-cannot-release",
			About: "the operator's key does not open release",
			Fails: []string{"auth.admin-release"},
			Wrap:  instead(asAdmin(suite.Release), func(*suite.Request) *suite.Answer { return refused(403, "FORBIDDEN") }),
		},
		{
			ID:    "auth.admin-release-does-nothing",
			About: "a release with the operator's key is answered 200 and not done",
			Fails: []string{"auth.admin-release"},
			Wrap: instead(asAdmin(suite.Release), func(*suite.Request) *suite.Answer {
				return ok(map[string]any{"status": "RELEASED", "released": suite.Amount("USD_MICROCENTS", 3)})
			}),
		},
	}
}

func asAdmin(ops ...suite.Op) which {
	return func(r *suite.Request) bool { return on(ops...)(r) && r.Header.Get(suite.HeaderAdminKey) != "" }
}

// withLastKey is a rule that knows the last tenant's key that worked.
func withLastKey(f func(r *suite.Request, next server, last string) *suite.Answer) Wrap {
	return remembering(func() rule {
		var keys memory[string]
		return func(r *suite.Request, next server) *suite.Answer {
			last, _ := keys.get("")
			a := f(r, next, last)
			if key := r.Header.Get(suite.HeaderKey); key != "" && a.Status < 300 {
				keys.swap("", key)
			}
			return a
		}
	})
}

// impersonating uses the last key that worked for the keys that it picks when
// they are refused.
func impersonating(picks func(key, last string) bool) Wrap {
	return impersonatingWhen(func(r *suite.Request, last string) bool {
		return picks(r.Header.Get(suite.HeaderKey), last) && r.Header.Get(suite.HeaderAdminKey) == ""
	})
}

func impersonatingWhen(picks func(r *suite.Request, last string) bool) Wrap {
	return withLastKey(func(r *suite.Request, next server, last string) *suite.Answer {
		a := next(r)
		if a.Status == http.StatusUnauthorized && last != "" && picks(r, last) {
			return next(r.WithoutKey().WithKey(last))
		}
		return a
	})
}
