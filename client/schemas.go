package client

import (
	"errors"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// The schemas of the protocol document's components, member by member in its
// order. Bounds and patterns are those of 0.1.25.16.

var unit = oneOf(gen.UnitEnumUSDMicrocents, gen.UnitEnumTokens, gen.UnitEnumCredits, gen.UnitEnumRiskPoints)

var amount = object(
	required("unit", func(v *gen.Amount) *gen.UnitEnum { return &v.Unit }, unit),
	required("amount", func(v *gen.Amount) *int64 { return &v.Amount }, natural),
).read

var signedAmount = object(
	required("unit", func(v *gen.SignedAmount) *gen.UnitEnum { return &v.Unit }, unit),
	required("amount", func(v *gen.SignedAmount) *int64 { return &v.Amount }, signed),
).read

var balance = object(
	required("scope", func(v *gen.Balance) *string { return &v.Scope }, anyText),
	required("scope_path", func(v *gen.Balance) *string { return &v.ScopePath }, anyText),
	required("remaining", func(v *gen.Balance) *gen.SignedAmount { return &v.Remaining }, signedAmount),
	optional("reserved", func(v *gen.Balance) **gen.Amount { return &v.Reserved }, amount),
	optional("spent", func(v *gen.Balance) **gen.Amount { return &v.Spent }, amount),
	optional("debt", func(v *gen.Balance) **gen.Amount { return &v.Debt }, amount),
	optional("allocated", func(v *gen.Balance) **gen.Amount { return &v.Allocated }, amount),
	optional("overdraft_limit", func(v *gen.Balance) **gen.Amount { return &v.OverdraftLimit }, amount),
	optional("is_over_limit", func(v *gen.Balance) **bool { return &v.IsOverLimit }, boolean),
).read

var (
	balances = list(0, balance)
	scopes   = list(0, anyText)
	tools    = list(0, text(256))
)

var caps = object(
	optional("max_tokens", func(v *gen.Caps) **int64 { return &v.MaxTokens }, natural),
	optional("max_steps_remaining", func(v *gen.Caps) **int64 { return &v.MaxStepsRemaining }, natural),
	optionalIn("tool_allowlist", func(v *gen.Caps) *[]string { return &v.ToolAllowlist }, tools),
	optionalIn("tool_denylist", func(v *gen.Caps) *[]string { return &v.ToolDenylist }, tools),
	optional("cooldown_ms", func(v *gen.Caps) **int64 { return &v.CooldownMs }, natural),
).read

const (
	evidenceIDLen = 64
	signatureLen  = 128
)

var evidenceRefSchema = object(
	required("evidence_id", func(v *gen.CyclesEvidenceRef) *string { return &v.EvidenceID }, hexDigits(evidenceIDLen)),
	required("cycles_evidence_url", func(v *gen.CyclesEvidenceRef) *string { return &v.CyclesEvidenceURL }, anyText),
)

var evidenceRef = evidenceRefSchema.read

var (
	decision   = oneOf(gen.DecisionEnumAllow, gen.DecisionEnumAllowWithCaps, gen.DecisionEnumDeny)
	reasonCode = text(128)
)

// denyDetail is published for 0.1.26 on the answers that can say DENY.
const denyDetail = "deny_detail"

var decisionResponse = extended(object(
	required("decision", func(v *gen.DecisionResponse) *gen.DecisionEnum { return &v.Decision }, decision),
	optional("caps", func(v *gen.DecisionResponse) **gen.Caps { return &v.Caps }, caps),
	optional("reason_code", func(v *gen.DecisionResponse) **string { return &v.ReasonCode }, reasonCode),
	optional("retry_after_ms", func(v *gen.DecisionResponse) **int64 { return &v.RetryAfterMs }, natural),
	optionalIn("affected_scopes", func(v *gen.DecisionResponse) *[]string { return &v.AffectedScopes }, scopes),
	optional("cycles_evidence", func(v *gen.DecisionResponse) **gen.CyclesEvidenceRef { return &v.CyclesEvidence }, evidenceRef),
), denyDetail)

var reservationCreateResponse = extended(object(
	required("decision", func(v *gen.ReservationCreateResponse) *gen.DecisionEnum { return &v.Decision }, decision),
	optional("reservation_id", func(v *gen.ReservationCreateResponse) **string { return &v.ReservationID }, anyText),
	optional("reserved", func(v *gen.ReservationCreateResponse) **gen.Amount { return &v.Reserved }, amount),
	optional("expires_at_ms", func(v *gen.ReservationCreateResponse) **int64 { return &v.ExpiresAtMs }, natural),
	optional("remaining_ttl_ms", func(v *gen.ReservationCreateResponse) **int64 { return &v.RemainingTTLMs }, natural),
	optional("scope_path", func(v *gen.ReservationCreateResponse) **string { return &v.ScopePath }, anyText),
	required("affected_scopes", func(v *gen.ReservationCreateResponse) *[]string { return &v.AffectedScopes }, scopes),
	optional("caps", func(v *gen.ReservationCreateResponse) **gen.Caps { return &v.Caps }, caps),
	optionalIn("balances", func(v *gen.ReservationCreateResponse) *[]gen.Balance { return &v.Balances }, balances),
	optional("reason_code", func(v *gen.ReservationCreateResponse) **string { return &v.ReasonCode }, reasonCode),
	optional("retry_after_ms", func(v *gen.ReservationCreateResponse) **int64 { return &v.RetryAfterMs }, natural),
	optional("cycles_evidence", func(v *gen.ReservationCreateResponse) **gen.CyclesEvidenceRef { return &v.CyclesEvidence }, evidenceRef),
), denyDetail)

var reservationExtendResponse = object(
	required("status", func(v *gen.ReservationExtendResponse) *gen.ReservationExtendResponseStatus { return &v.Status },
		oneOf(gen.ReservationExtendResponseStatusActive)),
	required("expires_at_ms", func(v *gen.ReservationExtendResponse) *int64 { return &v.ExpiresAtMs }, natural),
	optional("remaining_ttl_ms", func(v *gen.ReservationExtendResponse) **int64 { return &v.RemainingTTLMs }, natural),
	optionalIn("balances", func(v *gen.ReservationExtendResponse) *[]gen.Balance { return &v.Balances }, balances),
)

var commitResponse = object(
	required("status", func(v *gen.CommitResponse) *gen.CommitResponseStatus { return &v.Status },
		oneOf(gen.CommitResponseStatusCommitted)),
	required("charged", func(v *gen.CommitResponse) *gen.Amount { return &v.Charged }, amount),
	optional("released", func(v *gen.CommitResponse) **gen.Amount { return &v.Released }, amount),
	optionalIn("balances", func(v *gen.CommitResponse) *[]gen.Balance { return &v.Balances }, balances),
	optional("cycles_evidence", func(v *gen.CommitResponse) **gen.CyclesEvidenceRef { return &v.CyclesEvidence }, evidenceRef),
)

var releaseResponse = object(
	required("status", func(v *gen.ReleaseResponse) *gen.ReleaseResponseStatus { return &v.Status },
		oneOf(gen.ReleaseResponseStatusReleased)),
	required("released", func(v *gen.ReleaseResponse) *gen.Amount { return &v.Released }, amount),
	optionalIn("balances", func(v *gen.ReleaseResponse) *[]gen.Balance { return &v.Balances }, balances),
	optional("cycles_evidence", func(v *gen.ReleaseResponse) **gen.CyclesEvidenceRef { return &v.CyclesEvidence }, evidenceRef),
)

var eventCreateResponse = object(
	required("status", func(v *gen.EventCreateResponse) *gen.EventCreateResponseStatus { return &v.Status },
		oneOf(gen.EventCreateResponseStatusApplied)),
	required("event_id", func(v *gen.EventCreateResponse) *string { return &v.EventID }, anyText),
	optional("charged", func(v *gen.EventCreateResponse) **gen.Amount { return &v.Charged }, amount),
	optionalIn("balances", func(v *gen.EventCreateResponse) *[]gen.Balance { return &v.Balances }, balances),
)

const (
	levelLimit      = 128
	dimensionLimit  = 256
	dimensionsLimit = 16
	tagLimit        = 64
	tagsLimit       = 10
	kindLimit       = 64
	nameLimit       = 256
	keyLimit        = 256
)

var level = text(levelLimit)

var errNoLevel = errors.New("no standard field")

var subject = func() reader[gen.Subject] {
	s := object(
		optional("tenant", func(v *gen.Subject) **string { return &v.Tenant }, level),
		optional("workspace", func(v *gen.Subject) **string { return &v.Workspace }, level),
		optional("app", func(v *gen.Subject) **string { return &v.App }, level),
		optional("workflow", func(v *gen.Subject) **string { return &v.Workflow }, level),
		optional("agent", func(v *gen.Subject) **string { return &v.Agent }, level),
		optional("toolset", func(v *gen.Subject) **string { return &v.Toolset }, level),
		optionalIn("dimensions", func(v *gen.Subject) *map[string]string { return &v.Dimensions }, dimensions),
	)
	s.whole = func(v *gen.Subject) error {
		if !hasLevel(v) {
			return errNoLevel
		}
		return nil
	}
	return s.read
}()

func dimensions(d *decoder, v *map[string]string) error {
	out := make(map[string]string)
	value := text(dimensionLimit)
	err := d.Members(func(key []byte) error {
		if d.lenient && d.Kind() == strictjson.Null {
			return d.Null()
		}
		var s string
		if err := value(d, &s); err != nil {
			return err
		}
		out[string(key)] = s
		if len(out) > dimensionsLimit {
			return errTooMany
		}
		return nil
	})
	*v = out
	return err
}

var action = object(
	required("kind", func(v *gen.Action) *string { return &v.Kind }, text(kindLimit)),
	required("name", func(v *gen.Action) *string { return &v.Name }, text(nameLimit)),
	optionalIn("tags", func(v *gen.Action) *[]string { return &v.Tags }, list(tagsLimit, text(tagLimit))),
).read

var reservationEvidence = object(
	optional("reserve", func(v *gen.ReservationEvidence) **gen.CyclesEvidenceRef { return &v.Reserve }, evidenceRef),
	optional("commit", func(v *gen.ReservationEvidence) **gen.CyclesEvidenceRef { return &v.Commit }, evidenceRef),
	optional("release", func(v *gen.ReservationEvidence) **gen.CyclesEvidenceRef { return &v.Release }, evidenceRef),
).read

func idempotencyKey(d *decoder, v *string) error {
	if err := text(keyLimit)(d, v); err != nil {
		return err
	}
	if *v == "" {
		return errTooShort
	}
	return nil
}

var reservationStatus = oneOf(gen.ReservationStatusActive, gen.ReservationStatusCommitted,
	gen.ReservationStatusReleased, gen.ReservationStatusExpired)

var reservationDetail = object(
	required("reservation_id", func(v *gen.ReservationDetail) *string { return &v.ReservationID }, anyText),
	required("status", func(v *gen.ReservationDetail) *gen.ReservationStatus { return &v.Status }, reservationStatus),
	optional("idempotency_key", func(v *gen.ReservationDetail) **string { return &v.IdempotencyKey }, idempotencyKey),
	required("subject", func(v *gen.ReservationDetail) *gen.Subject { return &v.Subject }, subject),
	required("action", func(v *gen.ReservationDetail) *gen.Action { return &v.Action }, action),
	required("reserved", func(v *gen.ReservationDetail) *gen.Amount { return &v.Reserved }, amount),
	optional("committed", func(v *gen.ReservationDetail) **gen.Amount { return &v.Committed }, amount),
	required("created_at_ms", func(v *gen.ReservationDetail) *int64 { return &v.CreatedAtMs }, signed),
	required("expires_at_ms", func(v *gen.ReservationDetail) *int64 { return &v.ExpiresAtMs }, signed),
	optional("finalized_at_ms", func(v *gen.ReservationDetail) **int64 { return &v.FinalizedAtMs }, signed),
	required("scope_path", func(v *gen.ReservationDetail) *string { return &v.ScopePath }, anyText),
	required("affected_scopes", func(v *gen.ReservationDetail) *[]string { return &v.AffectedScopes }, scopes),
	optionalIn("metadata", func(v *gen.ReservationDetail) *map[string]any { return &v.Metadata }, freeForm),
	optionalIn("committed_metadata", func(v *gen.ReservationDetail) *map[string]any { return &v.CommittedMetadata }, freeForm),
	optional("evidence", func(v *gen.ReservationDetail) **gen.ReservationEvidence { return &v.Evidence }, reservationEvidence),
)

var balanceResponse = object(
	required("balances", func(v *gen.BalanceResponse) *[]gen.Balance { return &v.Balances }, balances),
	optional("next_cursor", func(v *gen.BalanceResponse) **string { return &v.NextCursor }, anyText),
	optional("has_more", func(v *gen.BalanceResponse) **bool { return &v.HasMore }, boolean),
)

func extended[T any](s *schema[T], names ...string) *schema[T] {
	s.extensions = names
	return s
}

// reservationSummary is a row of a list. It has the members of
// reservationDetail, but times that must not be negative.
var reservationSummary = object(
	required("reservation_id", func(v *gen.ReservationSummary) *string { return &v.ReservationID }, anyText),
	required("status", func(v *gen.ReservationSummary) *gen.ReservationStatus { return &v.Status }, reservationStatus),
	optional("idempotency_key", func(v *gen.ReservationSummary) **string { return &v.IdempotencyKey }, idempotencyKey),
	required("subject", func(v *gen.ReservationSummary) *gen.Subject { return &v.Subject }, subject),
	required("action", func(v *gen.ReservationSummary) *gen.Action { return &v.Action }, action),
	required("reserved", func(v *gen.ReservationSummary) *gen.Amount { return &v.Reserved }, amount),
	required("created_at_ms", func(v *gen.ReservationSummary) *int64 { return &v.CreatedAtMs }, natural),
	required("expires_at_ms", func(v *gen.ReservationSummary) *int64 { return &v.ExpiresAtMs }, natural),
	optional("finalized_at_ms", func(v *gen.ReservationSummary) **int64 { return &v.FinalizedAtMs }, natural),
	required("scope_path", func(v *gen.ReservationSummary) *string { return &v.ScopePath }, anyText),
	required("affected_scopes", func(v *gen.ReservationSummary) *[]string { return &v.AffectedScopes }, scopes),
	optional("committed", func(v *gen.ReservationSummary) **gen.Amount { return &v.Committed }, amount),
	optionalIn("metadata", func(v *gen.ReservationSummary) *map[string]any { return &v.Metadata }, freeForm),
	optionalIn("committed_metadata", func(v *gen.ReservationSummary) *map[string]any { return &v.CommittedMetadata }, freeForm),
	optional("evidence", func(v *gen.ReservationSummary) **gen.ReservationEvidence { return &v.Evidence }, reservationEvidence),
).read

var reservationListResponse = object(
	required("reservations", func(v *gen.ReservationListResponse) *[]gen.ReservationSummary { return &v.Reservations },
		list(0, reservationSummary)),
	optional("next_cursor", func(v *gen.ReservationListResponse) **string { return &v.NextCursor }, anyText),
	optional("has_more", func(v *gen.ReservationListResponse) **bool { return &v.HasMore }, boolean),
)
