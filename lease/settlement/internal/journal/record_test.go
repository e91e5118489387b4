package journal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// The same record as two SDKs write it.
const (
	writtenByTypeScript = `{"version":1,"reservation_id":"rsv_é/🚀","base_url":"http://localhost:7878","mode":"commit",` +
		`"commit_body":{"idempotency_key":"key-1","actual":{"unit":"USD_MICROCENTS","amount":9007199254740993},` +
		`"metadata":{"name":"Zoë <b>","ratio":1.50,"tags":[1e3,null]}},` +
		`"event_fallback_body":{"idempotency_key":"key-1","subject":{"tenant":"acme"},"action":{"kind":"llm","name":"gpt"},` +
		`"actual":{"unit":"USD_MICROCENTS","amount":9007199254740993}},"recorded_at_ms":1700000000000,"not_before_ms":null}`
	writtenByPython = `{"version": 1, "reservation_id": "rsv_\u00e9/\ud83d\ude80", "base_url": "http://localhost:7878", "mode": "commit", ` +
		`"commit_body": {"idempotency_key": "key-1", "actual": {"unit": "USD_MICROCENTS", "amount": 9007199254740993}, ` +
		`"metadata": {"name": "Zo\u00eb <b>", "ratio": 1.5, "tags": [1000.0, null]}}, ` +
		`"event_fallback_body": {"idempotency_key": "key-1", "subject": {"tenant": "acme"}, "action": {"kind": "llm", "name": "gpt"}, ` +
		`"actual": {"unit": "USD_MICROCENTS", "amount": 9007199254740993}}, "recorded_at_ms": 1700000000000, "not_before_ms": null}`
)

func canonical(t *testing.T, data []byte) string {
	t.Helper()
	out, err := strictjson.Canonical(data)
	require.NoError(t, err)
	return string(out)
}

func TestRecordsOfOtherSDKsKeepTheMeaningOfTheirBodies(t *testing.T) {
	fromTS, err := decode([]byte(writtenByTypeScript))
	require.NoError(t, err)
	fromPython, err := decode([]byte(writtenByPython))
	require.NoError(t, err)

	assert.Equal(t, "rsv_é/🚀", fromPython.ReservationID)
	assert.Equal(t, fromTS.ReservationID, fromPython.ReservationID)
	assert.Equal(t, "http://localhost:7878", fromPython.BaseURL)
	assert.Equal(t, Commit, fromPython.Mode)
	assert.Equal(t, int64(1700000000000), fromPython.RecordedAtMs)
	assert.Nil(t, fromPython.NotBeforeMs)
	assert.Equal(t, canonical(t, fromTS.CommitBody), canonical(t, fromPython.CommitBody))
	assert.Equal(t, canonical(t, fromTS.EventBody), canonical(t, fromPython.EventBody))
	assert.Contains(t, string(fromPython.CommitBody), "9007199254740993", "beyond what a float64 holds")

	// Rewriting one must not change what it means either.
	for _, rec := range []Record{fromTS, fromPython} {
		data, err := encode(rec, nil)
		require.NoError(t, err)
		assert.Equal(t, canonical(t, []byte(writtenByTypeScript)), canonical(t, data))
	}
}

