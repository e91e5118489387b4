// Package command is the command line of cycles-conformance, without the
// process around it: arguments, streams and environment come in, an exit
// status goes out.
package command

// The exit statuses.
const (
	// ExitConformant: nothing failed, something passed.
	ExitConformant = 0
	// ExitNotConformant: a requirement is broken, or the baseline is stale.
	ExitNotConformant = 1
	// ExitUsage: the arguments or the target file make no sense. Nothing was sent.
	ExitUsage = 2
	// ExitUndecided: the run could not begin, was interrupted, or could not tell;
	// nothing matched the selection; a report could not be written.
	ExitUndecided = 3
)
