// Command cycles-conformance tells whether a server keeps the Cycles protocol.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/internal/command"
	"github.com/cycles-protocol/cycles-go/conformance/internal/mocktarget"
)

func main() {
	// A first signal lets the checks release what they hold; a second one, once
	// the handler is gone, ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	c := &command.Command{
		Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Terminal: terminal(os.Stderr) && terminal(os.Stdout),
		Mock: func(virtual, legacy bool) conformance.Target {
			return mocktarget.New(mocktarget.Options{Virtual: virtual, Legacy: legacy})
		},
	}
	os.Exit(c.Main(ctx, os.Args[1:]))
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
