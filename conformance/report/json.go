package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes the whole report, indented. report.schema.json describes it.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteBadge writes what a badge service for endpoints reads: a label, a short
// message and a color.
func (r *Report) WriteBadge(w io.Writer) error {
	badge := struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
	}{1, "Cycles " + r.Protocol, r.short(), "brightgreen"}
	switch {
	case r.Verdict == NotConformant:
		badge.Color = "red"
	case r.Verdict == Undecided:
		badge.Color = "lightgrey"
	case r.Counts.Known > 0, r.Counts.Warn > 0:
		badge.Color = "yellow"
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(badge)
}

// short is the verdict in a few words.
func (r *Report) short() string {
	name := r.Profile
	if r.Legacy {
		name += " (0.1.25)"
	}
	switch {
	case r.Verdict == Undecided:
		return name + ": undecided"
	case r.Verdict == Conformant && r.Counts.Known == 0:
		return name + ": conformant"
	default:
		return name + ": " + count(r.Counts.Fail+r.Counts.Known, "failure")
	}
}
