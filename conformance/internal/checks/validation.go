package checks

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// validation is about requests that break the schema of their operation. Each
// is right but for one thing, and is sent once more without it: a server that
// refuses everything passes nothing here.
func validation() []suite.Check {
	var all []suite.Check
	for _, c := range calls() {
		if c.name == "dry-run" { // the same schema as create
			continue
		}
		all = append(all, malformed(c), trailing(c), blank(c), repeated(c))
		for _, f := range fields(c) {
			all = append(all, f.check(c))
		}
	}
	return append(all, refusedDoesNothing(), longReservationID())
}

// field is one thing that the schema says of a request. Its bad edits make
// requests that have to be refused, its good ones requests at the edge of what
// has to be taken.
type field struct {
	name        string
	level       suite.Level // Must when empty
	lines       []int
	requirement string
	bad, good   []edit
	// uses is the level of a subject that the edits fill. Where the budget sits on
	// it the check is skipped.
	uses string
}

func (f field) check(c call) suite.Check {
	level := f.level
	if level == "" {
		level = suite.Must
	}
	return suite.Check{
		ID:          "validation." + c.name + "-" + f.name,
		Level:       level,
		Section:     schemaOf(c.name),
		Lines:       f.lines,
		Requirement: f.requirement,
		Needs:       []target.Kind{target.Funded},
		Ops:         c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.Funded)
			if _, taken := b.Subject[f.uses]; taken {
				t.Skip("the budget of fixture funded sits on the level %s, which the check needs free", f.uses)
			}
			if len(f.bad) > 0 {
				r := c.ready(ctx, t, b)
				for _, spoil := range f.bad {
					refusedAsInvalid(t, t.Do(ctx, spoil(r.With("idempotency_key", t.Name()))))
				}
				c.stillWorks(ctx, t, r)
			}
			for _, stretch := range f.good {
				c.succeeded(t, t.Do(ctx, stretch(c.ready(ctx, t, b))))
			}
		},
	}
}

func refusedAsInvalid(t *suite.T, a *suite.Answer) {
	t.WantError(a, http.StatusBadRequest, "INVALID_REQUEST")
}

func schemaOf(name string) string {
	return map[string]string{
		"create": "ReservationCreateRequest", "decide": "DecisionRequest", "event": "EventCreateRequest",
		"commit": "CommitRequest", "release": "ReleaseRequest", "extend": "ReservationExtendRequest",
	}[name]
}

// values makes edits that set a member to each of the values.
func values(path string, v ...any) []edit {
	var all []edit
	for _, v := range v {
		all = append(all, with(path, v))
	}
	return all
}

// leftOut makes edits that leave each of the members out.
func leftOut(paths ...string) []edit {
	var all []edit
	for _, path := range paths {
		all = append(all, func(r *suite.Request) *suite.Request { return r.Without(path) })
	}
	return all
}

// bodyLine is where the document says that an operation needs a body.
func bodyLine(name string) int {
	return map[string]int{"create": 1976, "decide": 1909, "event": 2949, "commit": 2430, "release": 2499, "extend": 2727}[name]
}

func malformed(c call) suite.Check {
	return c.refusals("validation."+c.name+"-body", schemaOf(c.name), []int{bodyLine(c.name)},
		"A body that is no JSON, or JSON but no object, or missing altogether, is refused with 400 INVALID_REQUEST.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			whole := text(t, r)
			for _, body := range []string{
				"", "{", "null", "[]", `"x"`, "7", "[" + whole + "]", whole[:len(whole)-1],
				strings.Replace(whole, `{`, `{,`, 1), strings.ReplaceAll(whole, `"`, `'`), whole[:len(whole)-1] + ",}",
			} {
				refusedAsInvalid(t, t.Do(ctx, r.Raw(body)))
			}
		})
}

func trailing(c call) suite.Check {
	return c.refusals("validation."+c.name+"-trailing-bytes", schemaOf(c.name), []int{bodyLine(c.name)},
		"A body with anything behind its object is no JSON document and refused with 400 INVALID_REQUEST.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			for _, tail := range []string{"x", "{}", "}", ",", "\n" + `{"idempotency_key":"other"}`} {
				r := r.With("idempotency_key", t.Name())
				refusedAsInvalid(t, t.Do(ctx, r.Raw(text(t, r)+tail)))
			}
		})
}

func blank(c call) suite.Check {
	return suite.Check{
		ID: "validation." + c.name + "-white-space", Level: suite.Must, Section: schemaOf(c.name), Lines: []int{bodyLine(c.name)},
		Requirement: "White space around the object of a body means nothing.",
		Needs:       []target.Kind{target.Funded}, Ops: c.ops,
		Run: func(ctx context.Context, t *suite.T) {
			r := c.ready(ctx, t, t.Budget(target.Funded))
			c.succeeded(t, t.Do(ctx, r.Raw(" \t\r\n"+text(t, r)+" \n")))
		},
	}
}

