package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/cycles-protocol/cycles-go/gen"
)

var listReservations = operation[gen.ReservationListResponse]{
	op: OpListReservations, status: http.StatusOK, answer: reservationListResponse, lenient: true, access: tenantOrAdminKey}

// ListReservations reads one page of reservations; Reservations walks over all
// of them. With AsAdmin the protocol needs a tenant to filter by; without one,
// that of WithSubject is used. A server need not offer this operation.
func (c *Client) ListReservations(ctx context.Context, params gen.ListReservationsParams, opts ...CallOption) (*gen.ReservationListResponse, error) {
	x := begin(c, &listReservations, opts)
	if x.options.admin && params.Tenant == nil {
		params.Tenant = c.cfg.subject.Tenant
	}
	x.require(!x.options.admin || params.Tenant != nil && *params.Tenant != "", "tenant", "given with AsAdmin")
	x.listParams(&params)
	return x.send(ctx, true, func(io.Reader) (*http.Request, error) {
		return gen.NewListReservationsRequest(c.server, &params)
	})
}

func (k *checker) listParams(p *gen.ListReservationsParams) {
	if p.IdempotencyKey != nil {
		k.text("idempotency_key", *p.IdempotencyKey, 1, keyLimit)
	}
	if p.Status != nil {
		k.require(slices.Contains([]gen.ReservationStatus{gen.ReservationStatusActive, gen.ReservationStatusCommitted,
			gen.ReservationStatusReleased, gen.ReservationStatusExpired}, *p.Status),
			"status", "ACTIVE, COMMITTED, RELEASED or EXPIRED")
	}
	if p.SortBy != nil {
		k.require(slices.Contains([]gen.ListReservationsParamsSortBy{gen.ListReservationsParamsSortByReservationID,
			gen.ListReservationsParamsSortByTenant, gen.ListReservationsParamsSortByScopePath,
			gen.ListReservationsParamsSortByStatus, gen.ListReservationsParamsSortByReserved,
			gen.ListReservationsParamsSortByCreatedAtMs, gen.ListReservationsParamsSortByExpiresAtMs}, *p.SortBy),
			"sort_by", "reservation_id, tenant, scope_path, status, reserved, created_at_ms or expires_at_ms")
	}
	if p.SortDir != nil {
		k.require(*p.SortDir == gen.SortDirectionAsc || *p.SortDir == gen.SortDirectionDesc, "sort_dir", "asc or desc")
	}
	k.window("from", "to", p.From, p.To)
	k.window("expires_from", "expires_to", p.ExpiresFrom, p.ExpiresTo)
	k.window("finalized_from", "finalized_to", p.FinalizedFrom, p.FinalizedTo)
	k.number("limit", p.Limit, 1, maxPage)
}

func (k *checker) window(from, to string, first, last *time.Time) {
	k.require(first == nil || last == nil || !first.After(*last), from, "not later than "+to)
}

// Reservations walks over all reservations that match params, from its cursor
// on or from the beginning. WithMeta on it describes the last page fetched.
func (c *Client) Reservations(ctx context.Context, params gen.ListReservationsParams, opts ...CallOption) (*Page[gen.ReservationSummary], error) {
	params = pinListParams(params)
	return ask[gen.ReservationSummary](func(ctx context.Context, cursor *string) ([]gen.ReservationSummary, *string, *bool, error) {
		following := params
		following.Cursor = cursor
		answer, err := c.ListReservations(ctx, following, opts...)
		if err != nil {
			return nil, nil, nil, err
		}
		return answer.Reservations, answer.NextCursor, answer.HasMore, nil
	}).page(ctx, OpListReservations, params.Cursor)
}

// pinListParams copies what the pointers lead to.
func pinListParams(p gen.ListReservationsParams) gen.ListReservationsParams {
	for _, text := range []**string{&p.IdempotencyKey, &p.Tenant, &p.Workspace, &p.App, &p.Workflow, &p.Agent, &p.Toolset, &p.Cursor} {
		pin(text)
	}
	for _, at := range []**time.Time{&p.From, &p.To, &p.ExpiresFrom, &p.ExpiresTo, &p.FinalizedFrom, &p.FinalizedTo} {
		pin(at)
	}
	pin(&p.Status)
	pin(&p.SortBy)
	pin(&p.SortDir)
	pin(&p.Limit)
	p.Include = slices.Clone(p.Include)
	return p
}

func pin[T any](p **T) {
	if *p != nil {
		v := **p
		*p = &v
	}
}

// FindReservation finds the reservation that a create with this idempotency
// key made. It is the way back from a create whose outcome is unknown: a
// *NoReservationError says that none was made (or that the server does not keep
// keys), so that nothing is held.
func (c *Client) FindReservation(ctx context.Context, idempotencyKey string, opts ...CallOption) (*gen.ReservationSummary, error) {
	page, err := c.Reservations(ctx, gen.ListReservationsParams{IdempotencyKey: &idempotencyKey}, opts...)
	if err != nil {
		return nil, err
	}
	for row, err := range page.All(ctx) {
		if err != nil {
			return nil, err
		}
		// A server that ignores the filter lists all it has.
		if row.IdempotencyKey != nil && *row.IdempotencyKey == idempotencyKey {
			return &row, nil
		}
	}
	return nil, &NoReservationError{IdempotencyKey: idempotencyKey}
}

// NoReservationError says that the server lists no reservation with the key.
// It is ErrNotFound to errors.Is.
type NoReservationError struct{ IdempotencyKey string }

func (e *NoReservationError) Error() string {
	return fmt.Sprintf("cycles: no reservation was made with key %q", clip(e.IdempotencyKey))
}

// Is makes it match ErrNotFound.
func (e *NoReservationError) Is(target error) bool { return target == error(ErrNotFound) }

func (e *NoReservationError) outcome() Outcome { return Rejected }