func TestRecordIsWrittenInTheSharedLayout(t *testing.T) {
	notBefore := int64(1700000001000)
	data, err := encode(Record{
		ReservationID: "rsv<1>", BaseURL: "http://localhost", Mode: Event,
		EventBody:    json.RawMessage(`{"idempotency_key":"k<&>é","metadata":{"n":1e3}}`),
		RecordedAtMs: 1700000000000, NotBeforeMs: &notBefore,
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"reservation_id":"rsv<1>","base_url":"http://localhost","mode":"event","commit_body":null,`+
		`"event_fallback_body":{"idempotency_key":"k<&>é","metadata":{"n":1e3}},"recorded_at_ms":1700000000000,"not_before_ms":1700000001000}`,
		string(data))
}

func TestRecordThatCouldNotBeReadBackIsNotWritten(t *testing.T) {
	good := Record{ReservationID: "r", BaseURL: "http://localhost", Mode: Commit, CommitBody: json.RawMessage(`{}`)}
	for name, spoil := range map[string]func(*Record){
		"no id":                 func(r *Record) { r.ReservationID = "" },
		"mode without its body": func(r *Record) { r.Mode = Event },
		"unknown mode":          func(r *Record) { r.Mode = "release" },
		"body is no object":     func(r *Record) { r.CommitBody = json.RawMessage(`[1]`) },
		"body is no JSON":       func(r *Record) { r.CommitBody = json.RawMessage(`{`) },
		"body with a key twice": func(r *Record) { r.CommitBody = json.RawMessage(`{"a":1,"a":2}`) },
		"negative time":         func(r *Record) { r.RecordedAtMs = -1 },
		"too large": func(r *Record) {
			r.CommitBody = json.RawMessage(`{"a":"` + strings.Repeat("x", MaxRecordSize) + `"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec := good
			spoil(&rec)
			_, err := encode(rec, nil)
			assert.Error(t, err)
		})
	}
	_, err := encode(good, nil)
	assert.NoError(t, err)
}

// minimal has what must be there, with room for more.
func minimal(more string) string {
	return `{"version":1,"reservation_id":"r","base_url":"http://localhost","commit_body":{"a":1}` + more + `}`
}

