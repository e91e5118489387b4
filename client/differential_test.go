package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cycles-protocol/cycles-go/gen/contract"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// The proof against kin-openapi's built-in visitor, which reads the contract
// and knows nothing of our tables.

// oracle is one proving schema seen from both sides.
type oracle struct {
	name   string
	schema *openapi3.Schema
	bodies int
	ours   func(body []byte) error
	decode func(body []byte) (ours, theirs any, err error)
}

func proving[T any](document *openapi3.T, name string, s *schema[T], bodies int) oracle {
	return oracle{name, document.Components.Schemas[name].Value, bodies, func(body []byte) error {
		_, err := s.prove(body, reading{})
		return err
	}, func(body []byte) (any, any, error) {
		ours, err := s.prove(body, reading{})
		if err != nil {
			return nil, nil, err
		}
		theirs := new(T)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		return ours, theirs, decoder.Decode(theirs)
	}}
}

func oracles(t testing.TB) []oracle {
	document, err := openapi3.NewLoader().LoadFromData(contract.YAML())
	if err != nil {
		t.Fatal(err)
	}
	const many, some = 20_000, 4_000
	return []oracle{
		proving(document, "DecisionResponse", decisionResponse, many),
		proving(document, "ReservationCreateResponse", reservationCreateResponse, many),
		proving(document, "ReservationExtendResponse", reservationExtendResponse, many),
		proving(document, "CommitResponse", commitResponse, many),
		proving(document, "ReleaseResponse", releaseResponse, many),
		proving(document, "EventCreateResponse", eventCreateResponse, many),
		// Only read leniently by the client; the table must still be right.
		proving(document, "ReservationDetail", reservationDetail, some),
		proving(document, "ReservationListResponse", reservationListResponse, some),
		proving(document, "BalanceResponse", balanceResponse, some),
	}
}

// theirs is the visitor's verdict, and whether a number in the body is beyond
// what it can see: it compares through float64.
func (o oracle) theirs(body []byte) (err error, blunt bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err, false
	}
	return o.schema.VisitJSON(value, openapi3.FailFast()), hasBluntNumber(value)
}

func hasBluntNumber(value any) bool {
	switch v := value.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return err != nil || f >= 1<<53 || f <= -1<<53 || f != 0 && f < 1e-9 && f > -1e-9 || f == 0 && strings.ContainsAny(string(v), "123456789")
	case []any:
		for _, item := range v {
			if hasBluntNumber(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasBluntNumber(item) {
				return true
			}
		}
	}
	return false
}

// compare reports a disagreement that is not one of the listed divergences:
// numbers that float64 cannot hold, repeated members, bytes behind the
// document, broken UTF-8, nesting beyond the scanner's limit, and the extension
// of 0.1.26.
func (o oracle) compare(body []byte) (valid bool, disagreement string) {
	ours := o.ours(body)
	theirs, blunt := o.theirs(body)
	switch {
	case (ours == nil) == (theirs == nil):
		return ours == nil, ""
	case ours == nil:
		if blunt || bytes.Contains(body, []byte(denyDetail)) {
			return true, ""
		}
		return true, "we accept, the visitor says: " + theirs.Error()
	}
	document := strictjson.Check(body)
	for _, listed := range []error{strictjson.ErrDuplicate, strictjson.ErrTrailing, strictjson.ErrUTF8, strictjson.ErrDepth} {
		if errors.Is(document, listed) {
			return false, ""
		}
	}
	if blunt && (errors.Is(ours, strictjson.ErrOutOfRange) || errors.Is(ours, strictjson.ErrNotInteger) || errors.Is(ours, errBelowMinimum)) {
		return false, ""
	}
	return false, "the visitor accepts, we say: " + ours.Error()
}

// author writes bodies from a schema of the contract: valid ones, and with a
// chance of spoil per value, ones that break a rule somewhere.
type author struct {
	*rand.Rand
	spoil float64
}

func (a author) body(s *openapi3.Schema) []byte {
	var b bytes.Buffer
	a.value(&b, s)
	return b.Bytes()
}

