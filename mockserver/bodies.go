package mockserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// The members of the request schemas, the required ones first.
var (
	subjectShape = shape{names: append(slices.Clone(ledger.Levels[:]), "dimensions")}
	actionShape  = shape{required: 2, names: []string{"kind", "name", "tags"}}
	metricsShape = shape{names: []string{"tokens_input", "tokens_output", "latency_ms", "model_version", "custom"}}
	decideShape  = shape{required: 4, names: []string{"idempotency_key", "subject", "action", "estimate", "metadata"}}
	reserveShape = shape{required: 4, names: []string{"idempotency_key", "subject", "action", "estimate",
		"ttl_ms", "grace_period_ms", "overage_policy", "dry_run", "metadata"}}
	commitShape  = shape{required: 2, names: []string{"idempotency_key", "actual", "metrics", "metadata"}}
	releaseShape = shape{required: 1, names: []string{"idempotency_key", "reason"}}
	extendShape  = shape{required: 2, names: []string{"idempotency_key", "extend_by_ms", "metadata"}}
	eventShape   = shape{required: 4, names: []string{"idempotency_key", "subject", "action", "actual",
		"overage_policy", "metrics", "client_time_ms", "metadata"}}
)

func decodeReserve(body []byte, q *ledger.Reserve) error {
	q.Grace = defaultGrace
	return decode(body, &reserveShape, func(r *bodyReader, member string) error {
		switch member {
		case "ttl_ms":
			return r.optional(member, minTTL, maxTTL, &q.TTL)
		case "grace_period_ms":
			return r.integer(member, 0, maxGrace, &q.Grace)
		case "overage_policy":
			return oneOf(r, member, overagePolicies, &q.Overage)
		case "dry_run":
			return r.boolean(&q.DryRun)
		}
		return r.spend(member, &q.Spend)
	})
}

func decodeDecide(body []byte, q *ledger.Decide) error {
	return decode(body, &decideShape, func(r *bodyReader, member string) error { return r.spend(member, &q.Spend) })
}

func decodeEvent(body []byte, q *ledger.Event) error {
	return decode(body, &eventShape, func(r *bodyReader, member string) error {
		switch member {
		case "overage_policy":
			return oneOf(r, member, overagePolicies, &q.Overage)
		case "metrics":
			return r.metrics()
		case "client_time_ms":
			var advisory int64
			return r.integer(member, 0, math.MaxInt64, &advisory)
		}
		return r.spend(member, &q.Spend)
	})
}

func decodeCommit(body []byte, q *ledger.Commit) error {
	return decode(body, &commitShape, func(r *bodyReader, member string) error {
		switch member {
		case "actual":
			return r.amount(member, &q.Unit, &q.Amount)
		case "metrics":
			return r.metrics()
		case "metadata":
			return r.anyObject(&q.Metadata)
		}
		return r.key(&q.Key)
	})
}

func decodeRelease(body []byte, q *ledger.Release) error {
	return decode(body, &releaseShape, func(r *bodyReader, member string) error {
		if member == "reason" {
			var reason string
			return r.text(member, 0, maxReasonLength, &reason)
		}
		return r.key(&q.Key)
	})
}

func decodeExtend(body []byte, q *ledger.Extend) error {
	return decode(body, &extendShape, func(r *bodyReader, member string) error {
		switch member {
		case "extend_by_ms":
			return r.integer(member, minExtend, maxExtend, &q.By)
		case "metadata":
			return r.ignoredObject()
		}
		return r.key(&q.Key)
	})
}

func (r *bodyReader) key(into *string) error {
	return r.text("idempotency_key", 1, maxKeyLength, into)
}

// spend reads the members that decide, reserve and event share.
func (r *bodyReader) spend(member string, into *ledger.Spend) error {
	switch member {
	case "subject":
		return r.subject(&into.Subject)
	case "action":
		return r.action(&into.Action)
	case "estimate", "actual":
		return r.amount(member, &into.Unit, &into.Amount)
	case "metadata":
		return r.anyObject(&into.Metadata)
	}
	return r.key(&into.Key)
}

func (r *bodyReader) subject(into *ledger.Subject) error {
	given := false
	err := r.within("subject", &subjectShape, func(member string) error {
		if member == "dimensions" {
			return r.dimensions(&into.Dimensions)
		}
		given = true
		level := &into.Level[slices.Index(ledger.Levels[:], member)]
		if err := r.text(member, 1, maxIDLength, level); err != nil {
			return err
		}
		if !ledger.ValidValue(*level) {
			return r.invalid(member, "may hold A-Z a-z 0-9 _ . - only")
		}
		return nil
	})
	if err == nil && !given {
		return r.invalid("subject", "needs at least one of tenant, workspace, app, workflow, agent, toolset")
	}
	return err
}

func (r *bodyReader) dimensions(into *json.RawMessage) error {
	start := r.scan
	n := 0
	err := r.scan.Members(func([]byte) error {
		value, err := r.scan.Text()
		if err != nil {
			return r.malformed(err)
		}
		if n++; n > maxDimensions {
			return r.invalid("dimensions", fmt.Sprintf("has more than %d members", maxDimensions))
		}
		if utf8.RuneCount(value) > maxDimensionLength {
			return r.invalid("dimensions", fmt.Sprintf("has a value of more than %d characters", maxDimensionLength))
		}
		return nil
	})
	var p *problem
	switch {
	case errors.As(err, &p):
		return err
	case err != nil:
		return r.malformed(err)
	}
	r.scan = start
	return r.anyObject(into)
}

func (r *bodyReader) action(into *gen.Action) error {
	return r.within("action", &actionShape, func(member string) error {
		switch member {
		case "kind":
			return r.text(member, 0, maxKindLength, &into.Kind)
		case "name":
			return r.text(member, 0, maxNameLength, &into.Name)
		}
		return r.texts(member, maxTags, maxTagLength, &into.Tags)
	})
}

// metrics checks the metrics of a commit or event. They change no answer, so
// they are not kept.
func (r *bodyReader) metrics() error {
	var number int64
	var model string
	return r.within("metrics", &metricsShape, func(member string) error {
		switch member {
		case "model_version":
			return r.text(member, 0, maxModelLength, &model)
		case "custom":
			return r.ignoredObject()
		}
		return r.integer(member, 0, math.MaxInt64, &number)
	})
}
