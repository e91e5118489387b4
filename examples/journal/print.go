package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cycles-protocol/cycles-go/lease/settlement"
)

func writeJSON(out io.Writer, entries []settlement.Entry) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

func writeTable(out io.Writer, entries []settlement.Entry, now time.Time) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "nothing")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "STATE\tMODE\tRESERVATION\tACTUAL\tAGE\tFILE\tREMARK")
	for _, e := range entries {
		file := filepath.Join(filepath.Base(filepath.Dir(e.Path)), filepath.Base(e.Path))
		fmt.Fprintf(w, "%s\t%s\t%q\t%s\t%s\t%s\t%s\n", e.State, cmp.Or(e.Mode, "-"), e.ReservationID, actual(e), age(e, now), file, remark(e, now))
	}
	return w.Flush()
}

func actual(e settlement.Entry) string {
	if e.Actual == nil {
		return "-"
	}
	return fmt.Sprintf("%d %s", e.Actual.Amount, e.Actual.Unit)
}

func age(e settlement.Entry, now time.Time) string {
	if e.RecordedAt.IsZero() {
		return "-"
	}
	return now.Sub(e.RecordedAt).Truncate(time.Second).String()
}

func remark(e settlement.Entry, now time.Time) string {
	if e.Reason == "" && e.NotBefore.After(now) {
		return "not before " + e.NotBefore.UTC().Format(time.RFC3339)
	}
	return e.Reason
}

// teller writes a line for each spend that ends.
func teller(out io.Writer) func(settlement.Result) {
	var mu sync.Mutex
	return func(r settlement.Result) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "%s  %q", r.Disposition, r.ReservationID)
		if r.Err != nil {
			fmt.Fprintf(out, "  %v", r.Err)
		}
		fmt.Fprintln(out)
	}
}
