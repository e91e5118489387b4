package mockserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cycles-protocol/cycles-go/gen"
)

// WithConfigFile reads tenants, budgets, policies and faults from a YAML file,
// whose form ConfigTemplate shows. Open returns what is wrong with it, with the
// line.
func WithConfigFile(path string) Option {
	return func(c *config) {
		data, err := os.ReadFile(path)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("mockserver: %w", err))
			return
		}
		c.include(path, data)
	}
}

// WithConfig is WithConfigFile for YAML at hand.
func WithConfig(yaml []byte) Option {
	return func(c *config) { c.include("config", yaml) }
}

func (c *config) include(name string, data []byte) {
	doc, err := parseConfig(data)
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	c.noDefaults = true
	if doc.AdminKey != nil {
		c.adminKey = *doc.AdminKey
	}
	if doc.JournalSize != nil {
		c.journalSize = *doc.JournalSize
	}
	if doc.MaxBody != nil {
		c.maxBody = *doc.MaxBody
	}
	if doc.Clock.Virtual {
		c.virtual = true
		if c.start = doc.Clock.Start; c.start.IsZero() {
			c.start = time.UnixMilli(0)
		}
	}
	c.contents.add(&doc.seedDoc)
}

// configDoc is the configuration file.
type configDoc struct {
	AdminKey    *string `yaml:"admin_key"`
	JournalSize *int    `yaml:"journal_size"`
	MaxBody     *int64  `yaml:"max_body_bytes"`
	Clock       struct {
		Virtual bool      `yaml:"virtual"`
		Start   time.Time `yaml:"start"`
	} `yaml:"clock"`
	seedDoc `yaml:",inline"`
}

// seedDoc is the part of it that can be added to a running server.
type seedDoc struct {
	Tenants []tenantDoc `yaml:"tenants"`
	Faults  []faultDoc  `yaml:"faults"`
}

type tenantDoc struct {
	ID       string       `yaml:"id"`
	Name     string       `yaml:"name"`
	Status   TenantStatus `yaml:"status"`
	Keys     []string     `yaml:"keys"`
	Policy   policyDoc    `yaml:"policy"`
	Budgets  []budgetDoc  `yaml:"budgets"`
	Policies []scopeDoc   `yaml:"policies"`
}

type policyDoc struct {
	leaseDoc `yaml:",inline"`
	MaxGrant duration                `yaml:"max_grant"`
	MaxLead  duration                `yaml:"max_lead"`
	Overage  gen.CommitOveragePolicy `yaml:"overage"`
	Legacy   bool                    `yaml:"legacy"`
}

// leaseDoc is what a tenant's policy and a scope policy have in common.
type leaseDoc struct {
	DefaultTTL    duration `yaml:"default_ttl"`
	MaxTTL        duration `yaml:"max_ttl"`
	MaxExtensions *int     `yaml:"max_extensions"`
}

type budgetDoc struct {
	Scope          string       `yaml:"scope"`
	Unit           gen.UnitEnum `yaml:"unit"`
	Allocated      int64        `yaml:"allocated"`
	OverdraftLimit int64        `yaml:"overdraft_limit"`
	Spent          int64        `yaml:"spent"`
	Debt           int64        `yaml:"debt"`
	OverLimit      bool         `yaml:"over_limit"`
	Status         BudgetStatus `yaml:"status"`
	Caps           *capsDoc     `yaml:"caps"`
}

type scopeDoc struct {
	leaseDoc `yaml:",inline"`
	Name     string   `yaml:"name"`
	Pattern  string   `yaml:"pattern"`
	Priority int      `yaml:"priority"`
	Caps     *capsDoc `yaml:"caps"`
}

type capsDoc struct {
	MaxTokens         *int64   `yaml:"max_tokens"`
	MaxStepsRemaining *int64   `yaml:"max_steps_remaining"`
	ToolAllowlist     []string `yaml:"tool_allowlist"`
	ToolDenylist      []string `yaml:"tool_denylist"`
	CooldownMs        *int64   `yaml:"cooldown_ms"`
}

func (d *capsDoc) caps() *gen.Caps {
	if d == nil {
		return nil
	}
	return &gen.Caps{
		MaxTokens: d.MaxTokens, MaxStepsRemaining: d.MaxStepsRemaining,
		ToolAllowlist: d.ToolAllowlist, ToolDenylist: d.ToolDenylist, CooldownMs: d.CooldownMs,
	}
}

