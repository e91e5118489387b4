package client

import (
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
)

// redact takes the client's keys out of a text that came from the server.
func (c *Client) redact(s string) string {
	for _, key := range [...]secret{c.cfg.apiKey, c.cfg.adminKey} {
		if key != nil {
			s = strings.ReplaceAll(s, key(), "[redacted]")
		}
	}
	return s
}

// redactError does so with what was read from a refusal: after the reading,
// since JSON has several ways to write a character of a key.
func (c *Client) redactError(e *Error) {
	e.Code = gen.ErrorCode(c.redact(string(e.Code)))
	e.Message, e.RequestID = c.redact(e.Message), c.redact(e.RequestID)
	if e.Details != nil {
		e.Details = c.redactObject(e.Details)
	}
	if e.Evidence != nil {
		e.Evidence.CyclesEvidenceURL = c.redact(e.Evidence.CyclesEvidenceURL)
	}
}

func (c *Client) redactObject(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, value := range object {
		out[c.redact(name)] = c.redactValue(value)
	}
	return out
}

func (c *Client) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return c.redact(v)
	case []any:
		for i := range v {
			v[i] = c.redactValue(v[i])
		}
	case map[string]any:
		return c.redactObject(v)
	}
	return v
}
