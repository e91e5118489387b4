package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/mockserver"
)

// settings are the flags of serve and demo.
type settings struct {
	addr        string
	config      string
	adminKey    string
	journalSize int
	virtual     string
	logLevel    slog.Level
	logFormat   string
	tls         bool
	tlsCert     string
}

const defaultAddr = "127.0.0.1:7878"

// parseSettings reads the flags; what they leave out comes from the
// environment.
func parseSettings(command string, args []string, env func(string) string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("cycles-mock "+command, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.addr, "addr", defaultAddr, "address to listen on; port 0 picks a free one")
	f.StringVar(&s.config, "config", "", "configuration file; without one there is a demo tenant")
	f.StringVar(&s.adminKey, "admin-key", "", "key of the /v1/admin routes (default from the configuration, else "+mockserver.DefaultAdminKey+")")
	f.IntVar(&s.journalSize, "journal-size", 0, "how many requests to remember (default from the configuration, else 10000)")
	f.StringVar(&s.virtual, "virtual-time", "", "stop the clock at this date-time, or at the present with \"now\"; POST /_mock/clock moves it")
	f.TextVar(&s.logLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR")
	f.StringVar(&s.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&s.tls, "tls", false, "serve HTTPS with a certificate made at the start")
	f.StringVar(&s.tlsCert, "tls-cert", "", "write that certificate to this file, for clients to trust (implies -tls)")
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: cycles-mock %s [flags]\n\nThe environment variable of a flag is CYCLES_MOCK_ and its name, as in CYCLES_MOCK_LOG_LEVEL.\n\n", command)
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, startError{err}
	}
	if f.NArg() > 0 {
		return nil, startError{fmt.Errorf("%s takes no argument, but there is %q", command, f.Arg(0))}
	}
	if err := fromEnvironment(f, env); err != nil {
		return nil, startError{err}
	}
	if s.logFormat != "text" && s.logFormat != "json" {
		return nil, startError{fmt.Errorf("log-format is text or json, not %q", s.logFormat)}
	}
	s.tls = s.tls || s.tlsCert != ""
	return s, nil
}

// fromEnvironment sets the flags that were not given.
func fromEnvironment(f *flag.FlagSet, env func(string) string) error {
	given := make(map[string]bool)
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	var errs []error
	f.VisitAll(func(fl *flag.Flag) {
		name := "CYCLES_MOCK_" + strings.ToUpper(strings.ReplaceAll(fl.Name, "-", "_"))
		v := env(name)
		if given[fl.Name] || v == "" {
			return
		}
		if err := f.Set(fl.Name, v); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// options are the settings as the library takes them.
func (s *settings) options(stderr io.Writer) ([]mockserver.Option, error) {
	opts := []mockserver.Option{mockserver.WithLogger(s.logger(stderr))}
	if s.config != "" {
		opts = append(opts, mockserver.WithConfigFile(s.config))
	}
	if s.adminKey != "" {
		opts = append(opts, mockserver.WithAdminKey(s.adminKey))
	}
	if s.journalSize != 0 {
		opts = append(opts, mockserver.WithJournalSize(s.journalSize))
	}
	if s.virtual != "" {
		start := time.Now()
		if s.virtual != "now" {
			var err error
			if start, err = time.Parse(time.RFC3339Nano, s.virtual); err != nil {
				return nil, startError{fmt.Errorf("virtual-time is \"now\" or a date-time such as 2026-01-31T12:00:00Z, not %q", s.virtual)}
			}
		}
		opts = append(opts, mockserver.WithVirtualTime(start))
	}
	return opts, nil
}

func (s *settings) logger(stderr io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.logLevel}
	if s.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, o))
	}
	return slog.New(slog.NewTextHandler(stderr, o))
}