// faultDoc is a Fault in YAML or JSON.
type faultDoc struct {
	ID            string        `yaml:"-" json:"id,omitempty"`
	Kind          FaultKind     `yaml:"kind" json:"kind,omitempty"`
	Operation     Operation     `yaml:"operation" json:"operation,omitempty"`
	ReservationID string        `yaml:"reservation_id" json:"reservation_id,omitempty"`
	Nth           int           `yaml:"nth" json:"nth,omitempty"`
	Count         int           `yaml:"count" json:"count,omitempty"`
	Delay         duration      `yaml:"delay" json:"delay,omitempty"`
	After         bool          `yaml:"after" json:"after,omitempty"`
	Status        int           `yaml:"status" json:"status,omitempty"`
	Code          gen.ErrorCode `yaml:"code" json:"code,omitempty"`
	RetryAfter    string        `yaml:"retry_after" json:"retry_after,omitempty"`
	Body          string        `yaml:"body" json:"body,omitempty"`
	ContentType   string        `yaml:"content_type" json:"content_type,omitempty"`
	Bytes         int           `yaml:"bytes" json:"bytes,omitempty"`
	// Seen is how many calls the fault has selected so far.
	Seen int `yaml:"-" json:"seen,omitempty"`
}

func (d *faultDoc) fault() Fault {
	return Fault{
		Kind: d.Kind, Operation: d.Operation, ReservationID: d.ReservationID, Nth: d.Nth, Count: d.Count,
		Delay: time.Duration(d.Delay), After: d.After, Status: d.Status, Code: d.Code, RetryAfter: d.RetryAfter,
		Body: d.Body, ContentType: d.ContentType, Bytes: d.Bytes,
	}
}

func newFaultDoc(a *armedFault) faultDoc {
	return faultDoc{
		ID: a.id, Kind: a.Kind, Operation: a.Operation, ReservationID: a.ReservationID, Nth: a.Nth, Count: a.Count,
		Delay: duration(a.Delay), After: a.After, Status: a.Status, Code: a.Code, RetryAfter: a.RetryAfter,
		Body: a.Body, ContentType: a.ContentType, Bytes: a.Bytes, Seen: a.seen,
	}
}

// duration is a Go duration such as "1m30s", or a number of milliseconds.
type duration time.Duration

var errDuration = errors.New(`a duration is written like 1m30s or 250ms, or as a number of milliseconds`)

func (d *duration) set(text string) error {
	if v, err := time.ParseDuration(text); err == nil {
		*d = duration(v)
		return nil
	}
	if v, err := time.ParseDuration(text + "ms"); err == nil {
		*d = duration(v)
		return nil
	}
	return errDuration
}

// UnmarshalYAML reads a duration.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || d.set(n.Value) != nil {
		return fmt.Errorf("line %d: %w", n.Line, errDuration)
	}
	return nil
}

// UnmarshalJSON reads a duration.
func (d *duration) UnmarshalJSON(b []byte) error { return d.set(strings.Trim(string(b), `"`)) }

// MarshalJSON writes the Go form.
func (d duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// unknownField is how the YAML package names a member that no struct has.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

func parseConfig(data []byte) (*configDoc, error) {
	doc := &configDoc{}
	return doc, decodeYAML(data, doc)
}

func parseSeed(data []byte) (*seedDoc, error) {
	doc := &seedDoc{}
	return doc, decodeYAML(data, doc)
}

// decodeYAML reads one document, in which every member has to be known. JSON is
// YAML too.
func decodeYAML(data []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		text := unknownField.ReplaceAllString(err.Error(), `there is no setting "$1"`)
		return errors.New(strings.TrimPrefix(text, "yaml: unmarshal errors:\n  "))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("a second document follows the first")
	}
	return nil
}

// add puts what a document describes into contents.
func (c *contents) add(doc *seedDoc) {
	for _, t := range doc.Tenants {
		c.tenants = append(c.tenants, Tenant{ID: t.ID, Name: t.Name, Status: t.Status, Keys: t.Keys, Policy: Policy{
			DefaultTTL: time.Duration(t.Policy.DefaultTTL), MaxTTL: time.Duration(t.Policy.MaxTTL),
			MaxGrant: time.Duration(t.Policy.MaxGrant), MaxLead: time.Duration(t.Policy.MaxLead),
			MaxExtensions: extensions(t.Policy.MaxExtensions), Overage: t.Policy.Overage, Legacy: t.Policy.Legacy,
		}})
		for _, b := range t.Budgets {
			c.budgets = append(c.budgets, Budget{
				Tenant: t.ID, Scope: b.Scope, Unit: b.Unit, Allocated: b.Allocated, OverdraftLimit: b.OverdraftLimit,
				Spent: b.Spent, Debt: b.Debt, OverLimit: b.OverLimit, Status: b.Status, Caps: b.Caps.caps(),
			})
		}
		for _, p := range t.Policies {
			c.policies = append(c.policies, ScopePolicy{
				Tenant: t.ID, Name: p.Name, Pattern: p.Pattern, Priority: p.Priority, Caps: p.Caps.caps(),
				DefaultTTL: time.Duration(p.DefaultTTL), MaxTTL: time.Duration(p.MaxTTL), MaxExtensions: extensions(p.MaxExtensions),
			})
		}
	}
	for i := range doc.Faults {
		c.faults = append(c.faults, doc.Faults[i].fault())
	}
}

// extensions turns a setting, where 0 means none, into a Go field, where 0
// means the default.
func extensions(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return NoExtensions
	}
	return *n
}
