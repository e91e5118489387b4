package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// stock is what the target and its provisioner have to offer.
type stock struct {
	a, b       target.Tenant
	adminKey   string
	evidence   bool
	controller target.Controller
	fixtures   []*target.Fixture
	listed     int                      // how many of them the target lists itself; they come first
	used       map[*target.Fixture]bool // exclusive ones that are given away, or were not fresh
}

// provide takes over what the target lists and has the provisioner make what
// the checks need beyond that.
func provide(ctx context.Context, t Target, run string, checks []suite.Check) (*stock, error) {
	s := &stock{a: t.A, b: t.B, adminKey: t.AdminKey, evidence: t.Evidence, controller: t.Controller, used: make(map[*target.Fixture]bool)}
	if c, ok := t.Provisioner.(target.Controller); ok && s.controller == nil {
		s.controller = c
	}
	if err := s.add(t.Fixtures); err != nil {
		return nil, &UsageError{msg: err.Error()}
	}
	s.listed = len(s.fixtures)
	if t.Provisioner == nil {
		return s, nil
	}
	made, err := t.Provisioner.Provision(ctx, target.Wanted{Run: run, Fixtures: missing(s.fixtures, checks)})
	if err == nil && made == nil {
		err = errors.New("the provisioner returned neither a result nor an error")
	}
	if err != nil {
		return nil, &StartError{Doing: "making the fixtures", Err: err}
	}
	if made.A.ID != "" {
		s.a = made.A
	}
	if made.B.ID != "" {
		s.b = made.B
	}
	if made.AdminKey != "" {
		s.adminKey = made.AdminKey
	}
	if err := s.add(made.Fixtures); err != nil {
		return nil, &StartError{Doing: "making the fixtures", Err: err}
	}
	return s, nil
}

// keyed refuses a stock that lacks a key: without that of tenant a nothing can
// be judged, and a fixture without one would turn every check that uses it into
// a 401. It is the caller's mistake unless a provisioner had its say.
func (s *stock) keyed(provisioned bool) error {
	err := s.unkeyed()
	switch {
	case err == nil:
		return nil
	case provisioned:
		return &StartError{Doing: "looking for keys", Err: err}
	default:
		return &UsageError{msg: err.Error()}
	}
}

func (s *stock) unkeyed() error {
	if s.a.APIKey == "" {
		return errors.New("tenant a has no API key: give A.APIKey of the target, on the command line --key-a or CYCLES_KEY_A, or have the provisioner make one")
	}
	for _, f := range s.fixtures {
		switch {
		case f.Tenant.APIKey != "":
		case f.Kind == target.FundedB:
			return fmt.Errorf("fixture %s has no API key: give B.APIKey of the target, on the command line --key-b or CYCLES_KEY_B, or a tenant with a key in the fixture", f.ID)
		default:
			return fmt.Errorf("fixture %s has no API key: its tenant %q needs one", f.ID, f.Tenant.ID)
		}
	}
	return nil
}

// missing lists what the checks need and the stock does not have: one of each
// shared kind, and of the exclusive ones one for each check.
func missing(have []*target.Fixture, checks []suite.Check) []target.Want {
	var want []target.Want
	for _, spec := range target.Catalogue() {
		if spec.Ability {
			continue
		}
		n := 0
		for _, c := range checks {
			if slices.Contains(c.Needs, spec.Kind) {
				n++
			}
		}
		if !spec.Exclusive {
			n = min(n, 1)
		}
		for _, f := range have {
			if f.Kind == spec.Kind {
				n--
			}
		}
		for i := range n {
			id := string(spec.Kind)
			if spec.Exclusive {
				id = fmt.Sprintf("%s-%d", spec.Kind, i+1)
			}
			want = append(want, target.Want{Kind: spec.Kind, ID: id})
		}
	}
	return want
}

