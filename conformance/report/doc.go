// Package report is what a conformance run leaves behind, and the ways to write
// it down: a terminal summary, JSON, JUnit XML, one HTML page, a badge.
//
// A Report is data without behaviour of its own; it holds no API key, since
// the engine takes keys out before anything gets here. The JSON form is the
// stable one, with a schema in report.schema.json beside this package; the
// others may change their looks.
package report
