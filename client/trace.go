package client

import "strings"

const (
	traceparentLen = 55
	spanIDLen      = 16
)

// validTraceparent accepts what a server of this protocol does: version 00, and
// neither id all zero.
func validTraceparent(s string) bool {
	if len(s) != traceparentLen {
		return false
	}
	parts := strings.Split(s, "-")
	return len(parts) == 4 && parts[0] == "00" &&
		lowerHex(parts[1], traceIDLen) && strings.Trim(parts[1], "0") != "" &&
		lowerHex(parts[2], spanIDLen) && strings.Trim(parts[2], "0") != "" &&
		lowerHex(parts[3], 2)
}
