package suite

import (
	"context"
	"fmt"
	"net/http"

	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// Books is what a balance says of one budget. Absent amounts are zero.
type Books struct {
	Remaining, Reserved, Spent, Debt, Allocated, OverdraftLimit int64
	// Hides says which amounts were absent. A server must show remaining only.
	Hides Hidden
	// Complete says that allocated, spent and reserved were all present (a debt
	// of zero may be left out), so that the ledger invariant can be checked.
	Complete  bool
	OverLimit bool
}

// Hidden are the amounts that a balance does not show.
type Hidden struct{ Reserved, Spent, Debt bool }

// Invariant is allocated - spent - reserved - debt, which remaining must be.
func (b Books) Invariant() int64 { return b.Allocated - b.Spent - b.Reserved - b.Debt }

func (b Books) String() string {
	return fmt.Sprintf("remaining %d, reserved %d, spent %d, debt %d, over-limit %t", b.Remaining, b.Reserved, b.Spent, b.Debt, b.OverLimit)
}

// Scopes returns the scope paths that a server derives from the subject of a
// request, outermost first.
func Scopes(subject map[string]any) []string {
	names := make(map[string]string, len(subject))
	for level, name := range subject {
		names[level] = fmt.Sprint(name)
	}
	return target.Scopes(names)
}

// Books reads what the server's books say of the budget. The check must declare
// Balances. It ends without a verdict when the budget is not shown.
func (t *T) Books(ctx context.Context, b *target.Budget) Books {
	books, found, _ := FindBooks(b, func(r *Request) (*Answer, error) {
		a := t.Do(ctx, r)
		t.Given(a, http.StatusOK)
		return a, nil
	})
	if !found {
		t.stop(verdict{outcome: Errored, got: "no ground for the check: the balances do not show the budget of " + b.ScopePath()})
	}
	return books
}

// FindBooks looks for the budget in the pages of its balances.
func FindBooks(b *target.Budget, do func(*Request) (*Answer, error)) (books Books, found bool, err error) {
	const pages = 100 // more would be a cursor that goes round in circles
	r := balancesOf(b)
	for range pages {
		a, err := do(r)
		if err != nil {
			return Books{}, false, err
		}
		if books, ok := BooksIn(a, b); ok {
			return books, true, nil
		}
		next := a.Str("next_cursor")
		if next == "" {
			break
		}
		r = r.WithQuery("cursor", next)
	}
	return Books{}, false, nil
}

// BooksIn reads the budget's entry among the balances of an answer.
func BooksIn(a *Answer, b *target.Budget) (Books, bool) {
	for _, item := range a.Items("balances") {
		path, _ := Lookup(item, "scope_path")
		unit, _ := Lookup(item, "remaining.unit")
		if path != b.ScopePath() || unit != b.Unit {
			continue
		}
		amount := func(member string) (int64, bool) {
			v, _ := Lookup(item, member+".amount")
			return Integer(v)
		}
		var (
			books                       Books
			spent, held, owed, allotted bool
		)
		books.Remaining, _ = amount("remaining")
		books.Reserved, held = amount("reserved")
		books.Spent, spent = amount("spent")
		books.Allocated, allotted = amount("allocated")
		books.Debt, owed = amount("debt")
		books.OverdraftLimit, _ = amount("overdraft_limit")
		books.Hides = Hidden{Reserved: !held, Spent: !spent, Debt: !owed}
		books.Complete = spent && held && allotted
		over, _ := Lookup(item, "is_over_limit")
		books.OverLimit = over == true
		return books, true
	}
	return Books{}, false
}

// WantBooks wants the books of the budget to be so. Compare what Books
// returned before with what it returns now; allocated and overdraft_limit are
// not looked at, and neither is what the server does not show.
func (t *T) WantBooks(ctx context.Context, b *target.Budget, want Books) {
	got := t.Books(ctx, b)
	want.Allocated, want.OverdraftLimit, want.Complete, want.Hides = got.Allocated, got.OverdraftLimit, got.Complete, got.Hides
	if got.Hides.Reserved {
		want.Reserved = 0
	}
	if got.Hides.Spent {
		want.Spent = 0
	}
	if got.Hides.Debt {
		want.Debt = 0
	}
	if got != want {
		t.fail(nil, "the books of "+b.ScopePath()+" say "+want.String(), got.String())
	}
}
