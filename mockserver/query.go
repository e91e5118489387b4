package mockserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"unicode/utf8"
)

// query holds the parameters of a request. Names that the operation does not
// know are ignored, as the protocol wants it.
type query map[string][]string

func parseQuery(raw string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalidRequest("the query is malformed")
	}
	for _, v := range values {
		for _, s := range v {
			if !utf8.ValidString(s) {
				return nil, invalidRequest("the query is not UTF-8")
			}
		}
	}
	return query(values), nil
}

func (q query) first(name string) (value string, given bool) {
	if values := q[name]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// limit is the page size; a blank one is the default.
func (q query) limit() (int, error) {
	v, _ := q.first("limit")
	if v == "" {
		return defaultLimit, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > maxLimit {
		return 0, invalidRequest("limit has to be an integer between 1 and %d", maxLimit)
	}
	return int(n), nil
}

func (q query) boolean(name string) (bool, error) {
	switch v, _ := q.first(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, invalidRequest("%s has to be true or false", name)
}

// encodeCursor makes a cursor of what the next page needs to know.
func encodeCursor(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // cursors hold strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

var errForeignCursor = invalidRequest("the cursor is not one that this server gave")

// decodeCursor reads back what encodeCursor made and refuses anything else.
func decodeCursor(cursor string, v any) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(v)
	}
	if err != nil || encodeCursor(v) != cursor {
		return errForeignCursor
	}
	return nil
}
