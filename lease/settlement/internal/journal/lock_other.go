//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package journal

import "io"

// lock grants every claim: this system has no lock that ends with its process.
func lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }
