package ledger

import (
	"encoding/binary"
	"encoding/hex"
)

// nextID returns a UUID (version 7) that sorts behind all earlier ones, so that
// the order of creation and the order of ids are the same, even for the many
// that one millisecond of virtual time may hold.
func (l *Ledger) nextID(now int64) string {
	l.seq++
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now)<<16|0x7000|l.seq>>30&0xfff)
	binary.BigEndian.PutUint32(b[8:], 0x80000000|uint32(l.seq&(1<<30-1)))
	binary.BigEndian.PutUint32(b[12:], l.salt)
	return formatUUID(b)
}

func formatUUID(b [16]byte) string {
	var text [36]byte
	at := 0
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			text[at] = '-'
			at++
		}
		hex.Encode(text[at:], b[:n])
		at += 2 * n
		copy(b[:], b[n:])
	}
	return string(text[:])
}
