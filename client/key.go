package client

import (
	"crypto/rand"
	"encoding/hex"
)

// newKey makes a random UUID of version 4, the form of key that every SDK of
// this protocol generates.
func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	out := make([]byte, 0, 36)
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, part)
	}
	return string(out)
}
