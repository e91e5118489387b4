// Package mockserver is a complete Cycles server in memory, for tests.
package mockserver
