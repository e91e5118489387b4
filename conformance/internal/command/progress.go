package command

import (
	"fmt"
	"io"

	"github.com/cycles-protocol/cycles-go/conformance"
	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// progressLine is one line on a terminal that is overwritten by the next.
type progressLine struct {
	w      io.Writer
	on     bool
	failed int
}

func (p *progressLine) tell(at conformance.Progress) {
	if !p.on {
		return
	}
	if at.Last.Outcome == report.Failed {
		p.failed++
	}
	trouble := ""
	if p.failed > 0 {
		trouble = fmt.Sprintf(", %d failed", p.failed)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d/%d%s  %.60s", at.Done, at.Total, trouble, at.Last.ID)
}

func (p *progressLine) clear() {
	if p.on {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
