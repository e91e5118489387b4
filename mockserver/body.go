package mockserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// bodyReader reads a request body by the rules of its schema. Its errors are
// problems that say which member broke which rule.
type bodyReader struct {
	scan strictjson.Scanner
	path string // of the object that is read, with a dot behind it
}

// shape is the members of an object: those that are required come first.
type shape struct {
	required int
	names    []string
	// open: other members are allowed, and ignored.
	open bool
}

// object reads an object. member reads the value of one of its members. A null
// counts as absent.
func (r *bodyReader) object(s *shape, member func(name string) error) error {
	if err := r.scan.OpenObject(); err != nil {
		return r.malformed(err)
	}
	var seen uint32
	for {
		key, ok, err := r.scan.NextMember()
		if err != nil {
			return r.malformed(err)
		}
		if !ok {
			break
		}
		i := slices.IndexFunc(s.names, func(name string) bool { return name == string(key) })
		if i < 0 && s.open {
			if err := r.scan.Skip(); err != nil {
				return r.malformed(err)
			}
			continue
		}
		if i < 0 {
			return r.invalid(fmt.Sprintf("%.64q", key), "is not a member of this object")
		}
		if seen&(1<<i) != 0 {
			return r.invalid(s.names[i], "is there twice")
		}
		seen |= 1 << i
		if r.scan.Kind() == strictjson.Null {
			if err := r.scan.Null(); err != nil {
				return r.malformed(err)
			}
			if i < s.required {
				return r.invalid(s.names[i], "is required")
			}
			continue
		}
		if err := member(s.names[i]); err != nil {
			return err
		}
	}
	for i, name := range s.names[:s.required] {
		if seen&(1<<i) == 0 {
			return r.invalid(name, "is required")
		}
	}
	return nil
}

// within reads an object that is a member.
func (r *bodyReader) within(name string, s *shape, member func(name string) error) error {
	outer := r.path
	r.path += name + "."
	err := r.object(s, member)
	r.path = outer
	return err
}

// decode reads a body that is one such object.
func decode(body []byte, s *shape, member func(r *bodyReader, name string) error) error {
	r := bodyReader{scan: strictjson.New(body)}
	if err := r.object(s, func(name string) error { return member(&r, name) }); err != nil {
		return err
	}
	if err := r.scan.End(); err != nil {
		return r.malformed(err)
	}
	return nil
}

func (r *bodyReader) malformed(err error) error {
	return invalidRequest("Malformed request body: %v", err)
}

func (r *bodyReader) invalid(name, rule string) error {
	return invalidRequest("Validation failed: %s%s: %s", r.path, name, rule)
}

// text reads a string of lo to hi characters.
func (r *bodyReader) text(name string, lo, hi int, into *string) error {
	b, err := r.scan.Text()
	if err != nil {
		return r.malformed(err)
	}
	if n := utf8.RuneCount(b); n < lo || n > hi {
		return r.invalid(name, fmt.Sprintf("has to have %d to %d characters", lo, hi))
	}
	*into = string(b)
	return nil
}

// integer reads a number without a fraction, within lo and hi.
func (r *bodyReader) integer(name string, lo, hi int64, into *int64) error {
	n, err := r.scan.Int64()
	if err != nil {
		return r.malformed(err)
	}
	if n < lo || n > hi {
		return r.invalid(name, fmt.Sprintf("has to be between %d and %d", lo, hi))
	}
	*into = n
	return nil
}

// optional reads an integer of which it matters whether it is there.
func (r *bodyReader) optional(name string, lo, hi int64, into **int64) error {
	*into = new(int64)
	return r.integer(name, lo, hi, *into)
}

// dateTime reads an instant, in milliseconds.
func (r *bodyReader) dateTime(name string, into *int64) error {
	b, err := r.scan.Text()
	if err != nil {
		return r.malformed(err)
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return r.invalid(name, "has to be a date-time such as 2026-01-31T12:00:00Z")
	}
	*into = t.UnixMilli()
	return nil
}

func (r *bodyReader) boolean(into *bool) error {
	v, err := r.scan.Bool()
	if err != nil {
		return r.malformed(err)
	}
	*into = v
	return nil
}

// oneOf reads one of the values of an enum.
func oneOf[T ~string](r *bodyReader, name string, values []T, into *T) error {
	b, err := r.scan.Text()
	if err != nil {
		return r.malformed(err)
	}
	for _, v := range values {
		if string(b) == string(v) {
			*into = v
			return nil
		}
	}
	return r.invalid(name, "is not one of the values of the enum")
}

// anyObject reads an object whose members are free, and keeps a copy of it.
func (r *bodyReader) anyObject(into *json.RawMessage) error {
	if r.scan.Kind() != strictjson.Object {
		// Lets the scanner name what is there instead.
		return r.malformed(r.scan.OpenObject())
	}
	raw, err := r.scan.Raw()
	if err != nil {
		return r.malformed(err)
	}
	*into = bytes.Clone(raw)
	return nil
}

// ignoredObject checks an object that nothing is done with.
func (r *bodyReader) ignoredObject() error {
	var ignored json.RawMessage
	return r.anyObject(&ignored)
}

// texts reads an array of at most most strings of at most hi characters.
func (r *bodyReader) texts(name string, most, hi int, into *[]string) error {
	if err := r.scan.OpenArray(); err != nil {
		return r.malformed(err)
	}
	out := []string{}
	for {
		ok, err := r.scan.NextElement()
		if err != nil {
			return r.malformed(err)
		}
		if !ok {
			*into = out
			return nil
		}
		if len(out) == most {
			return r.invalid(name, fmt.Sprintf("has more than %d items", most))
		}
		var item string
		if err := r.text(name, 0, hi, &item); err != nil {
			return err
		}
		out = append(out, item)
	}
}

var amountShape = shape{required: 2, names: []string{"unit", "amount"}}

func (r *bodyReader) amount(name string, unit *gen.UnitEnum, amount *int64) error {
	return r.within(name, &amountShape, func(member string) error {
		if member == "unit" {
			return oneOf(r, member, units, unit)
		}
		return r.integer(member, 0, math.MaxInt64, amount)
	})
}

// The limits of the schemas.
const (
	maxKeyLength       = 256
	maxKindLength      = 64
	maxNameLength      = 256
	maxTags            = 10
	maxTagLength       = 64
	maxDimensions      = 16
	maxDimensionLength = 256
	maxReasonLength    = 256
	maxModelLength     = 128
	minTTL, maxTTL     = 1_000, 86_400_000
	maxGrace           = 60_000
	defaultGrace       = 5_000
	minExtend          = 1
	maxExtend          = 86_400_000
	maxIDLength        = 128
)

var units = []gen.UnitEnum{
	gen.UnitEnumUSDMicrocents, gen.UnitEnumTokens, gen.UnitEnumCredits, gen.UnitEnumRiskPoints,
}

var overagePolicies = []gen.CommitOveragePolicy{
	gen.CommitOveragePolicyAllowIfAvailable,
	gen.CommitOveragePolicyReject,
	gen.CommitOveragePolicyAllowWithOverdraft,
}
