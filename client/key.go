package client

import "github.com/google/uuid"

// newKey makes a random UUID of version 4, the form of key that every SDK of
// this protocol generates.
func newKey() string { return uuid.NewString() }
