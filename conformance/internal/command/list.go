package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

func (c *Command) list(_ context.Context, args []string) error {
	fs := flags("list")
	var o conformance.Options
	selectionFlags(fs, &o)
	asJSON := fs.Bool("json", false, "as JSON")
	if err := c.parse(fs, args, 0, ""); err != nil {
		return err
	}
	infos, err := conformance.Checks(o)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(c.Stdout, infos)
	}
	for _, i := range infos {
		notes := ""
		if i.Waits {
			notes = "  (waits)"
		}
		if _, err := fmt.Fprintf(c.Stdout, "%-6s %-7s %s%s\n", i.Level, i.Profile, i.ID, notes); err != nil {
			return err
		}
	}
	return nil
}

func (c *Command) explain(_ context.Context, args []string) error {
	fs := flags("explain")
	if err := c.parse(fs, args, 1, "<id or pattern>"); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return misuse("explain: which check? \"cycles-conformance list\" names them")
	}
	infos, err := conformance.Checks(conformance.Options{Profile: conformance.Full, Run: []string{fs.Arg(0)}})
	if err != nil {
		return err
	}
	for n, i := range infos {
		if n > 0 {
			fmt.Fprintln(c.Stdout)
		}
		if err := explain(c.Stdout, i); err != nil {
			return err
		}
	}
	return nil
}

func explain(w io.Writer, i conformance.Info) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n  %s\n\n", i.ID, i.Requirement)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-11s %s\n", name, value)
		}
	}
	field("level", string(i.Level))
	field("section", i.Section)
	field("lines", joined(i.Lines))
	field("profile", string(i.Profile))
	field("operations", joined(i.Operations))
	switch {
	case !i.Legacy:
		field("edition", "not for servers of edition 0.1.25 (legacy)")
	case !i.Current:
		field("edition", "only for servers of edition 0.1.25 (legacy)")
	}
	if i.Waits {
		field("time", "lets time pass")
	}
	if i.Passive {
		field("how", "judges the answers that the other checks see")
	}
	for _, spec := range target.Catalogue() {
		for _, need := range i.Needs {
			if need == spec.Kind {
				field("needs", fmt.Sprintf("%s: %s", spec.Kind, spec.About))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func joined[T any](items []T) string {
	parts := make([]string, len(items))
	for i, x := range items {
		parts[i] = fmt.Sprint(x)
	}
	return strings.Join(parts, ", ")
}

func (c *Command) fixtures(_ context.Context, args []string) error {
	fs := flags("fixtures")
	var o conformance.Options
	selectionFlags(fs, &o)
	asJSON := fs.Bool("json", false, "as JSON, the way an exec provisioner reads it")
	if err := c.parse(fs, args, 0, ""); err != nil {
		return err
	}
	wants, err := conformance.Wants(o)
	if err != nil {
		return err
	}
	described := target.Describe(wants)
	if *asJSON {
		return writeJSON(c.Stdout, target.ExecRequest{Version: 1, Action: "provision", Run: "cfexample", Fixtures: described})
	}
	for _, f := range described {
		if _, err := fmt.Fprintf(c.Stdout, "%-22s %s\n", f.ID, f.About); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
