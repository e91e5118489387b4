package client

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"
)

// JournalIdentity says whose settlement records a client may replay. Records of
// one server and principal lie in a directory named after the fingerprint, in
// the same place for the SDKs of all languages.
type JournalIdentity struct {
	baseURL string
	// fingerprint closes over the principal, which may be the API key, so that
	// printing the value shows an address.
	fingerprint func() string
}

// BaseURL is the server's URL as it was configured; records name it and are
// replayed only to it.
func (j JournalIdentity) BaseURL() string { return j.baseURL }

// Fingerprint is 16 lower-case hex digits. The first call on a client takes
// about 10 ms, later ones nothing.
func (j JournalIdentity) Fingerprint() string { return j.fingerprint() }

// String shows neither the principal nor what is derived from it.
func (j JournalIdentity) String() string { return "journal identity for " + j.baseURL }

// Format prints String under whatever verb.
func (j JournalIdentity) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), j.String())
}

// JournalIdentity is the identity of this client's journal. The principal is
// the tenant of WithSubject, which outlives a rotated key, else the API key.
func (c *Client) JournalIdentity() JournalIdentity {
	return JournalIdentity{baseURL: c.baseURL, fingerprint: c.fingerprint}
}

const (
	fingerprintSalt   = "runcycles-commit-journal\n"
	fingerprintRounds = 30_000
	fingerprintDigits = 16
)

// fingerprinting derives the fingerprint once and keeps it. The rounds slow
// down guessing an API key from a directory name.
func fingerprinting(cfg *config, baseURL string) func() string {
	var principal string
	if tenant := cfg.subject.Tenant; tenant != nil && strings.TrimSpace(*tenant) != "" {
		principal = "tenant\n" + *tenant
	} else if cfg.apiKey != nil {
		principal = "key\n" + cfg.apiKey()
	}
	return sync.OnceValue(func() string {
		sum, err := pbkdf2.Key(sha256.New, principal, []byte(fingerprintSalt+baseURL), fingerprintRounds, sha256.Size)
		if err != nil {
			panic("cycles: " + err.Error()) // only for parameters, and these are constants
		}
		return hex.EncodeToString(sum)[:fingerprintDigits]
	})
}

// JournalSettings is what the environment says about the settlement journal.
type JournalSettings struct {
	// Enabled is CYCLES_JOURNAL_ENABLED, true unless it says false.
	Enabled bool
	// Dir is CYCLES_JOURNAL_DIR, by default ~/.runcycles/commit-journal. It is
	// empty when neither is known. The records lie in a directory below it that is
	// named after the fingerprint.
	Dir string
	// FlushTimeout is CYCLES_RETRY_FLUSH_TIMEOUT, by default 10 s; 0 does not
	// wait.
	FlushTimeout time.Duration
}

// JournalSettings is what FromEnv found out about the journal. A client made by
// New has none, so that it never touches the home directory.
func (c *Client) JournalSettings() (JournalSettings, bool) {
	if c.cfg.journal == nil {
		return JournalSettings{}, false
	}
	return *c.cfg.journal, true
}
