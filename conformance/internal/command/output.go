package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cycles-protocol/cycles-go/conformance"
)

// outputs are the reports that were asked for.
type outputs struct {
	json, junit, html, badge, baseline string
}

func (o *outputs) register(fs *flag.FlagSet) {
	fs.StringVar(&o.json, "json", "", "write the report as JSON to this file; \"-\" is standard output, in place of the summary")
	fs.StringVar(&o.junit, "junit", "", "write JUnit XML to this file")
	fs.StringVar(&o.html, "html", "", "write one HTML page to this file")
	fs.StringVar(&o.badge, "badge", "", "write JSON for a badge service to this file")
	fs.StringVar(&o.baseline, "write-baseline", "", "write the ids of the failures to this file, for --baseline")
}

// stdoutFree tells whether the summary may go there.
func (o *outputs) stdoutFree() bool {
	return o.json != "-" && o.junit != "-" && o.html != "-" && o.badge != "-" && o.baseline != "-"
}

// openFiles are reports that will be written when the run is over. Each is
// written beside its place and moved there at the end, so that no run leaves
// half a report or destroys an old one for nothing.
type openFiles []*openFile

type openFile struct {
	name  string
	w     io.Writer
	file  *os.File // nil for standard output
	temp  bool
	print func(*conformance.Report, io.Writer) error
}

func (o *outputs) open(stdout io.Writer) (openFiles, error) {
	var files openFiles
	for _, x := range []struct {
		name  string
		print func(*conformance.Report, io.Writer) error
	}{
		{o.json, (*conformance.Report).WriteJSON},
		{o.junit, (*conformance.Report).WriteJUnit},
		{o.html, (*conformance.Report).WriteHTML},
		{o.badge, (*conformance.Report).WriteBadge},
		{o.baseline, (*conformance.Report).WriteBaseline},
	} {
		if x.name == "" {
			continue
		}
		f, err := open(x.name, stdout)
		if err != nil {
			files.discard()
			return nil, fmt.Errorf("a report cannot be written: %w", err)
		}
		f.print = x.print
		files = append(files, f)
	}
	return files, nil
}

func open(name string, stdout io.Writer) (*openFile, error) {
	if name == "-" {
		return &openFile{name: name, w: stdout}, nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", name)
	} else if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &openFile{name: name, w: f, file: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, err
	}
	return &openFile{name: name, w: f, file: f, temp: true}, nil
}

// write writes every report; a fault in one does not keep the others back.
func (files openFiles) write(rep *conformance.Report) error {
	var errs []error
	for _, f := range files {
		if err := f.finish(rep); err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

func (f *openFile) finish(rep *conformance.Report) error {
	if err := f.print(rep, f.w); err != nil || f.file == nil {
		return err
	}
	file := f.file
	f.file = nil
	if !f.temp {
		return file.Close()
	}
	err := errors.Join(file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.name)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// discard drops what was not written.
func (files openFiles) discard() {
	for _, f := range files {
		if f.file == nil {
			continue
		}
		f.file.Close()
		if f.temp {
			os.Remove(f.file.Name())
		}
	}
}