func repeated(c call) suite.Check {
	check := c.refusals("validation."+c.name+"-repeated-member", schemaOf(c.name), []int{bodyLine(c.name)},
		"A body in which a member stands twice does not say which one counts and is refused with 400 INVALID_REQUEST.",
		func(ctx context.Context, t *suite.T, r *suite.Request) {
			refusedAsInvalid(t, t.Do(ctx, r.Raw(`{"idempotency_key":"`+t.Name()+`",`+text(t, r)[1:])))
		})
	check.Level = suite.Should
	return check
}

// text is the body of a request as it would be sent.
func text(t *suite.T, r *suite.Request) string {
	body, err := r.Payload()
	t.NoError(err)
	return string(body)
}

// refusedDoesNothing looks at the books around a heap of bad requests.
func refusedDoesNothing() suite.Check {
	return suite.Check{
		ID:          "validation.refused-does-nothing",
		Level:       suite.Must,
		Section:     "CORE INVARIANTS",
		Lines:       []int{59, 1938},
		Requirement: "A request that is refused as invalid leaves the books as they were and the reservation it names open.",
		Needs:       []target.Kind{target.Ledger},
		Ops:         []suite.Op{suite.Create, suite.Commit, suite.Extend, suite.Balances},
		Run: func(ctx context.Context, t *suite.T) {
			b := t.Budget(target.Ledger)
			res := t.Reserve(ctx, b, 2)
			before := t.Books(ctx, b)
			for _, r := range []*suite.Request{
				t.Create(b, 1).With("unknown", 1),
				t.Create(b, 1).With("ttl_ms", 999),
				t.Create(b, 1).Without("action"),
				t.Create(b, -1),
				t.Commit(res, 1).With("unknown", 1),
				t.Commit(res, 1).Without("idempotency_key"),
				t.Commit(res, -1),
				t.Release(res).With("reason", strings.Repeat("r", 257)),
				t.Release(res).With("unknown", 1),
				t.Extend(res, 0),
				t.Extend(res, 1000).With("unknown", 1),
			} {
				refusedAsInvalid(t, t.Do(ctx, r))
			}
			t.WantBooks(ctx, b, before)
			a := t.Do(ctx, t.Commit(res, 2))
			t.WantStatus(a, http.StatusOK)
			t.Want(a, "charged.amount", 2)
		},
	}
}

// longReservationID is about the one member of a path. Nothing with such an id
// can exist, so 404 is as right as 400.
func longReservationID() suite.Check {
	return suite.Check{
		ID:          "validation.reservation-id-length",
		Level:       suite.Must,
		Section:     "ReservationId",
		Lines:       []int{524, 531},
		Requirement: "A reservation id of more than 128 characters is refused with 400 INVALID_REQUEST, or with 404 NOT_FOUND since there is none.",
		Needs:       []target.Kind{target.Funded},
		Ops:         []suite.Op{suite.Create, suite.Commit, suite.Extend},
		Run: func(ctx context.Context, t *suite.T) {
			res := t.Reserve(ctx, t.Budget(target.Funded), 1)
			long := *res
			long.ID = strings.Repeat("r", 129)
			for _, r := range []*suite.Request{t.Commit(&long, 1), t.Release(&long), t.Extend(&long, 1000)} {
				t.WantOneOf(t.Do(ctx, r), suite.ErrorCase{Status: http.StatusBadRequest, Code: "INVALID_REQUEST"},
					suite.ErrorCase{Status: http.StatusNotFound, Code: "NOT_FOUND"})
			}
			t.WantStatus(t.Do(ctx, t.Commit(res, 1)), http.StatusOK)
		},
	}
}

// fields lists what the schema says of the body of an operation.
func fields(c call) []field {
	switch c.name {
	case "create":
		return slices.Concat(common(1174), spend("estimate", 2), lease(), overagePolicy(1221), metadata(1231))
	case "decide":
		return slices.Concat(common(1083), spend("estimate", 2), metadata(1094))
	case "event":
		return slices.Concat(common(1622), spend("actual", 1), overagePolicy(1633), metrics(1649), clientTime(), metadata(1658))
	case "commit":
		return slices.Concat(common(1439), amount("actual", 1), metrics(1456), metadata(1458))
	case "release":
		return slices.Concat(common(1492), reason())
	case "extend":
		return slices.Concat(common(1807), extension(), metadata(1823))
	}
	return nil
}
