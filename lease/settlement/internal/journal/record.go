package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// Mode says which operation settles a record.
type Mode string

// The modes of the format.
const (
	Commit Mode = "commit"
	Event  Mode = "event"
)

// MaxRecordSize bounds a record's file in bytes. A larger file is no record,
// and a larger record is not written.
const MaxRecordSize = 16 << 20

const formatVersion = 1

// Record is what was spent on one reservation and how to tell the server.
type Record struct {
	ReservationID string
	// BaseURL is the server as it was configured. Empty when an old record does
	// not say; such a record is nobody's and stays where it is.
	BaseURL string
	Mode    Mode
	// CommitBody and EventBody are the requests as they will be sent. They are
	// kept as they were written and never decoded into a type, since a member
	// that got lost on the way would be another payload under the same key. The
	// one the mode names is an object; the other one may be nil.
	CommitBody, EventBody json.RawMessage
	// RecordedAtMs is when the record was written (wall clock, ms since the Unix
	// epoch); in event mode, when it became an event. 0 when unknown.
	RecordedAtMs int64
	// NotBeforeMs is the instant before which the server asked not to be called
	// again. Nil when it did not.
	NotBeforeMs *int64
}

// Body is the request that the record's mode sends.
func (r *Record) Body() json.RawMessage {
	if r.Mode == Event {
		return r.EventBody
	}
	return r.CommitBody
}

// wireRecord has the members in the order in which all writers put them.
type wireRecord struct {
	Version       int             `json:"version"`
	ReservationID string          `json:"reservation_id"`
	BaseURL       string          `json:"base_url"`
	Mode          Mode            `json:"mode"`
	CommitBody    json.RawMessage `json:"commit_body"`
	EventBody     json.RawMessage `json:"event_fallback_body"`
	RecordedAtMs  int64           `json:"recorded_at_ms"`
	NotBeforeMs   *int64          `json:"not_before_ms"`
	DeadLetter    *DeadLetter     `json:"dead_letter,omitempty"`
}

// DeadLetter says why a record will not be settled by itself any more. It
// stands as one more member in the record, which otherwise stays valid: an
// operator who has mended the cause gives the file its .json name back.
type DeadLetter struct {
	// Reason is the outcome in a word, such as "rejected" or "finalized".
	Reason string `json:"reason"`
	// Detail is the error in full.
	Detail string `json:"detail,omitempty"`
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
	AtMs   int64  `json:"at_ms"`
}

var errTooLarge = fmt.Errorf("larger than %d bytes", MaxRecordSize)

func encode(r Record, dead *DeadLetter) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(wireRecord{
		Version: formatVersion, ReservationID: r.ReservationID, BaseURL: r.BaseURL, Mode: r.Mode,
		CommitBody: r.CommitBody, EventBody: r.EventBody,
		RecordedAtMs: r.RecordedAtMs, NotBeforeMs: r.NotBeforeMs, DeadLetter: dead,
	})
	if err != nil {
		return nil, err
	}
	if out.Len() > MaxRecordSize {
		return nil, errTooLarge
	}
	data := bytes.TrimRight(out.Bytes(), "\n")
	// A record that this package would not read back must not be published.
	if _, err := decode(data); err != nil {
		return nil, err
	}
	return data, nil
}

// ruleError is a rule of the format that a file breaks. It never repeats the
// content.
type ruleError struct {
	member string
	err    error
}

func (e *ruleError) Error() string { return e.member + ": " + e.err.Error() }
func (e *ruleError) Unwrap() error { return e.err }

var (
	errMissing  = errors.New("is missing")
	errEmpty    = errors.New("is empty")
	errUnknown  = errors.New("has a value that this version does not know")
	errNegative = errors.New("is negative")
	errNoObject = errors.New("must be an object")
)

// decode reads a record by the strictest rules that any of the SDKs applies.
// Members it does not know are checked and skipped.
func decode(data []byte) (Record, error) {
	d := decoder{Scanner: strictjson.New(data), rec: Record{Mode: Commit}}
	if err := d.Members(d.member); err != nil {
		return Record{}, err
	}
	if err := d.End(); err != nil {
		return Record{}, err
	}
	broken := func(member string, err error) (Record, error) { return Record{}, &ruleError{member, err} }
	switch {
	case !d.version:
		return broken("version", errMissing)
	case d.rec.ReservationID == "":
		return broken("reservation_id", errMissing)
	case d.rec.Mode == Commit && d.rec.CommitBody == nil:
		return broken("commit_body", errNoObject)
	case d.rec.Mode == Event && d.rec.EventBody == nil:
		return broken("event_fallback_body", errNoObject)
	}
	return d.rec, nil
}

type decoder struct {
	strictjson.Scanner
	rec     Record
	version bool
}

func (d *decoder) member(key []byte) error {
	name := string(key)
	err := d.value(name)
	if err != nil && !errors.As(err, new(*strictjson.Error)) {
		return &ruleError{name, err}
	}
	return err
}

func (d *decoder) value(name string) (err error) {
	switch name {
	case "version":
		d.version = true
		var v int64
		if v, err = d.Int64(); err == nil && v != formatVersion {
			err = errUnknown
		}
	case "reservation_id":
		if d.rec.ReservationID, err = d.Str(); err == nil && d.rec.ReservationID == "" {
			err = errEmpty
		}
	case "base_url":
		d.rec.BaseURL, err = d.Str()
	case "mode":
		var mode string
		mode, err = d.Str()
		if d.rec.Mode = Mode(mode); err == nil && d.rec.Mode != Commit && d.rec.Mode != Event {
			err = errUnknown
		}
	case "commit_body":
		d.rec.CommitBody, err = d.body()
	case "event_fallback_body":
		d.rec.EventBody, err = d.body()
	case "recorded_at_ms":
		d.rec.RecordedAtMs, err = d.instant()
	case "not_before_ms":
		if d.Kind() == strictjson.Null {
			return d.Null()
		}
		var ms int64
		ms, err = d.instant()
		d.rec.NotBeforeMs = &ms
	default:
		err = d.Skip()
	}
	return err
}

// body reads an object or null. The bytes are copied, so that a pending record
// does not keep its whole file in memory twice.
func (d *decoder) body() (json.RawMessage, error) {
	switch d.Kind() {
	case strictjson.Null:
		return nil, d.Null()
	case strictjson.Object:
		raw, err := d.Raw()
		return bytes.Clone(raw), err
	}
	if err := d.Skip(); err != nil {
		return nil, err
	}
	return nil, errNoObject
}

func (d *decoder) instant() (int64, error) {
	ms, err := d.Int64()
	if err == nil && ms < 0 {
		err = errNegative
	}
	return ms, err
}
