package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

func TestCheckAcceptsExactlyOneStrictDocument(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e-3`, `""`, ` {"a": [1, {"b": null}], "c": "é🚀"} `,
		"\t[\r\n1 ,2\n]\n", `"😀"`, `"\"\\\/\b\f\n\r\t"`, `{"a":{"a":1},"b":{"a":1}}`,
	} {
		assert.NoError(t, strictjson.Check([]byte(doc)), doc)
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		doc  string
		want error
	}{
		{``, strictjson.ErrSyntax}, {` `, strictjson.ErrSyntax}, {`{`, strictjson.ErrSyntax}, {`{"a"}`, strictjson.ErrSyntax},
		{`{"a":}`, strictjson.ErrSyntax}, {`{"a":1,}`, strictjson.ErrSyntax}, {`{,}`, strictjson.ErrSyntax},
		{`[1,]`, strictjson.ErrSyntax}, {`[,1]`, strictjson.ErrSyntax}, {`[1 2]`, strictjson.ErrSyntax}, {`[1}`, strictjson.ErrSyntax},
		{`{1:2}`, strictjson.ErrSyntax}, {`{'a':1}`, strictjson.ErrSyntax}, {`tru`, strictjson.ErrSyntax}, {`nul`, strictjson.ErrSyntax},
		{`falsy`, strictjson.ErrSyntax}, {`NaN`, strictjson.ErrSyntax}, {`01`, strictjson.ErrSyntax}, {`+1`, strictjson.ErrSyntax},
		{`-`, strictjson.ErrSyntax}, {`1.`, strictjson.ErrSyntax}, {`.5`, strictjson.ErrSyntax}, {`1e`, strictjson.ErrSyntax},
		{`1e+`, strictjson.ErrSyntax}, {`-01`, strictjson.ErrSyntax}, {`"`, strictjson.ErrSyntax}, {"\"\n\"", strictjson.ErrSyntax},
		{"\"\\n\x01\"", strictjson.ErrSyntax}, {`"\x"`, strictjson.ErrSyntax}, {`"\u12g4"`, strictjson.ErrSyntax}, {`"\u12`, strictjson.ErrSyntax},
		{`"\`, strictjson.ErrSyntax}, {"\ufeff{}", strictjson.ErrSyntax},
		{"\"\xff\"", strictjson.ErrUTF8}, {"\"\\n\xc3\"", strictjson.ErrUTF8}, {"{\"\xff\":1}", strictjson.ErrUTF8},
		{`"\ud800"`, strictjson.ErrUTF8}, {`"\ud800A"`, strictjson.ErrUTF8}, {`"\udc00\ud800"`, strictjson.ErrUTF8},
		{`{"a":1,"a":1}`, strictjson.ErrDuplicate}, {`{"a":1,"\u0061":2}`, strictjson.ErrDuplicate},
		{`[{"x":{"b":1,"c":2,"b":3}}]`, strictjson.ErrDuplicate},
		{`{} {}`, strictjson.ErrTrailing}, {`1 x`, strictjson.ErrTrailing}, {`{}]`, strictjson.ErrTrailing}, {"{}\x00", strictjson.ErrTrailing},
		{nested(strictjson.MaxDepth + 1), strictjson.ErrDepth}, {strings.Repeat("[", 100_000), strictjson.ErrDepth},
		{strings.Repeat(`{"a":`, 10_000), strictjson.ErrDepth},
	} {
		err := strictjson.Check([]byte(c.doc))
		name := c.doc[:min(len(c.doc), 40)]
		require.ErrorIs(t, err, c.want, name)
		var e *strictjson.Error
		require.ErrorAs(t, err, &e)
		assert.LessOrEqual(t, e.Offset, len(c.doc), name)
	}
	require.NoError(t, strictjson.Check([]byte(nested(strictjson.MaxDepth))))
}

func TestErrorsNeverRepeatTheInput(t *testing.T) {
	for _, doc := range []string{`{"secret":secret}`, `{"secret":1,"secret":2}`, `"secret`, `{} secret`, `{"secret" "secret"}`, `"secret\x"`} {
		err := strictjson.Check([]byte(doc))
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestManyKeysAreComparedAsWellAsFew(t *testing.T) {
	object := func(n int, extra string) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return []byte("{" + b.String() + extra + ":0}")
	}
	for _, n := range []int{1, 7, 8, 9, 100} {
		require.NoError(t, strictjson.Check(object(n, `"other"`)), n)
		for _, again := range []int{0, n / 2, n - 1} {
			require.ErrorIs(t, strictjson.Check(object(n, fmt.Sprintf(`"k%d"`, again))), strictjson.ErrDuplicate, "%d of %d", again, n)
		}
	}
}

func TestInt64TakesEverySpellingOfAnInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e999999999999999999999": 0, "7": 7, "-7": -7, "1.0": 1, "1e3": 1000, "1.5e1": 15, "1E+2": 100,
		"100e-2": 1, "1000000000000000000000e-3": 1000000000000000000, "0.00001e5": 1,
		"999999999999999999": 999999999999999999, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"9223372036854775807.000": math.MaxInt64, "922337203685477580.7e1": math.MaxInt64, "-9.223372036854775808e18": math.MinInt64,
	} {
		s := strictjson.New([]byte(text))
		got, err := s.Int64()
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		assert.NoError(t, s.End(), text)
	}
}

