package command

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// targetFlags say what is judged. They win over the target file.
type targetFlags struct {
	file, url                string
	tenantA, keyA            string
	tenantB, keyB            string
	adminKey                 string
	budgetA, budgetB         string
	name, version            string
	provision, provisionURL  string
	provisionCommand, caFile string
	insecure, virtual        bool
}

func (f *targetFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "target", "", "target file; \"cycles-conformance init\" writes one")
	fs.StringVar(&f.url, "url", "", "base URL of the server, without /v1")
	fs.StringVar(&f.tenantA, "tenant-a", "", "id of tenant a")
	fs.StringVar(&f.keyA, "key-a", "", "API key of tenant a; better in the environment, as CYCLES_KEY_A")
	fs.StringVar(&f.tenantB, "tenant-b", "", "id of tenant b")
	fs.StringVar(&f.keyB, "key-b", "", "API key of tenant b (CYCLES_KEY_B)")
	fs.StringVar(&f.adminKey, "admin-key", "", "operator's key (CYCLES_ADMIN_KEY)")
	fs.StringVar(&f.budgetA, "budget", "", "a funded budget of tenant a as SCOPE,UNIT[,ALLOCATED], like tenant:acme/workspace:w,TOKENS,1000000")
	fs.StringVar(&f.budgetB, "budget-b", "", "a funded budget of tenant b")
	fs.StringVar(&f.name, "name", "", "name of the implementation, for the reports")
	fs.StringVar(&f.version, "server-version", "", "version of the implementation, for the reports")
	fs.StringVar(&f.provision, "provision", "", "who makes fixtures: static, admin, exec, or mock, which judges the module's own mock in memory")
	fs.StringVar(&f.provisionURL, "provision-url", "", "where the admin routes are, when not at the base URL")
	fs.StringVar(&f.provisionCommand, "provision-command", "", "the command of exec, split at spaces")
	fs.StringVar(&f.caFile, "ca", "", "PEM file with the certificates to trust")
	fs.BoolVar(&f.insecure, "insecure", false, "take any TLS certificate")
	fs.BoolVar(&f.virtual, "virtual", false, "mock only: on a virtual clock, so that waiting takes no time")
}

// target puts the target together from file, flags and environment. legacy is
// what the run goes by; only the mock can be made so.
func (c *Command) target(f *targetFlags, legacy bool) (conformance.Target, error) {
	if f.provision == "mock" {
		if c.Mock == nil {
			return conformance.Target{}, misuse("this build has no mock")
		}
		return c.Mock(f.virtual, legacy), nil
	}
	if f.virtual {
		return conformance.Target{}, misuse("--virtual is for --provision mock: only a server whose clock can be moved")
	}
	file := &target.File{}
	if f.file != "" {
		var err error
		if file, err = target.ReadFile(f.file, c.LookupEnv); err != nil {
			return conformance.Target{}, usageError{err}
		}
	}
	if err := f.overlay(file, c.LookupEnv); err != nil {
		return conformance.Target{}, err
	}
	if file.BaseURL == "" {
		return conformance.Target{}, misuse("which server? give --target or --url")
	}
	t, err := file.Target(c.Stderr)
	if err != nil {
		return t, usageError{err}
	}
	return t, f.trust(&t)
}

// overlay puts the flags, and for keys the environment, over the file.
func (f *targetFlags) overlay(file *target.File, lookup func(string) (string, bool)) error {
	env := func(name string) string {
		v, _ := lookup(name)
		return v
	}
	file.BaseURL = cmp.Or(f.url, file.BaseURL)
	file.Implementation.Name = cmp.Or(f.name, file.Implementation.Name)
	file.Implementation.Version = cmp.Or(f.version, file.Implementation.Version)
	a, b := &file.Tenants.A, &file.Tenants.B
	a.ID, a.APIKey = cmp.Or(f.tenantA, a.ID), cmp.Or(f.keyA, a.APIKey, env("CYCLES_KEY_A"))
	b.ID, b.APIKey = cmp.Or(f.tenantB, b.ID), cmp.Or(f.keyB, b.APIKey, env("CYCLES_KEY_B"))
	file.AdminKey = cmp.Or(f.adminKey, file.AdminKey, env("CYCLES_ADMIN_KEY"))
	p := &file.Provision
	p.Kind, p.URL = cmp.Or(f.provision, p.Kind), cmp.Or(f.provisionURL, p.URL)
	if f.provisionCommand != "" {
		p.Command = strings.Fields(f.provisionCommand)
	}
	for _, given := range []struct {
		text   string
		kind   target.Kind
		tenant *target.FileTenant
	}{{f.budgetA, target.Funded, a}, {f.budgetB, target.FundedB, b}} {
		if given.text == "" {
			continue
		}
		budget, err := parseBudget(given.text)
		if err != nil {
			return err
		}
		if given.tenant.ID == "" {
			given.tenant.ID = budget.Subject["tenant"]
		}
		file.Fixtures = append(file.Fixtures, target.FileFixture{Kind: given.kind, Budgets: []target.FileBudget{budget}})
	}
	return nil
}

// parseBudget reads SCOPE,UNIT[,ALLOCATED].
func parseBudget(text string) (target.FileBudget, error) {
	b := target.FileBudget{Subject: map[string]string{}, Allocated: 1_000_000}
	parts := strings.Split(text, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return b, misuse("the budget %q is not SCOPE,UNIT[,ALLOCATED]", text)
	}
	for level := range strings.SplitSeq(parts[0], "/") {
		name, value, ok := strings.Cut(level, ":")
		if !ok || value == "" {
			return b, misuse("the scope of the budget %q is not like tenant:acme/workspace:w", text)
		}
		b.Subject[name] = value
	}
	b.Unit = parts[1]
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || n < 0 {
			return b, misuse("the allocation of the budget %q is not a whole number", text)
		}
		b.Allocated = n
	}
	return b, nil
}

// trust sets up TLS when it is not the system's.
func (f *targetFlags) trust(t *conformance.Target) error {
	if f.caFile == "" && !f.insecure {
		return nil
	}
	config := &tls.Config{InsecureSkipVerify: f.insecure}
	if f.caFile != "" {
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return usageError{err}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return misuse("%s holds no certificate", f.caFile)
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	t.Transport = transport
	if admin, ok := t.Provisioner.(*target.Admin); ok {
		admin.Client = &http.Client{Transport: transport}
	}
	return nil
}
