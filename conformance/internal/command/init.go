package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
)

//go:embed target.yaml
var template string

// initialize writes the commented target file, to standard output when no name
// is given. It never overwrites one.
func (c *Command) initialize(_ context.Context, args []string) error {
	fs := flags("init")
	if err := c.parse(fs, args, 1, "[file]"); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		_, err := fmt.Fprint(c.Stdout, template)
		return err
	}
	f, err := os.OpenFile(fs.Arg(0), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return misuse("init: %s exists already", fs.Arg(0))
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(template)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "wrote %s\n", fs.Arg(0))
	return nil
}
