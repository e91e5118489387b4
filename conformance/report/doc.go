// Package report is what a conformance run leaves behind, and the ways to write
// it down: a terminal summary, JSON, JUnit XML, one HTML page, a badge.
//
// What it promises:
//
//   - A Report holds no API key: the engine takes keys out before anything gets
//     here, and curl lines have the names of environment variables in their
//     place.
//   - What a server said cannot steer a terminal or become markup.
//   - The JSON form is stable and holds all of a Report; report.schema.json in the
//     directory above describes it.
//   - The verdict is Conformant only when something passed and nothing failed or
//     was left open, failures of a Baseline aside.
//
// What it does not promise: the looks of the other forms may change, and they do
// not show everything. Bodies are cut after some kilobytes. A curl line shows
// one request; ids in it come from earlier ones (see Report.CurlNote).
//
//	rep, err := conformance.Run(ctx, t, conformance.Options{})
//	if rep == nil {
//		return err
//	}
//	rep.WriteText(os.Stdout, report.TextOptions{})
//	for _, res := range rep.With(report.Failed) {
//		fmt.Println(res.ID, res.Got)
//	}
package report