func (a author) pick(texts ...string) string { return texts[a.IntN(len(texts))] }

func (a author) value(b *bytes.Buffer, s *openapi3.Schema) {
	if a.Float64() < a.spoil {
		b.WriteString(a.pick(`null`, `true`, `0`, `-1`, `1.5`, `1e400`, `9223372036854775808`, `-9223372036854775809`, `""`, `"x"`, `[]`, `{}`,
			`[null]`, `"`+strings.Repeat("é", 300)+`"`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `01`, `tru`, ``, `"ACTIVE"`, `"COMMITTED"`))
		return
	}
	switch {
	case s.Type.Is("object"):
		a.object(b, s)
	case s.Type.Is("array"):
		b.WriteByte('[')
		items := []int{0, 0, 1, 1, 1, 2}[a.IntN(6)]
		if s.MaxItems != nil {
			items = a.pickLength(0, int(*s.MaxItems))
		}
		for i := range items {
			if i > 0 {
				b.WriteByte(',')
			}
			a.value(b, s.Items.Value)
		}
		b.WriteByte(']')
	case s.Type.Is("integer"):
		a.integer(b, s)
	case s.Type.Is("boolean"):
		b.WriteString(a.pick("true", "false"))
	default:
		a.text(b, s)
	}
}

func (a author) object(b *bytes.Buffer, s *openapi3.Schema) {
	b.WriteByte('{')
	first := true
	member := func(name string) {
		if !first {
			b.WriteString(a.pick(",", " ,\n"))
		}
		first = false
		b.WriteString(`"` + name + `":`)
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	if s.AnyOf != nil { // a subject needs one of its levels
		required[s.AnyOf[a.IntN(len(s.AnyOf))].Value.Required[0]] = true
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	a.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		property := s.Properties[name]
		present := required[name] || a.IntN(2) == 0
		if a.Float64() < a.spoil {
			present = !present
		}
		if !present {
			continue
		}
		shown := name
		if a.Float64() < a.spoil {
			shown = strings.ToUpper(name)
		}
		member(shown)
		a.value(b, property.Value)
		if a.Float64() < a.spoil {
			member(name)
			a.value(b, property.Value)
		}
	}
	if a.Float64() < a.spoil {
		member(a.pick("x", "deny_detail", "Status", ""))
		b.WriteString(a.pick("1", "null", `{"a":[]}`))
	}
	switch free := s.AdditionalProperties; {
	case free.Schema != nil:
		most := 4
		if s.MaxProps != nil {
			most = int(*s.MaxProps)
		}
		for i := range a.pickLength(0, most) {
			member("d" + strconv.Itoa(i))
			a.value(b, free.Schema.Value)
		}
	case free.Has != nil && *free.Has, len(s.Properties) == 0:
		for i := range a.IntN(3) {
			member("m" + strconv.Itoa(i))
			b.WriteString(a.pick(`1`, `1.5`, `null`, `"x"`, `[1,{"y":null}]`, `{"z":1e3}`, `9007199254740993`))
		}
	}
	b.WriteByte('}')
}

func (a author) integer(b *bytes.Buffer, s *openapi3.Schema) {
	n := int64(a.Uint64() >> (12 + a.IntN(50)))
	if s.Min == nil && a.IntN(2) == 0 {
		n = -n
	}
	switch a.IntN(8) {
	case 0:
		b.WriteString(strconv.FormatInt(n, 10) + ".0")
	case 1:
		b.WriteString(strconv.FormatInt(n%1000, 10) + a.pick("e0", "e1", "E+2", "e3"))
	case 2:
		b.WriteString(a.pick("0", "-0", "0.0", "1E3", "10e-1", "9223372036854775807"))
	default:
		b.WriteString(strconv.FormatInt(n, 10))
	}
}

func (a author) text(b *bytes.Buffer, s *openapi3.Schema) {
	switch {
	case len(s.Enum) > 0:
		b.WriteString(`"` + s.Enum[a.IntN(len(s.Enum))].(string) + `"`)
	case s.Pattern != "":
		length, _ := strconv.Atoi(strings.Trim(s.Pattern[strings.IndexByte(s.Pattern, '{'):], "{}$"))
		if a.Float64() < a.spoil {
			length += a.IntN(3) - 1
		}
		b.WriteByte('"')
		for range length {
			b.WriteByte("0123456789abcdef"[a.IntN(16)])
		}
		b.WriteByte('"')
	default:
		b.WriteByte('"')
		most := 12
		if s.MaxLength != nil {
			most = int(*s.MaxLength)
		}
		for range a.pickLength(int(s.MinLength), most) {
			b.WriteString(a.pick("a", "Z", "7", "é", "🚀", `\n`, `\u00e9`, `\ud83d\ude80`, " "))
		}
		b.WriteByte('"')
	}
}

// pickLength is mostly short, sometimes right at a limit, and when it may spoil
// one beyond it.
func (a author) pickLength(least, most int) int {
	if a.Float64() < a.spoil {
		return most + 1
	}
	switch a.IntN(12) {
	case 0:
		return least
	case 1:
		return most
	}
	return least + a.IntN(min(most-least, 8)+1)
}

func TestProofAgreesWithAnIndependentValidator(t *testing.T) {
	for _, o := range oracles(t) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			a := author{rand.New(rand.NewPCG(20260711, uint64(len(o.name)))), 0}
			valid := 0
			for i := range o.bodies {
				a.spoil = []float64{0, 0.01, 0.05, 0.3}[i%4]
				body := a.body(o.schema)
				ok, disagreement := o.compare(body)
				if disagreement != "" {
					t.Fatalf("%s\n%s", disagreement, body)
				}
				if ok {
					valid++
				}
			}
			t.Logf("%d of %d valid", valid, o.bodies)
			if valid < o.bodies/4 || valid > o.bodies*9/10 {
				t.Errorf("%d of %d bodies are valid: the corpus is lopsided", valid, o.bodies)
			}
		})
	}
}

