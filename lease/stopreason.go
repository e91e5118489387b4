package lease

// StopReason says why a heartbeat ended by itself. Stopping is not losing: after most reasons some lead is left, the
// reservation can still be committed or released, and it is lost only once that lead is used up.
//
//	reason             what happened                                       what to do
//	expired            the reservation ran out                             settle as an event; reserve again for more work
//	finalized          somebody committed or released it                   find out who; do not spend against it
//	max-extensions     the server grants no further extension              finish within the lead left, or raise the limit
//	tenant-closed      the tenant was closed for good                      stop the work; nothing can be reserved any more
//	not-found          the server does not know the reservation            check base URL and tenant of this client
//	rejected           the server refused the request itself (other 4xx)   read the error: credentials, permissions, request
//	throttled          429 without a wait that still fits the lease        finish within the lead left; beat less often
//	retry-window       no further attempt fits the lead with its margin    finish within the lead left
//	zero-window        the one attempt at the last safe instant failed     finish within the lead left
//	no-progress        two failures in a row at the same instant           report it: the clock stands still
//	lease-too-short    two answers in a row too short to plan ahead        ask for a longer ttl or a shorter extend timeout
type StopReason string

// The reasons a heartbeat ends for. The first five are final answers about the reservation (see
// [StopReason.Permanent]); the others say that this client could not keep the lease alive safely.
const (
	// StopExpired: the server answered that the reservation has expired, or even the most generous local reading of its
	// lifetime has passed.
	StopExpired StopReason = "expired"
	// StopFinalized: the reservation was committed or released by someone else.
	StopFinalized StopReason = "finalized"
	// StopMaxExtensions: the server's extension budget of this reservation is used up. The lead of the last extension
	// still stands.
	StopMaxExtensions StopReason = "max-extensions"
	// StopTenantClosed: the owning tenant was closed, which cannot be undone.
	StopTenantClosed StopReason = "tenant-closed"
	// StopNotFound: the server knows no such reservation.
	StopNotFound StopReason = "not-found"
	// StopRejected: the server refused the extend for another reason than the above, credentials and permissions
	// included. The same request would be refused again.
	StopRejected StopReason = "rejected"
	// StopThrottled: the server answered 429 and named no wait, or one that ends too late for a safe renewal.
	StopThrottled StopReason = "throttled"
	// StopRetryWindow: after a failure, the lead left no longer holds one complete attempt and its safety margin.
	StopRetryWindow StopReason = "retry-window"
	// StopZeroWindow: the immediate attempt made at the very end of the retry window failed as well.
	StopZeroWindow StopReason = "zero-window"
	// StopNoProgress: two failures in a row happened at the same instant of the monotonic clock.
	StopNoProgress StopReason = "no-progress"
	// StopLeaseTooShort: two proved successes in a row left less lead than one retry needs, so that no safe wait exists.
	StopLeaseTooShort StopReason = "lease-too-short"
)

// String returns the reason as it appears in logs and metrics.
func (r StopReason) String() string { return string(r) }

// Permanent reports whether the reason is a final answer about the reservation: no client will ever extend it again.
func (r StopReason) Permanent() bool {
	switch r {
	case StopExpired, StopFinalized, StopMaxExtensions, StopTenantClosed, StopNotFound:
		return true
	}
	return false
}
