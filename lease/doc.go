// Package lease keeps reservations alive.
package lease
