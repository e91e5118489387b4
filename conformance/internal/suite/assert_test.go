package suite

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func said(status int, body string) *Answer {
	a := &Answer{Status: status, Body: []byte(body), Header: http.Header{"X-Some": {"thing"}}, Exchange: 3}
	a.Decode()
	return a
}

// ends tells how f ended the check, with nil for not at all.
func ends(level Level, f func(t *T)) (v *verdict) {
	defer func() {
		if p := recover(); p != nil {
			got := p.(verdict)
			v = &got
		}
	}()
	t := newT()
	t.check.Level = level
	f(t)
	return nil
}

const body = `{"decision":"DENY","reason_code":"X","n":7e0,"big":9223372036854775807,"s":"","no":null,"yes":true,"list":[{"a":1}],"error":"NOT_FOUND"}`

func TestComparisonsThatHoldLetTheCheckGoOn(t *testing.T) {
	a := said(200, body)
	for name, f := range map[string]func(t *T){
		"status":         func(t *T) { t.WantStatus(a, 200) },
		"error":          func(t *T) { t.WantError(said(404, body), 404, "NOT_FOUND") },
		"one of":         func(t *T) { t.WantOneOf(said(404, body), ErrorCase{403, "FORBIDDEN"}, ErrorCase{404, "NOT_FOUND"}) },
		"integer":        func(t *T) { t.Want(a, "n", 7) },
		"long integer":   func(t *T) { t.Want(a, "big", int64(9223372036854775807)) },
		"bool":           func(t *T) { t.Want(a, "yes", true) },
		"string":         func(t *T) { t.Want(a, "decision", "DENY") },
		"nested":         func(t *T) { t.Want(a, "list.0.a", 1) },
		"absent":         func(t *T) { t.WantAbsent(a, "nothing") },
		"null is absent": func(t *T) { t.WantAbsent(a, "no") },
		"denied":         func(t *T) { t.WantDenied(a, "X") },
		"header":         func(t *T) { t.WantHeader(a, "x-some", "thing") },
		"same": func(t *T) {
			t.WantSame(a, said(200, `{"decision":"DENY","reason_code":"X","n":7,"big":9223372036854775807,"s":"","no":null,"yes":true,"list":[{"a":1.0}],"error":"NOT_FOUND"}`))
		},
		"same but": func(t *T) { t.WantSame(said(200, `{"a":1,"b":2}`), said(200, `{"a":1,"b":3,"c":4}`), "b", "c") },
		"true":     func(t *T) { t.True(a, true, "", "") },
		"given":    func(t *T) { t.Given(a, 200) },
		"allowed":  func(t *T) { t.WantAllowed(said(200, `{"decision":"ALLOW_WITH_CAPS"}`)) },
		"no error": func(t *T) { t.NoError(nil) },
	} {
		assert.Nil(t, ends(Must, f), name)
	}
}

