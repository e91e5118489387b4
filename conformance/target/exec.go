package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Exec makes fixtures by running a command. The command reads one JSON object
// from its standard input and answers with one on its standard output:
//
//	-> {"version":1, "action":"provision", "run":"cf3f9a1c02", "fixtures":[
//	     {"kind":"ledger", "id":"ledger-1", "about":"...", "exclusive":true,
//	      "budgets":[{"allocated":1000, "overdraft_limit":0}]}, ...]}
//	<- {"tenants":{"a":{"id":"acme","api_key":"..."}, "b":{...}},
//	    "admin_key":"...", "can":["can-close-tenant"],
//	    "fixtures":[{"kind":"ledger", "id":"ledger-1",
//	      "tenant":{"id":"acme","api_key":"..."},
//	      "budgets":[{"subject":{"tenant":"acme","workspace":"w1"},
//	        "unit":"TOKENS", "allocated":1000, "overdraft_limit":0}]}, ...]}
//
// All of the answer is optional. A fixture that cannot be made is left out. A
// tenant may be left out of a fixture when it is tenant a, or tenant b for
// funded-b.
//
// For each ability in "can" the command is run again during the checks, with
// one of these, and answers {} (an exit status other than 0 means that it
// failed):
//
//	{"version":1, "action":"close-tenant",    "tenant":"acme"}
//	{"version":1, "action":"freeze-budget",   "tenant":"acme", "scope":{...}, "unit":"TOKENS"}
//	{"version":1, "action":"unfreeze-budget", "tenant":"acme", "scope":{...}, "unit":"TOKENS"}
//	{"version":1, "action":"repay-debt",      "tenant":"acme", "scope":{...}, "unit":"TOKENS", "amount":50}
type Exec struct {
	// Command is the program and its arguments. No shell is involved.
	Command []string
	// Stderr gets what the command writes for people. Nil discards it.
	Stderr io.Writer

	mu  sync.Mutex
	can []Kind
}

// ExecRequest is what the command reads.
type ExecRequest struct {
	Version  int               `json:"version"`
	Action   string            `json:"action"`
	Run      string            `json:"run,omitempty"`
	Fixtures []ExecWant        `json:"fixtures,omitempty"`
	Tenant   string            `json:"tenant,omitempty"`
	Scope    map[string]string `json:"scope,omitempty"`
	Unit     string            `json:"unit,omitempty"`
	Amount   int64             `json:"amount,omitempty"`
}

// ExecWant is one wanted fixture, with what the catalogue says of it.
type ExecWant struct {
	Kind      Kind         `json:"kind"`
	ID        string       `json:"id"`
	About     string       `json:"about"`
	Exclusive bool         `json:"exclusive,omitempty"`
	Budgets   []ExecBudget `json:"budgets,omitempty"`
	Limit     int64        `json:"limit,omitempty"`
}

// ExecBudget says what a wanted budget must look like.
type ExecBudget struct {
	Allocated      int64  `json:"allocated"`
	OverdraftLimit int64  `json:"overdraft_limit"`
	Inner          bool   `json:"inner,omitempty"`
	OtherUnit      bool   `json:"other_unit,omitempty"`
	Status         string `json:"status,omitempty"`
	Debt           int64  `json:"debt,omitempty"`
}

// Describe completes a list of wanted fixtures from the catalogue.
func Describe(wanted []Want) []ExecWant {
	var out []ExecWant
	for _, w := range wanted {
		for _, spec := range Catalogue() {
			if spec.Kind != w.Kind {
				continue
			}
			x := ExecWant{Kind: w.Kind, ID: w.ID, About: spec.About, Exclusive: spec.Exclusive, Limit: spec.Limit}
			for _, b := range spec.Budgets {
				x.Budgets = append(x.Budgets, ExecBudget(b))
			}
			out = append(out, x)
		}
	}
	return out
}

// Provision runs the command.
func (e *Exec) Provision(ctx context.Context, want Wanted) (*Provisioned, error) {
	out, err := e.run(ctx, ExecRequest{Action: "provision", Run: want.Run, Fixtures: Describe(want.Fixtures)})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Tenants struct {
			A FileTenant `json:"a"`
			B FileTenant `json:"b"`
		} `json:"tenants"`
		AdminKey string        `json:"admin_key"`
		Can      []Kind        `json:"can"`
		Fixtures []FileFixture `json:"fixtures"`
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s answered what is not the expected JSON: %w", e.Command[0], err)
	}
	e.mu.Lock()
	e.can = answer.Can
	e.mu.Unlock()
	made := &Provisioned{A: Tenant(answer.Tenants.A), B: Tenant(answer.Tenants.B), AdminKey: answer.AdminKey}
	for _, x := range answer.Fixtures {
		made.Fixtures = append(made.Fixtures, x.fixture())
	}
	return made, nil
}

func (e *Exec) run(ctx context.Context, r ExecRequest) ([]byte, error) {
	if len(e.Command) == 0 {
		return nil, errors.New("no command to make fixtures with")
	}
	r.Version = 1
	in, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, e.Command[0], e.Command[1:]...)
	// A child of the command may keep the pipes open after it was killed.
	cmd.WaitDelay = time.Second
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), e.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", e.Command[0], r.Action, errors.Join(err, context.Cause(ctx)))
	}
	return out, nil
}

// Can is Controller's: what the command said it can.
func (e *Exec) Can(ability Kind) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.can, ability)
}

// CloseTenant is Controller's.
func (e *Exec) CloseTenant(ctx context.Context, tenant Tenant) error {
	return e.control(ctx, ExecRequest{Action: "close-tenant", Tenant: tenant.ID})
}

// FreezeBudget is Controller's.
func (e *Exec) FreezeBudget(ctx context.Context, b *Budget) error {
	return e.control(ctx, ExecRequest{Action: "freeze-budget", Tenant: b.Tenant.ID, Scope: b.Subject, Unit: b.Unit})
}

// UnfreezeBudget is Controller's.
func (e *Exec) UnfreezeBudget(ctx context.Context, b *Budget) error {
	return e.control(ctx, ExecRequest{Action: "unfreeze-budget", Tenant: b.Tenant.ID, Scope: b.Subject, Unit: b.Unit})
}

// RepayDebt is Controller's.
func (e *Exec) RepayDebt(ctx context.Context, b *Budget, amount int64) error {
	return e.control(ctx, ExecRequest{Action: "repay-debt", Tenant: b.Tenant.ID, Scope: b.Subject, Unit: b.Unit, Amount: amount})
}

func (e *Exec) control(ctx context.Context, r ExecRequest) error {
	_, err := e.run(ctx, r)
	return err
}
