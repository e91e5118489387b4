package client

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

// FromEnv makes a client from the environment that the SDKs of all languages
// share. opts are applied after it and win.
//
//	CYCLES_BASE_URL, CYCLES_API_KEY                 required
//	CYCLES_TENANT, _WORKSPACE, _APP, _WORKFLOW,
//	CYCLES_AGENT, _TOOLSET                          WithSubject
//	CYCLES_CONNECT_TIMEOUT, CYCLES_READ_TIMEOUT     their sum bounds an attempt; when only
//	                                                one is set, the other counts 2 s or 5 s;
//	                                                when none is, DefaultRequestTimeout
//	CYCLES_RETRY_ENABLED                            true or false
//	CYCLES_RETRY_MAX_ATTEMPTS, _INITIAL_DELAY,
//	_MULTIPLIER, _MAX_DELAY                         RetryPolicy
//	CYCLES_JOURNAL_ENABLED, CYCLES_JOURNAL_DIR,
//	CYCLES_RETRY_FLUSH_TIMEOUT                      JournalSettings
//
// A duration is a Go duration ("1.5s") or a whole number of milliseconds. A
// bare timeout of 1 to 99 is refused, because it is surely meant for Python's
// SDK, which counts seconds. A variable that is empty or blank counts as unset.
// What cannot be read is a *ConfigError that names the variable.
func FromEnv(opts ...Option) (*Client, error) {
	e := &env{}
	baseURL, key := e.needed("BASE_URL"), e.needed("API_KEY")
	if e.err == nil {
		_, err := checkBaseURL(envPrefix+"BASE_URL", baseURL)
		e.note(err)
	}
	var secretKey secret
	if e.err == nil {
		var err error
		secretKey, err = newSecret(envPrefix+"API_KEY", key)
		e.note(err)
	}
	var s gen.Subject
	for _, level := range subjectLevels {
		if value, ok := e.lookup(strings.ToUpper(level.name)); ok {
			e.require(length(value, 1, levelLimit), strings.ToUpper(level.name), "must be 1..128 characters")
			*level.at(&s) = &value
		}
	}
	timeout := e.attemptTimeout()
	policy := e.retryPolicy()
	journal := e.journal()
	if e.err != nil {
		return nil, e.err
	}
	fromEnv := func(c *config) error {
		c.apiKey, c.subject, c.timeout, c.retry, c.journal = secretKey, s, timeout, policy, &journal
		return nil
	}
	return New(baseURL, append([]Option{fromEnv}, opts...)...)
}

const (
	envPrefix      = "CYCLES_"
	connectDefault = 2 * time.Second
	readDefault    = 5 * time.Second
	flushDefault   = 10 * time.Second
)

// env reads variables and keeps the first that is wrong.
type env struct{ err error }

func (e *env) note(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *env) require(ok bool, name, reason string) {
	if !ok {
		e.note(&ConfigError{envPrefix + name, reason})
	}
}

// lookup takes a value as it is: a journal is found by the untrimmed tenant.
func (e *env) lookup(name string) (string, bool) {
	value := os.Getenv(envPrefix + name)
	return value, strings.TrimSpace(value) != ""
}

func (e *env) needed(name string) string {
	value, ok := e.lookup(name)
	e.require(ok, name, "must be set")
	return value
}

func (e *env) attemptTimeout() time.Duration {
	connect, connectSet := e.duration("CONNECT_TIMEOUT", connectDefault, true)
	read, readSet := e.duration("READ_TIMEOUT", readDefault, true)
	e.require(connect > 0, "CONNECT_TIMEOUT", "must be positive")
	e.require(read > 0, "READ_TIMEOUT", "must be positive")
	if !connectSet && !readSet {
		return DefaultRequestTimeout
	}
	return saturatingSum(connect, read)
}

func saturatingSum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (e *env) retryPolicy() RetryPolicy {
	p := defaultRetry
	if text, ok := e.lookup("RETRY_MAX_ATTEMPTS"); ok {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		e.require(err == nil && n >= 1, "RETRY_MAX_ATTEMPTS", "must be a whole number of at least 1")
		p.MaxAttempts = n
	}
	if text, ok := e.lookup("RETRY_MULTIPLIER"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		e.require(err == nil && f >= 1 && !math.IsInf(f, 0), "RETRY_MULTIPLIER", "must be a number of at least 1")
		p.Multiplier = f
	}
	p.InitialDelay, _ = e.duration("RETRY_INITIAL_DELAY", p.InitialDelay, false)
	p.MaxDelay, _ = e.duration("RETRY_MAX_DELAY", p.MaxDelay, false)
	e.require(p.InitialDelay > 0, "RETRY_INITIAL_DELAY", "must be positive")
	e.require(p.MaxDelay > 0, "RETRY_MAX_DELAY", "must be positive")
	if !e.flag("RETRY_ENABLED") {
		p.MaxAttempts = 1
	}
	return p
}

func (e *env) journal() JournalSettings {
	j := JournalSettings{Enabled: e.flag("JOURNAL_ENABLED")}
	j.FlushTimeout, _ = e.duration("RETRY_FLUSH_TIMEOUT", flushDefault, true)
	e.require(j.FlushTimeout >= 0, "RETRY_FLUSH_TIMEOUT", "must not be negative")
	if dir, ok := e.lookup("JOURNAL_DIR"); ok {
		j.Dir = dir
	} else if home, err := os.UserHomeDir(); err == nil {
		j.Dir = filepath.Join(home, ".runcycles", "commit-journal")
	}
	return j
}

// flag is true unless the variable says false.
func (e *env) flag(name string) bool {
	text, ok := e.lookup(name)
	if !ok {
		return true
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true
	case "false":
		return false
	}
	e.require(false, name, "must be true or false")
	return true
}

// duration reads a Go duration or bare milliseconds.
func (e *env) duration(name string, unset time.Duration, isTimeout bool) (time.Duration, bool) {
	text, ok := e.lookup(name)
	if !ok {
		return unset, false
	}
	text = strings.TrimSpace(text)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		d, err := time.ParseDuration(text)
		e.require(err == nil, name, "must be a duration such as 1.5s or a whole number of milliseconds")
		return d, true
	}
	const secondsOfPython = 99
	if isTimeout && 1 <= ms && ms <= secondsOfPython {
		e.require(false, name, "counts milliseconds here and seconds in Python's SDK; write "+text+"s or "+text+"ms")
	}
	e.require(-maxMilliseconds <= ms && ms <= maxMilliseconds, name, "is too large")
	return time.Duration(ms) * time.Millisecond, true
}