func TestInt64RefusesTheRest(t *testing.T) {
	for text, want := range map[string]error{
		"1.5": strictjson.ErrNotInteger, "1e-1": strictjson.ErrNotInteger, "0.1": strictjson.ErrNotInteger, "1e-400000000": strictjson.ErrNotInteger,
		"9223372036854775808": strictjson.ErrOutOfRange, "-9223372036854775809": strictjson.ErrOutOfRange, "1e19": strictjson.ErrOutOfRange,
		"1e400000000": strictjson.ErrOutOfRange, "1e99999999999999999999999": strictjson.ErrOutOfRange, "18446744073709551617": strictjson.ErrOutOfRange,
		"99999999999999999999": strictjson.ErrOutOfRange,
		`"1"`:                  strictjson.ErrType, "true": strictjson.ErrType, "null": strictjson.ErrType, "{}": strictjson.ErrType,
		"": strictjson.ErrSyntax, "01": strictjson.ErrSyntax, "--1": strictjson.ErrSyntax, "x": strictjson.ErrSyntax,
	} {
		s := strictjson.New([]byte(text))
		_, err := s.Int64()
		require.ErrorIs(t, err, want, text)
	}
}

func TestInt64AgreesWithExactArithmeticOnRandomSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789"[r.IntN(10)]
		}
		return string(b)
	}
	integers := 0
	for range 20_000 {
		text := strings.TrimLeft(digits(1+r.IntN(21)), "0")
		if text == "" {
			text = "0"
		}
		if r.IntN(2) == 0 {
			text += "." + strings.Repeat("0", r.IntN(3)) + digits(1+r.IntN(3))
		}
		if r.IntN(2) == 0 {
			text += fmt.Sprintf("e%+d", r.IntN(30)-10)
		}
		if r.IntN(2) == 0 {
			text = "-" + text
		}
		exact, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		s := strictjson.New([]byte(text))
		got, err := s.Int64()
		switch {
		case !exact.IsInt():
			require.ErrorIs(t, err, strictjson.ErrNotInteger, text)
		case !exact.Num().IsInt64():
			require.ErrorIs(t, err, strictjson.ErrOutOfRange, text)
		default:
			require.NoError(t, err, text)
			require.Equal(t, exact.Num().Int64(), got, text)
			integers++
		}
	}
	assert.Greater(t, integers, 2_000, "the generator must hit integers often enough")
}

func TestAnyKeepsEveryDigit(t *testing.T) {
	s := strictjson.New([]byte(`{"n":9007199254740993,"f":0.10,"s":"A","l":[true,null,{}],"e":[]}`))
	v, err := s.Any()
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"n": json.Number("9007199254740993"), "f": json.Number("0.10"), "s": "A", "l": []any{true, nil, map[string]any{}}, "e": []any{},
	}, v)
}