func TestComparisonsThatDoNotHoldSayBothSides(t *testing.T) {
	a := said(200, body)
	for name, c := range map[string]struct {
		f             func(t *T)
		expected, got string
	}{
		"status":           {func(t *T) { t.WantStatus(said(500, "oops"), 200) }, "200 OK", "500 Internal Server Error with oops"},
		"empty":            {func(t *T) { t.WantStatus(said(500, ""), 200) }, "200 OK", "500 Internal Server Error with an empty body"},
		"right code only":  {func(t *T) { t.WantError(said(409, `{"error":"NOT_FOUND","message":"m"}`), 404, "NOT_FOUND") }, "404 NOT_FOUND", "409 NOT_FOUND (m)"},
		"right status":     {func(t *T) { t.WantError(said(404, `{"error":"FORBIDDEN"}`), 404, "NOT_FOUND") }, "404 NOT_FOUND", "404 FORBIDDEN ()"},
		"one of":           {func(t *T) { t.WantOneOf(said(404, `{}`), ErrorCase{403, "FORBIDDEN"}, ErrorCase{404, "NOT_FOUND"}) }, "403 FORBIDDEN or 404 NOT_FOUND", "404 Not Found with {}"},
		"member":           {func(t *T) { t.Want(a, "n", 8) }, "n is 8", "n is 7e0"},
		"off by one":       {func(t *T) { t.Want(a, "big", int64(9223372036854775806)) }, "big is 9223372036854775806", "big is 9223372036854775807"},
		"another type":     {func(t *T) { t.Want(said(200, `{"n":"7"}`), "n", 7) }, "n is 7", `n is "7"`},
		"member absent":    {func(t *T) { t.Want(a, "x.y", 8) }, "x.y is 8", "x.y is absent"},
		"not absent":       {func(t *T) { t.WantAbsent(a, "n") }, "n is absent", "n is 7e0"},
		"empty string":     {func(t *T) { t.WantString(a, "s") }, "s is a string", `s is ""`},
		"string absent":    {func(t *T) { t.WantString(a, "gone") }, "gone is a string", "gone is absent"},
		"integer absent":   {func(t *T) { t.WantInt(a, "gone") }, "gone is an integer", "gone is absent"},
		"integer null":     {func(t *T) { t.WantInt(a, "no") }, "no is an integer", "no is null"},
		"no integer":       {func(t *T) { t.WantInt(said(200, `{"n":1.5}`), "n") }, "n is an integer", "n is 1.5"},
		"not denied":       {func(t *T) { t.WantDenied(said(200, `{"decision":"ALLOW"}`), "X") }, `decision is "DENY"`, `decision is "ALLOW"`},
		"denied otherwise": {func(t *T) { t.WantDenied(a, "Y") }, `reason_code is "Y"`, `reason_code is "X"`},
		"not allowed":      {func(t *T) { t.WantAllowed(a) }, "decision is ALLOW or ALLOW_WITH_CAPS", `decision is "DENY"`},
		"header":           {func(t *T) { t.WantHeader(a, "X-Other", "v") }, `header X-Other is "v"`, `header X-Other is ""`},
		"other status":     {func(t *T) { t.WantSame(said(200, `{}`), said(201, `{}`)) }, "the first answer again, 200 OK", "201 Created with {}"},
		"other body":       {func(t *T) { t.WantSame(said(200, `{"a":[{"b":1}]}`), said(200, `{"a":[{"b":2}]}`)) }, "the first answer again, with a.0.b as 1", "a.0.b is 2"},
		"member gone":      {func(t *T) { t.WantSame(said(200, `{"a":1}`), said(200, `{}`)) }, "the first answer again, with a as 1", "a is absent"},
		"member new":       {func(t *T) { t.WantSame(said(200, `{}`), said(200, `{"a":1}`)) }, "the first answer again, with a as absent", "a is 1"},
		"not true":         {func(t *T) { t.True(a, false, "less than 3", "%d", 4) }, "less than 3", "4"},
		"said so":          {func(t *T) { t.FailAt(a, "this", "that") }, "this", "that"},
	} {
		t.Run(name, func(t *testing.T) {
			v := ends(Must, c.f)
			if assert.NotNil(t, v, "it held") {
				assert.Equal(t, Failed, v.outcome)
				assert.Equal(t, c.expected, v.expected)
				assert.Equal(t, c.got, v.got)
			}
			assert.Equal(t, Warned, ends(Should, c.f).outcome)
		})
	}
}

func TestAbsentNullIsNotTheSameAsNull(t *testing.T) {
	v := ends(Must, func(t *T) { t.WantSame(said(200, `{"a":null}`), said(200, `{}`)) })
	assert.NotNil(t, v)
}

func TestGroundThatIsMissingIsNoVerdict(t *testing.T) {
	v := ends(Must, func(t *T) { t.Given(said(500, "oops"), 200) })
	assert.Equal(t, Errored, v.outcome)
	assert.Equal(t, 3, v.at)
	assert.Equal(t, Errored, ends(Must, func(t *T) { t.NoError(assert.AnError) }).outcome)
	assert.Equal(t, Skipped, ends(Must, func(t *T) { t.Skip("no") }).outcome)
}

func TestLongAnswersAreQuotedInPart(t *testing.T) {
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = 'x'
	}
	assert.Less(t, len(Describe(said(500, string(long)))), 400)
}
