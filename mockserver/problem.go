package mockserver

import (
	"fmt"
	"net/http"

	"github.com/cycles-protocol/cycles-go/gen"
	"github.com/cycles-protocol/cycles-go/mockserver/internal/ledger"
)

// problem is an error as it is answered.
type problem struct {
	status  int
	code    gen.ErrorCode
	message string
	details map[string]any
	header  http.Header
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.status, p.code, p.message) }

func invalidRequest(format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, code: gen.ErrorCodeInvalidRequest, message: fmt.Sprintf(format, args...)}
}

// denied is the answer to what the ledger refused.
func denied(d *ledger.Denial) *problem {
	p := &problem{status: statusOf(d.Code), code: d.Code, message: d.Message, details: d.Details}
	if d.Conflict {
		p.status = http.StatusConflict
	}
	return p
}

func statusOf(code gen.ErrorCode) int {
	switch code {
	case gen.ErrorCodeInvalidRequest, gen.ErrorCodeUnitMismatch:
		return http.StatusBadRequest
	case gen.ErrorCodeUnauthorized:
		return http.StatusUnauthorized
	case gen.ErrorCodeForbidden:
		return http.StatusForbidden
	case gen.ErrorCodeNotFound:
		return http.StatusNotFound
	case gen.ErrorCodeReservationExpired:
		return http.StatusGone
	case gen.ErrorCodeLimitExceeded:
		return http.StatusTooManyRequests
	case gen.ErrorCodeInternalError:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}

// codeOf is the error code that fits a status, for answers that name none.
func codeOf(status int) gen.ErrorCode {
	switch {
	case status == http.StatusUnauthorized:
		return gen.ErrorCodeUnauthorized
	case status == http.StatusForbidden:
		return gen.ErrorCodeForbidden
	case status == http.StatusNotFound:
		return gen.ErrorCodeNotFound
	case status == http.StatusConflict:
		return gen.ErrorCodeReservationFinalized
	case status == http.StatusGone:
		return gen.ErrorCodeReservationExpired
	case status == http.StatusTooManyRequests:
		return gen.ErrorCodeLimitExceeded
	case status >= http.StatusInternalServerError:
		return gen.ErrorCodeInternalError
	}
	return gen.ErrorCodeInvalidRequest
}