// add takes copies of fixtures and completes them.
func (s *stock) add(fixtures []*target.Fixture) error {
	specs := make(map[target.Kind]target.Spec)
	for _, spec := range target.Catalogue() {
		specs[spec.Kind] = spec
	}
	for i, given := range fixtures {
		if given == nil {
			return fmt.Errorf("fixture %d of %d is nil", i+1, len(fixtures))
		}
		spec, ok := specs[given.Kind]
		if !ok || spec.Ability {
			return fmt.Errorf("there is no fixture of kind %q", given.Kind)
		}
		f := *given
		if f.ID == "" {
			f.ID = string(f.Kind)
		}
		if f.Tenant.ID == "" {
			f.Tenant = s.a
			if f.Kind == target.FundedB {
				f.Tenant = s.b
			}
		}
		if len(f.Budgets) != len(spec.Budgets) {
			return fmt.Errorf("fixture %s must have %s and has %d", f.ID, plural(len(spec.Budgets), "%d budget", "%d budgets"), len(f.Budgets))
		}
		f.Budgets = nil
		for i, given := range given.Budgets {
			if given == nil {
				return fmt.Errorf("budget %d of fixture %s is nil", i+1, f.ID)
			}
			b := *given
			b.Tenant = f.Tenant
			if len(b.Subject) == 0 {
				return fmt.Errorf("a budget of fixture %s has no subject", f.ID)
			}
			if !slices.Contains(units, b.Unit) {
				return fmt.Errorf("a budget of fixture %s has unit %q; there are %s", f.ID, b.Unit, strings.Join(units, ", "))
			}
			f.Budgets = append(f.Budgets, &b)
		}
		s.fixtures = append(s.fixtures, &f)
	}
	return nil
}

var units = []string{"USD_MICROCENTS", "TOKENS", "CREDITS", "RISK_POINTS"}

// inspect takes the listed fixtures for exclusive use out of the stock whose
// budgets are not as the target says: an earlier run has used them up. Where
// balances cannot be read that cannot be seen, and none of them is used, since
// a check would blame the server for what an earlier one did.
func (s *stock) inspect(do func(*suite.Request) (*suite.Answer, error), balances bool) error {
	for _, f := range s.fixtures[:s.listed] {
		if !exclusive(f.Kind) {
			continue
		}
		for _, b := range f.Budgets {
			if !balances {
				s.used[f] = true
				continue
			}
			books, found, err := suite.FindBooks(b, do)
			if err != nil {
				return err
			}
			fresh := suite.Books{Remaining: b.Allocated, Allocated: books.Allocated, OverdraftLimit: b.OverdraftLimit, Hides: books.Hides, Complete: books.Complete}
			if !found || books != fresh {
				s.used[f] = true
			}
		}
	}
	return nil
}

// give hands a check what it needs, or names all that is missing and says what
// is the matter with the first of it.
func (s *stock) give(c *suite.Check) (given map[target.Kind]*target.Fixture, lacks []string, reason string) {
	given = make(map[target.Kind]*target.Fixture)
	for _, kind := range c.Needs {
		f, trouble := s.find(kind)
		switch {
		case trouble != "":
			lacks = append(lacks, string(kind))
			reason = cmp.Or(reason, trouble)
		case f != nil:
			given[kind] = f
		}
	}
	if reason != "" {
		return nil, lacks, reason
	}
	for kind, f := range given {
		if exclusive(kind) {
			s.used[f] = true
		}
	}
	return given, nil, ""
}

// find looks for a fixture, of which there is none when kind is an ability.
func (s *stock) find(kind target.Kind) (f *target.Fixture, trouble string) {
	if has, ability := s.able(kind); ability {
		if !has {
			return nil, "the target lacks " + string(kind)
		}
		return nil, ""
	}
	trouble = "the target lacks fixture " + string(kind)
	for _, f := range s.fixtures {
		if f.Kind != kind {
			continue
		}
		if !s.used[f] {
			return f, ""
		}
		trouble = "every fixture " + string(kind) + " is used up"
	}
	return nil, trouble
}

func (s *stock) able(kind target.Kind) (has, ability bool) {
	switch kind {
	case target.TenantB:
		return s.b.APIKey != "", true
	case target.AdminKey:
		return s.adminKey != "", true
	case target.Evidence:
		return s.evidence, true
	case target.CanCloseTenant, target.CanFreeze, target.CanRepayDebt:
		return s.controller != nil && s.controller.Can(kind), true
	default:
		return false, false
	}
}

func exclusive(kind target.Kind) bool {
	i := slices.IndexFunc(target.Catalogue(), func(s target.Spec) bool { return s.Kind == kind })
	return i >= 0 && target.Catalogue()[i].Exclusive
}
