package client

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

const mediaType = "application/json"

// judge decides what a complete answer is: proved, refused or neither.
func (x *exchange) judge(resp *http.Response, body []byte, tooLong bool) error {
	if resp.StatusCode >= 300 {
		return x.refused(resp, body)
	}
	switch {
	case resp.StatusCode != x.success:
		return x.unproved(resp, body, fmt.Sprintf("the documented status is %d", x.success))
	case !isJSON(resp.Header.Get("Content-Type")):
		return x.unproved(resp, body, "the content type is not "+mediaType)
	case tooLong:
		return x.unproved(resp, body, fmt.Sprintf("the body is longer than %d bytes", maxBody))
	}
	if err := x.prove(body); err != nil {
		return x.unproved(resp, body, "the body breaks its schema: "+err.Error())
	}
	return nil
}

// isJSON compares the media type alone: a parameter, even a broken one, says
// nothing about the bytes, which are checked themselves.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), mediaType)
}

func (x *exchange) unproved(resp *http.Response, body []byte, reason string) error {
	const excerpt = 512
	text := x.client.redact(string(body)) // before the cut, which could leave a part of a key
	return &ResponseError{
		Op: x.op, Status: resp.StatusCode, Reason: x.client.redact(reason),
		ContentType: x.client.redact(resp.Header.Get("Content-Type")),
		RequestID:   x.meta.RequestID, TraceID: x.meta.TraceID,
		IdempotencyKey: x.key, ReservationID: x.reservationID, Attempts: x.meta.Attempts,
		excerpt: []byte(text[:min(len(text), excerpt)]),
	}
}

func (x *exchange) refused(resp *http.Response, body []byte) error {
	e := &Error{
		Op: x.op, Status: resp.StatusCode,
		IdempotencyKey: x.key, ReservationID: x.reservationID, Unit: x.unit, Attempts: x.meta.Attempts,
		throttle: retryAfter(resp.Header[headerRetryAfter]),
	}
	e.readBody(body)
	x.client.redactError(e)
	if x.meta.RequestID != "" {
		e.RequestID = x.meta.RequestID
	}
	if x.meta.TraceID != "" {
		e.TraceID = x.meta.TraceID
	}
	return e
}

// readBody takes from an error's body what it can. A member of another type
// than it should be counts as absent, but a body that is not exactly one JSON
// object, or says something twice, says nothing: a code decides whether a
// record of spent money may be dropped.
func (e *Error) readBody(body []byte) {
	var code, message, requestID, traceID string
	var details map[string]any
	var evidence *gen.CyclesEvidenceRef
	d := &decoder{Scanner: strictjson.New(body), reading: reading{lenient: true}}
	text := func(v *string) error {
		if d.Kind() != strictjson.String {
			return d.Skip()
		}
		return anyText(d, v)
	}
	err := d.Members(func(name []byte) error {
		switch string(name) {
		case "error":
			return text(&code)
		case "message":
			return text(&message)
		case "request_id":
			return text(&requestID)
		case "trace_id":
			return text(&traceID)
		case "details":
			if d.Kind() == strictjson.Object {
				return freeForm(d, &details)
			}
		case "cycles_evidence":
			raw, err := d.Raw()
			if err != nil {
				return err
			}
			evidence, _ = evidenceRefSchema.prove(raw, reading{unknown: Ignore})
			return nil
		}
		return d.Skip()
	})
	if err != nil || d.End() != nil {
		return
	}
	e.Code, e.Message, e.RequestID, e.Details, e.Evidence = gen.ErrorCode(code), message, requestID, details, evidence
	if lowerHex(traceID, traceIDLen) {
		e.TraceID = traceID
	}
}
