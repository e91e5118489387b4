package target

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is a target as it is written down, in YAML or, since JSON is YAML, in
// JSON. Any value may hold ${NAME}, which stands for an environment variable,
// so that keys need not be in the file.
type File struct {
	Implementation struct {
		Name    string `yaml:"name"`
		Version string `yaml:"version"`
	} `yaml:"implementation"`
	BaseURL string `yaml:"base_url"`
	Tenants struct {
		A FileTenant `yaml:"a"`
		B FileTenant `yaml:"b"`
	} `yaml:"tenants"`
	AdminKey  string        `yaml:"admin_key"`
	Evidence  bool          `yaml:"evidence"`
	Fixtures  []FileFixture `yaml:"fixtures"`
	Provision FileProvision `yaml:"provision"`
}

// FileTenant is a tenant in a file or in the answer of an exec provisioner.
type FileTenant struct {
	ID     string `yaml:"id" json:"id"`
	APIKey string `yaml:"api_key" json:"api_key"`
}

// FileFixture is a fixture in a file or in the answer of an exec provisioner.
// Tenant may be left out when it is tenant a (tenant b for funded-b).
type FileFixture struct {
	Kind    Kind         `yaml:"kind" json:"kind"`
	ID      string       `yaml:"id" json:"id"`
	Tenant  FileTenant   `yaml:"tenant" json:"tenant"`
	Budgets []FileBudget `yaml:"budgets" json:"budgets"`
	Limit   int64        `yaml:"limit" json:"limit"`
}

// FileBudget is a budget in a file or in the answer of an exec provisioner.
type FileBudget struct {
	Subject        map[string]string `yaml:"subject" json:"subject"`
	Unit           string            `yaml:"unit" json:"unit"`
	Allocated      int64             `yaml:"allocated" json:"allocated"`
	OverdraftLimit int64             `yaml:"overdraft_limit" json:"overdraft_limit"`
}

// FileProvision says how fixtures are made that the file does not list.
type FileProvision struct {
	// Kind is empty, "static", "admin" or "exec".
	Kind string `yaml:"kind"`
	// URL and Key are for admin: where the governance-admin routes are, the base
	// URL when empty, and the key for X-Admin-API-Key, admin_key when empty.
	URL string `yaml:"url"`
	Key string `yaml:"key"`
	// Command is for exec: a program and its arguments.
	Command []string `yaml:"command"`
}

// ReadFile reads a target file. lookup gives the environment variables, as
// os.LookupEnv does.
func ReadFile(name string, lookup func(string) (string, bool)) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := parse(data, lookup)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func parse(data []byte, lookup func(string) (string, bool)) (*File, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	if err := expand(&root, lookup); err != nil {
		return nil, err
	}
	expanded, err := yaml.Marshal(&root)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(expanded))
	d.KnownFields(true)
	var f File
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &f, nil
}

// expand replaces ${NAME} in values. It works on the parsed document, so that
// no variable can bring YAML of its own.
func expand(n *yaml.Node, lookup func(string) (string, bool)) error {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		out, err := substitute(n.Value, lookup)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		n.SetString(out)
	}
	for _, c := range n.Content {
		if err := expand(c, lookup); err != nil {
			return err
		}
	}
	return nil
}

func substitute(s string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("${ without }")
		}
		value, set := lookup(name)
		if !set {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		b.WriteString(value)
		s = after
	}
}

// Target turns the file into a target. What the command of an exec provisioner
// writes for people goes to stderr; nil discards it.
func (f *File) Target(stderr io.Writer) (Target, error) {
	t := Target{
		Name: f.Implementation.Name, Version: f.Implementation.Version, BaseURL: f.BaseURL,
		A: Tenant(f.Tenants.A), B: Tenant(f.Tenants.B), AdminKey: f.AdminKey, Evidence: f.Evidence,
	}
	for _, x := range f.Fixtures {
		t.Fixtures = append(t.Fixtures, x.fixture())
	}
	switch f.Provision.Kind {
	case "", "static":
	case "admin":
		a := &Admin{BaseURL: cmp.Or(f.Provision.URL, f.BaseURL), RuntimeURL: f.BaseURL, Key: cmp.Or(f.Provision.Key, f.AdminKey)}
		if a.Key == "" {
			return t, errors.New("provision: admin needs a key or admin_key")
		}
		t.Provisioner = a
	case "exec":
		if len(f.Provision.Command) == 0 {
			return t, errors.New("provision: exec needs a command")
		}
		t.Provisioner = &Exec{Command: f.Provision.Command, Stderr: stderr}
	default:
		return t, fmt.Errorf("provision: there is no kind %q; there are static, admin and exec", f.Provision.Kind)
	}
	return t, nil
}

func (x FileFixture) fixture() *Fixture {
	f := &Fixture{Kind: x.Kind, ID: x.ID, Tenant: Tenant(x.Tenant), Limit: x.Limit}
	for _, b := range x.Budgets {
		f.Budgets = append(f.Budgets, &Budget{Subject: b.Subject, Unit: b.Unit, Allocated: b.Allocated, OverdraftLimit: b.OverdraftLimit})
	}
	return f
}
