package settlement

import (
	"encoding/json"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/cycles-protocol/cycles-go/client"
	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
	"github.com/cycles-protocol/cycles-go/lease/settlement/internal/journal"
)

// What the metadata of an event tells that stands for a commit, in all SDKs.
const (
	metaRecoveredID    = "recovered_reservation_id"
	metaRecoveryReason = "recovery_reason"
	recoveryReason     = "commit_after_reservation_expired"
)

// Spend is what was really used under a reservation.
type Spend struct {
	ReservationID string
	// Created is the request that made the reservation. It says for whom and for
	// what the spend was, should it have to be told as an event.
	Created gen.ReservationCreateRequest
	// Commit is the request to settle with. An empty idempotency key is filled.
	Commit gen.CommitRequest
}

// Begin fixes key and bytes of a settlement. It neither sends nor writes, and
// later changes to the maps and pointers inside the spend do not reach it. Its
// error is a *client.RequestError: the server would refuse the commit as it is.
func (s *Settler) Begin(spend Spend) (*Settlement, error) {
	commit := spend.Commit
	if commit.IdempotencyKey == "" {
		commit.IdempotencyKey = uuid.NewString()
	}
	if err := check(commit); err != nil {
		return nil, err
	}
	commitBody, err := json.Marshal(commit)
	if err != nil {
		return nil, invalid("metadata", fmt.Sprintf("made of values that JSON can hold (%v)", err))
	}
	eventBody, err := json.Marshal(s.event(spend, commit))
	if err != nil {
		return nil, invalid("metadata", fmt.Sprintf("made of values that JSON can hold (%v)", err))
	}
	x := s.settlement(journal.Record{
		ReservationID: spend.ReservationID, BaseURL: s.client.BaseURL(), Mode: journal.Commit,
		CommitBody: commitBody, EventBody: eventBody,
	})
	x.result.IdempotencyKey, x.result.Actual = commit.IdempotencyKey, commit.Actual
	return x, nil
}

// event tells the commit without its reservation, under the same key. It has no
// overage policy: the default never refuses.
func (s *Settler) event(spend Spend, commit gen.CommitRequest) gen.EventCreateRequest {
	return gen.EventCreateRequest{
		IdempotencyKey: commit.IdempotencyKey,
		Subject:        s.client.Subject(spend.Created.Subject),
		Action:         spend.Created.Action,
		Actual:         commit.Actual,
		Metrics:        commit.Metrics,
		Metadata:       with(with(commit.Metadata, metaRecoveredID, spend.ReservationID), metaRecoveryReason, recoveryReason),
	}
}

func with(metadata map[string]any, key, value string) map[string]any {
	out := maps.Clone(metadata)
	if out == nil {
		out = make(map[string]any, 1)
	}
	out[key] = value
	return out
}

func invalid(field, limit string) error {
	return &client.RequestError{Op: client.OpCommitReservation, Field: field, Limit: limit}
}

// check refuses what the server would refuse for its form, while the caller can
// still do something about it: afterwards it would be a dead letter.
func check(c gen.CommitRequest) error {
	const maxKey, maxModel = 256, 128
	if n := utf8.RuneCountInString(c.IdempotencyKey); n > maxKey || !utf8.ValidString(c.IdempotencyKey) {
		return invalid("idempotency_key", "1..256 characters")
	}
	if c.Actual.Amount < 0 {
		return invalid("actual.amount", "at least 0")
	}
	if c.Actual.Unit == "" {
		return invalid("actual.unit", "the unit of the reservation")
	}
	m := c.Metrics
	if m == nil {
		return nil
	}
	for _, count := range [...]struct {
		name  string
		value *int64
	}{{"tokens_input", m.TokensInput}, {"tokens_output", m.TokensOutput}, {"latency_ms", m.LatencyMs}} {
		if count.value != nil && *count.value < 0 {
			return invalid("metrics."+count.name, "at least 0")
		}
	}
	if m.ModelVersion != nil && utf8.RuneCountInString(*m.ModelVersion) > maxModel {
		return invalid("metrics.model_version", "0..128 characters")
	}
	return nil
}

// actualOf reads the amount of a recorded body; nil when it has none, or does
// not parse.
func actualOf(body json.RawMessage) *gen.Amount {
	var told struct {
		Actual *gen.Amount `json:"actual"`
	}
	if json.Unmarshal(body, &told) != nil {
		return nil
	}
	return told.Actual
}

// keyOf reads the idempotency key of a recorded body; empty when it has none.
func keyOf(body json.RawMessage) (key string) {
	s := strictjson.New(body)
	_ = s.Members(func(name []byte) (err error) {
		if string(name) == "idempotency_key" && s.Kind() == strictjson.String {
			key, err = s.Str()
			return err
		}
		return s.Skip()
	})
	return key
}

// hasMembers reports whether a body is an object that says anything.
func hasMembers(body json.RawMessage) bool {
	if len(body) == 0 {
		return false
	}
	s := strictjson.New(body)
	if s.OpenObject() != nil {
		return false
	}
	_, ok, err := s.NextMember()
	return ok && err == nil
}