// Nothing of a proved answer may be lost on the way to the caller.
func TestProofDecodesLikeEncodingJSON(t *testing.T) {
	for _, o := range oracles(t) {
		a := author{rand.New(rand.NewPCG(7, 11)), 0}
		for range 500 {
			// encoding/json does not take 1e3 for an integer.
			body, err := strictjson.Canonical(a.body(o.schema))
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs, err := o.decode(body)
			if err != nil {
				t.Fatalf("%s: %v\n%s", o.name, err, body)
			}
			if !reflect.DeepEqual(ours, theirs) {
				t.Fatalf("%s: %+v is not %+v\n%s", o.name, ours, theirs, body)
			}
		}
	}
}

// Each listed divergence, so that the list stays true.
func TestWhereTheProofIsStricterThanTheValidator(t *testing.T) {
	o := oracles(t)[2]
	for name, body := range map[string]string{
		"2^63":            `{"status":"ACTIVE","expires_at_ms":9223372036854775808}`,
		"member twice":    `{"status":"ACTIVE","expires_at_ms":1,"expires_at_ms":1}`,
		"trailing bytes":  `{"status":"ACTIVE","expires_at_ms":1}]`,
		"second document": `{"status":"ACTIVE","expires_at_ms":1}{}`,
		"half a fraction": `{"status":"ACTIVE","expires_at_ms":9007199254740993.5}`,
	} {
		if theirs, _ := o.theirs([]byte(body)); theirs != nil {
			t.Errorf("%s: no divergence any more: %v", name, theirs)
		}
		if o.ours([]byte(body)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzProofAgreesWithAnIndependentValidator(f *testing.F) {
	all := oracles(f)
	a := author{rand.New(rand.NewPCG(1, 2)), 0.02}
	for _, o := range all {
		for range 20 {
			f.Add(a.body(o.schema))
		}
	}
	f.Add([]byte(extendSmall))
	f.Add([]byte(extendFull))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, o := range all {
			if _, disagreement := o.compare(body); disagreement != "" {
				t.Errorf("%s: %s\n%q", o.name, disagreement, body)
			}
		}
	})
}
