package client

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Limits of requests, from the schemas and parameters of the protocol document.
const (
	idLimit     = 128
	reasonLimit = 256
	modelLimit  = 128
	minTTL      = 1000
	maxTTL      = 86_400_000
	maxGrace    = 60_000
	maxExtend   = 86_400_000
	maxPage     = 200
)

// length counts characters as the protocol does: code points of valid UTF-8.
func length(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return utf8.ValidString(s) && least <= n && n <= most
}

// checker keeps the first rule that a request breaks.
type checker struct {
	of     Op
	broken *RequestError
}

func (k *checker) require(ok bool, field, limit string) {
	if !ok && k.broken == nil {
		k.broken = &RequestError{Op: k.of, Field: field, Limit: limit}
	}
}

func (k *checker) text(field, value string, least, most int) {
	if !length(value, least, most) {
		k.require(false, field, fmt.Sprintf("%d..%d characters", least, most))
	}
}

func (k *checker) optionalText(field string, value *string, most int) {
	if value != nil {
		k.text(field, *value, 0, most)
	}
}

func (k *checker) number(field string, value *int64, least, most int64) {
	if value != nil && (*value < least || *value > most) {
		k.require(false, field, fmt.Sprintf("%d..%d", least, most))
	}
}

func (k *checker) notNegative(field string, value *int64) {
	if value != nil {
		k.require(*value >= 0, field, "at least 0")
	}
}

func (k *checker) amount(field string, a gen.Amount) {
	k.require(knownUnit(a.Unit), field+".unit", "USD_MICROCENTS, TOKENS, CREDITS or RISK_POINTS")
	k.notNegative(field+".amount", &a.Amount)
}

func knownUnit(u gen.UnitEnum) bool {
	return slices.Contains([]gen.UnitEnum{gen.UnitEnumUSDMicrocents, gen.UnitEnumTokens, gen.UnitEnumCredits, gen.UnitEnumRiskPoints}, u)
}

// subject refuses characters that scope paths use as delimiters: the protocol
// lets a server reject them, so a request with them is not portable, and a
// template that was never filled in is caught before it reserves.
func (k *checker) subject(s gen.Subject) {
	k.require(hasLevel(&s), "subject", "given at least one of tenant, workspace, app, workflow, agent, toolset")
	for _, level := range subjectLevels {
		if v := *level.at(&s); v != nil {
			k.require(length(*v, 1, levelLimit) && !strings.ContainsFunc(*v, notScopeRune),
				"subject."+level.name, "1..128 characters of a-z A-Z 0-9 _ . -")
		}
	}
	k.dimensions(s.Dimensions)
}

func (k *checker) dimensions(d map[string]string) {
	k.require(len(d) <= dimensionsLimit, "subject.dimensions", "at most 16 entries")
	for name, value := range d {
		k.require(utf8.ValidString(name), "subject.dimensions", "named in valid UTF-8")
		k.text("subject.dimensions."+strings.ToValidUTF8(name, "?"), value, 0, dimensionLimit)
	}
}

func notScopeRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}

// spending checks what the three operations that name a planned or done action
// have in common.
func (k *checker) spending(s gen.Subject, a gen.Action, field string, amount gen.Amount) {
	k.subject(s)
	k.action(a)
	k.amount(field, amount)
}

func (k *checker) action(a gen.Action) {
	k.text("action.kind", a.Kind, 1, kindLimit)
	k.text("action.name", a.Name, 1, nameLimit)
	k.require(len(a.Tags) <= tagsLimit, "action.tags", "at most 10 tags")
	for i, tag := range a.Tags {
		k.text(fmt.Sprintf("action.tags[%d]", i), tag, 0, tagLimit)
	}
}

func (k *checker) overage(p *gen.CommitOveragePolicy) {
	if p != nil {
		k.require(slices.Contains([]gen.CommitOveragePolicy{gen.CommitOveragePolicyReject,
			gen.CommitOveragePolicyAllowIfAvailable, gen.CommitOveragePolicyAllowWithOverdraft}, *p),
			"overage_policy", "REJECT, ALLOW_IF_AVAILABLE or ALLOW_WITH_OVERDRAFT")
	}
}

func (k *checker) metrics(m *gen.StandardMetrics) {
	if m == nil {
		return
	}
	k.notNegative("metrics.tokens_input", m.TokensInput)
	k.notNegative("metrics.tokens_output", m.TokensOutput)
	k.notNegative("metrics.latency_ms", m.LatencyMs)
	k.optionalText("metrics.model_version", m.ModelVersion, modelLimit)
}
