package client

import (
	"context"
	"iter"
)

// Page is one page of a listing. The filters it was asked with are pinned: the
// pages that follow cannot be asked with others, which a server answers with 400
// or, worse, with rows of another listing.
type Page[T any] struct {
	Items []T
	// Cursor leads to the next page. It is opaque and empty on the last one.
	Cursor string
	// HasMore says whether Next will ask the server. The page behind it may
	// still be empty.
	HasMore bool

	op  Op
	ask ask[T]
}

// ask sends the pinned request with the given cursor and returns what is on the
// page, next_cursor and has_more.
type ask[T any] func(ctx context.Context, cursor *string) ([]T, *string, *bool, error)

func (f ask[T]) page(ctx context.Context, op Op, cursor *string) (*Page[T], error) {
	items, next, more, err := f(ctx, cursor)
	if err != nil {
		return nil, err
	}
	p := &Page[T]{Items: items, op: op, ask: f}
	if next != nil && *next != "" && (more == nil || *more) {
		p.Cursor, p.HasMore = *next, true
	}
	return p, nil
}

// Next fetches the page behind this one, and nil when there is none. A server
// that answers with the cursor it was asked with would have its client turn in
// circles; that is a *ResponseError.
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if !p.HasMore {
		return nil, nil
	}
	following, err := p.ask.page(ctx, p.op, &p.Cursor)
	if err != nil {
		return nil, err
	}
	if following.HasMore && following.Cursor == p.Cursor {
		return nil, &ResponseError{Op: p.op, Status: 200, Reason: "the cursor of the next page is that of this one"}
	}
	return following, nil
}

// All yields the items of this page and of all behind it, fetching as it goes.
// After an error, which comes with a zero item, it ends. A server that lists
// without a sort order may show a row twice or miss one that changes meanwhile.
func (p *Page[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := p; page != nil; {
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			var err error
			if page, err = page.Next(ctx); err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}