func TestCanonicalGivesEqualBytesForEqualMeaning(t *testing.T) {
	for _, group := range [][]string{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `, `{"b":[true,null],"\u0061":1.0}`},
		{`1000`, `1e3`, `1000.0`, `0.1e4`, `100000e-2`},
		{`0`, `-0`, `0.0`, `0e5`},
		{`0.1`, `0.10`, `1e-1`, `100e-3`},
		{`"\u00e9/\n"`, `"é\/\u000a"`},
		{`9007199254740993`, `9007199254740993.0`, `9.007199254740993e15`},
	} {
		want, err := strictjson.Canonical([]byte(group[0]))
		require.NoError(t, err)
		for _, doc := range group[1:] {
			got, err := strictjson.Canonical([]byte(doc))
			require.NoError(t, err, doc)
			assert.Equal(t, string(want), string(got), doc)
		}
	}
}

func TestCanonicalKeepsDifferentMeaningsApart(t *testing.T) {
	docs := []string{
		`9007199254740993`, `9007199254740992`, `"1"`, `1`, `true`, `null`, `[]`, `{}`, `""`, `[1,2]`, `[2,1]`, `{"a":null}`, `-1`,
		`1.5`, `15`, `0.15`, `9223372036854775807`, `9223372036854775806`, `{"a":{"b":1}}`, `{"a":1,"b":1}`, `1e22`, `1e23`,
	}
	seen := map[string]string{}
	for _, doc := range docs {
		got, err := strictjson.Canonical([]byte(doc))
		require.NoError(t, err)
		require.Empty(t, seen[string(got)], "%s and %s", doc, seen[string(got)])
		seen[string(got)] = doc
	}
}

func TestCanonicalFollowsTheOrderAndLayoutOfRFC8785(t *testing.T) {
	for doc, want := range map[string]string{
		// The order of UTF-16 code units puts a surrogate pair before U+FB33, the order of bytes behind it.
		`{"\ufb33":1,"\ud83d\ude00":2,"1":3,"\r":4,"ö":5,"€":6,"\u0080":7}`: "{\"\\r\":4,\"1\":3,\"\u0080\":7,\"ö\":5,\"€\":6,\"😀\":2,\"\ufb33\":1}",
		`{"aa":1,"a":2,"":3}`:    `{"":3,"a":2,"aa":1}`,
		`"\u0001\u001f\b\f\"\\"`: `"\u0001\u001f\b\f\"\\"`,
		`1e21`:                   `1e+21`, `1e20`: `100000000000000000000`, `0.000001`: `0.000001`, `0.0000001`: `1e-7`, `123e-9`: `1.23e-7`, `-12.50`: `-12.5`,
	} {
		got, err := strictjson.Canonical([]byte(doc))
		require.NoError(t, err, doc)
		assert.Equal(t, want, string(got), doc)
	}
}

func TestRawReturnsTheValueAndNothingElse(t *testing.T) {
	s := strictjson.New([]byte(`[ {"a" : 1} , "x" ]`))
	require.NoError(t, s.OpenArray())
	var got []string
	for {
		ok, err := s.NextElement()
		require.NoError(t, err)
		if !ok {
			break
		}
		raw, err := s.Raw()
		require.NoError(t, err)
		got = append(got, string(raw))
	}
	assert.Equal(t, []string{`{"a" : 1}`, `"x"`}, got)
	assert.NoError(t, s.End())
}

// FuzzCheck holds Check against encoding/json: what Check passes is valid
// there, and what it refuses although encoding/json takes it is refused for
// one of the reasons this package exists for.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u00e9"],"b":null}`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `[[[[]]]]`, `-0.0e-7`, `{} `, `"\ud83d\ude00"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := strictjson.Check(data)
		if valid := json.Valid(data); err == nil && !valid {
			t.Fatalf("accepted %q", data)
		} else if err != nil && valid && !errors.Is(err, strictjson.ErrUTF8) && !errors.Is(err, strictjson.ErrDuplicate) && !errors.Is(err, strictjson.ErrDepth) {
			t.Fatalf("refused %q: %v", data, err)
		}
		canonical, cerr := strictjson.Canonical(data)
		if (err == nil) != (cerr == nil) {
			t.Fatalf("Check says %v, Canonical says %v of %q", err, cerr, data)
		}
		if err != nil {
			return
		}
		again, cerr := strictjson.Canonical(canonical)
		if cerr != nil || string(again) != string(canonical) {
			t.Fatalf("canonical form of %q is not stable: %q, %q, %v", data, canonical, again, cerr)
		}
		s := strictjson.New(data)
		v, aerr := s.Any()
		if aerr != nil || s.End() != nil {
			t.Fatalf("Any refuses %q: %v", data, aerr)
		}
		if back, merr := json.Marshal(v); merr != nil {
			t.Fatal(merr)
		} else if same, _ := strictjson.Canonical(back); string(same) != string(canonical) {
			t.Fatalf("%q lost something on the way through Any: %q", data, back)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	doc := []byte(`{"status":"ACTIVE","expires_at_ms":1735689600000,"remaining_ttl_ms":60000}`)
	b.Run("strict", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := strictjson.Check(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("yardstick=json.Valid", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !json.Valid(doc) {
				b.Fatal("invalid")
			}
		}
	})
}
