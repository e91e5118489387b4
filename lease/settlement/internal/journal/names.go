package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
)

// Endings of the names in an identity's directory.
const (
	recordSuffix  = ".json"
	tempSuffix    = ".tmp"
	claimSuffix   = ".claim"
	corruptSuffix = ".corrupt"
	deadSuffix    = ".dead"
)

// versionPrefix starts the names of the current scheme.
const versionPrefix = "v2-"

// Name is the file name of the record of reservationID.
func Name(reservationID string) string { return stem(reservationID) + recordSuffix }

func stem(reservationID string) string {
	sum := sha256.Sum256([]byte(reservationID))
	return versionPrefix + hex.EncodeToString(sum[:])
}

// legacyNames are the names that releases before the current scheme may have
// given the record of reservationID. One replaced each UTF-16 unit that is not
// plain, the others each code point, so beyond the basic plane there are two.
// Several ids share such a name: only the content says whose record it is.
func legacyNames(reservationID string) []string {
	var points, units strings.Builder
	for _, r := range reservationID {
		if plain(r) {
			points.WriteRune(r)
			units.WriteRune(r)
			continue
		}
		points.WriteByte('_')
		units.WriteString(strings.Repeat("_", utf16.RuneLen(r)))
	}
	return slices.Compact([]string{points.String() + recordSuffix, units.String() + recordSuffix})
}

func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
