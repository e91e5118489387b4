package client

import "github.com/cycles-protocol/cycles-go/gen"

// One value per code of the protocol's ErrorCode, for errors.Is. They compare
// the code alone: errors.Is(err, ErrBudgetExceeded) holds for any *Error that
// carries BUDGET_EXCEEDED. To decide what to do next, prefer OutcomeOf, which
// also looks at the status.
const (
	ErrInvalidRequest         = codeError(gen.ErrorCodeInvalidRequest)
	ErrUnauthorized           = codeError(gen.ErrorCodeUnauthorized)
	ErrForbidden              = codeError(gen.ErrorCodeForbidden)
	ErrNotFound               = codeError(gen.ErrorCodeNotFound)
	ErrBudgetExceeded         = codeError(gen.ErrorCodeBudgetExceeded)
	ErrBudgetFrozen           = codeError(gen.ErrorCodeBudgetFrozen)
	ErrBudgetClosed           = codeError(gen.ErrorCodeBudgetClosed)
	ErrReservationExpired     = codeError(gen.ErrorCodeReservationExpired)
	ErrReservationFinalized   = codeError(gen.ErrorCodeReservationFinalized)
	ErrIdempotencyMismatch    = codeError(gen.ErrorCodeIdempotencyMismatch)
	ErrUnitMismatch           = codeError(gen.ErrorCodeUnitMismatch)
	ErrOverdraftLimitExceeded = codeError(gen.ErrorCodeOverdraftLimitExceeded)
	ErrDebtOutstanding        = codeError(gen.ErrorCodeDebtOutstanding)
	ErrMaxExtensionsExceeded  = codeError(gen.ErrorCodeMaxExtensionsExceeded)
	ErrLimitExceeded          = codeError(gen.ErrorCodeLimitExceeded)
	ErrTenantClosed           = codeError(gen.ErrorCodeTenantClosed)
	ErrInternalError          = codeError(gen.ErrorCodeInternalError)
)

// codeError is a constant, so that no other package can replace a sentinel.
type codeError gen.ErrorCode

func (c codeError) Error() string { return string(c) }

func knownCode(code gen.ErrorCode) bool {
	switch codeError(code) {
	case ErrInvalidRequest, ErrUnauthorized, ErrForbidden, ErrNotFound, ErrBudgetExceeded, ErrBudgetFrozen,
		ErrBudgetClosed, ErrReservationExpired, ErrReservationFinalized, ErrIdempotencyMismatch, ErrUnitMismatch,
		ErrOverdraftLimitExceeded, ErrDebtOutstanding, ErrMaxExtensionsExceeded, ErrLimitExceeded, ErrTenantClosed,
		ErrInternalError:
		return true
	}
	return false
}
