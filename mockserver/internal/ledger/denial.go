package ledger

import (
	"fmt"

	"github.com/cycles-protocol/cycles-go/gen"
)

// Denial is the error of every step that was refused.
type Denial struct {
	Code    gen.ErrorCode
	Message string
	// Details says more to a program; may be nil.
	Details map[string]any
	// Conflict tells a collision with what exists from a mistake in the request
	// itself, where the code alone does not.
	Conflict bool
}

func (d *Denial) Error() string { return fmt.Sprintf("%s: %s", d.Code, d.Message) }

func deny(code gen.ErrorCode, format string, args ...any) *Denial {
	return &Denial{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Denial {
	return deny(gen.ErrorCodeInvalidRequest, format, args...)
}

func conflict(format string, args ...any) *Denial {
	d := invalid(format, args...)
	d.Conflict = true
	return d
}
