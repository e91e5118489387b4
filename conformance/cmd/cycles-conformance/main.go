// Command cycles-conformance tells whether a server keeps the Cycles protocol:
// which sentences of it the server breaks, what was expected, what came instead,
// and a curl line to see it.
//
//	cycles-conformance run       judge a server
//	cycles-conformance list      list the checks
//	cycles-conformance explain   tell about one check
//	cycles-conformance init      write a commented target file
//	cycles-conformance fixtures  print what a provisioner must make
//
// "-h" after any of them lists its flags.
//
// The exit status:
//
//	0  conformant
//	1  not conformant: a requirement is broken, or the baseline is stale
//	2  wrong usage; nothing was sent
//	3  could not run, could not tell, was interrupted, or nothing matched
//
// "go run" turns every status but 0 into 1: where the difference counts, build
// or install the command.
//
// What it does not do: it makes no budgets unless --provision says how, does not
// give back what checks spend, and is no load test. Do not hand over a budget
// that is real.
//
// A server with two tenants and a funded budget of each:
//
//	export CYCLES_KEY_A=... CYCLES_KEY_B=...
//	cycles-conformance run --url http://localhost:7878 --html report.html \
//	  --budget tenant:acme/workspace:w,TOKENS --budget-b tenant:other/workspace:w,TOKENS
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