func TestFilesThatAreRecords(t *testing.T) {
	for name, data := range map[string]string{
		"mode absent means commit":       minimal(``),
		"event body null":                minimal(`,"mode":"commit","event_fallback_body":null`),
		"times absent":                   minimal(`,"mode":"commit"`),
		"floor null":                     minimal(`,"not_before_ms":null`),
		"floor zero":                     minimal(`,"not_before_ms":0`),
		"unknown members":                minimal(`,"written_by":{"sdk":"other"}`),
		"latest time":                    minimal(`,"recorded_at_ms":9223372036854775807`),
		"white space around":             " \n" + minimal(``) + "\n",
		"event mode, commit body null":   `{"version":1,"reservation_id":"r","mode":"event","commit_body":null,"event_fallback_body":{}}`,
		"event mode, commit body kept":   minimal(`,"mode":"event","event_fallback_body":{}`),
		"no base URL, so it is nobody's": `{"version":1,"reservation_id":"r","commit_body":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := decode([]byte(data))
			require.NoError(t, err)
			assert.Equal(t, "r", rec.ReservationID)
			assert.NotNil(t, rec.Body())
		})
	}
}

func TestFilesThatAreNotRecords(t *testing.T) {
	for name, data := range map[string]string{
		"empty":                    ``,
		"white space":              "  \n",
		"truncated":                minimal(``)[:60],
		"no object":                `[` + minimal(``) + `]`,
		"null":                     `null`,
		"two documents":            minimal(``) + minimal(``),
		"zeros after a power loss": strings.Repeat("\x00", 512),
		"not UTF-8":                strings.Replace(minimal(``), `"r"`, "\"r\xff\"", 1),
		"half a surrogate":         strings.Replace(minimal(``), `"r"`, `"\ud83d"`, 1),
		"member twice":             minimal(`,"version":1`),
		"version 2":                strings.Replace(minimal(``), `"version":1`, `"version":2`, 1),
		"version as a string":      strings.Replace(minimal(``), `"version":1`, `"version":"1"`, 1),
		"version absent":           strings.Replace(minimal(``), `"version":1,`, ``, 1),
		"id absent":                `{"version":1,"commit_body":{}}`,
		"id empty":                 strings.Replace(minimal(``), `"r"`, `""`, 1),
		"id null":                  strings.Replace(minimal(``), `"r"`, `null`, 1),
		"base URL null":            strings.Replace(minimal(``), `"http://localhost"`, `null`, 1),
		"mode null":                minimal(`,"mode":null`),
		"mode unknown":             minimal(`,"mode":"release"`),
		"mode in another case":     minimal(`,"mode":"Commit"`),
		"commit body absent":       `{"version":1,"reservation_id":"r","base_url":"u"}`,
		"commit body null":         `{"version":1,"reservation_id":"r","base_url":"u","commit_body":null}`,
		"commit body an array":     `{"version":1,"reservation_id":"r","base_url":"u","commit_body":[]}`,
		"event body an array":      minimal(`,"event_fallback_body":[]`),
		"event body a string":      minimal(`,"event_fallback_body":"{}"`),
		"event body false":         minimal(`,"event_fallback_body":false`),
		"event mode without body":  minimal(`,"mode":"event"`),
		"event mode, body null":    minimal(`,"mode":"event","event_fallback_body":null`),
		"event mode, odd commit":   `{"version":1,"reservation_id":"r","base_url":"u","mode":"event","commit_body":7,"event_fallback_body":{}}`,
		"recorded null":            minimal(`,"recorded_at_ms":null`),
		"recorded negative":        minimal(`,"recorded_at_ms":-1`),
		"recorded fractional":      minimal(`,"recorded_at_ms":1.5`),
		"recorded a string":        minimal(`,"recorded_at_ms":"1"`),
		"recorded beyond 64 bits":  minimal(`,"recorded_at_ms":9223372036854775808`),
		"floor negative":           minimal(`,"not_before_ms":-1`),
		"floor fractional":         minimal(`,"not_before_ms":0.1`),
		"floor a bool":             minimal(`,"not_before_ms":true`),
		"body with a member twice": minimal(`,"event_fallback_body":{"a":1,"a":1}`),
		"unknown member broken":    minimal(`,"x":{"a":01}`),
		"nested without end":       minimal(`,"x":` + strings.Repeat("[", 5000)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode([]byte(data))
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "localhost", "an error never repeats the content")
		})
	}
}

func TestDecodedBodiesDoNotAliasTheFile(t *testing.T) {
	data := []byte(minimal(`,"event_fallback_body":{"b":2}`))
	rec, err := decode(data)
	require.NoError(t, err)
	clear(data)
	assert.Equal(t, `{"a":1}`, string(rec.CommitBody))
	assert.Equal(t, `{"b":2}`, string(rec.EventBody))
}

// What the strict reader takes, an ordinary one understands the same way, and
// writing it again changes nothing.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(writtenByTypeScript))
	f.Add([]byte(writtenByPython))
	f.Add([]byte(minimal(`,"mode":"event","event_fallback_body":{"n":1e400},"recorded_at_ms":1e3,"not_before_ms":10.0`)))
	f.Add([]byte(minimal(`,"mode":null`)))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decode(data)
		if err != nil {
			return
		}
		var plain map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &plain))
		var id string
		require.NoError(t, json.Unmarshal(plain["reservation_id"], &id))
		require.Equal(t, id, rec.ReservationID)
		require.NotEmpty(t, id)
		require.GreaterOrEqual(t, rec.RecordedAtMs, int64(0))
		require.True(t, rec.NotBeforeMs == nil || *rec.NotBeforeMs >= 0)
		require.Equal(t, byte('{'), rec.Body()[0])

		again, err := encode(rec, nil)
		require.NoError(t, err)
		back, err := decode(again)
		require.NoError(t, err)
		for _, body := range []struct{ was, is *json.RawMessage }{{&rec.CommitBody, &back.CommitBody}, {&rec.EventBody, &back.EventBody}} {
			require.Equal(t, *body.was == nil, *body.is == nil)
			if *body.was != nil {
				require.Equal(t, canonical(t, *body.was), canonical(t, *body.is))
			}
			*body.was, *body.is = nil, nil
		}
		require.Equal(t, rec, back)
	})
}
