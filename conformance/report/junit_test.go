package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cycles-protocol/cycles-go/conformance/report"
)

// element says which attributes and children an element of JUnit XML has, as
// in the schema that CI systems go by.
type element struct {
	required, optional []string
	children           []string
	text               bool
}

var junit = map[string]element{
	"testsuites": {required: []string{"name", "tests", "failures", "errors", "skipped", "time"}, children: []string{"testsuite"}},
	"testsuite": {
		required: []string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, optional: []string{"hostname", "id", "package"},
		children: []string{"properties", "testcase", "system-out", "system-err"},
	},
	"properties": {children: []string{"property"}},
	"property":   {required: []string{"name", "value"}},
	"testcase":   {required: []string{"name", "classname", "time"}, children: []string{"failure", "error", "skipped", "system-out", "system-err"}},
	"failure":    {required: []string{"message", "type"}, text: true},
	"error":      {required: []string{"message", "type"}, text: true},
	"skipped":    {required: []string{"message"}},
	"system-out": {text: true},
}

type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

// read parses strictly: only known elements, attributes and nesting.
func read(text string) (*node, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var stack []*node
	var root *node
	for {
		tok, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			n, err := open(tok, stack)
			if err != nil {
				return nil, err
			}
			if len(stack) == 0 {
				if root != nil {
					return nil, errors.New("two roots")
				}
				root = n
			} else {
				parent := stack[len(stack)-1]
				parent.children = append(parent.children, n)
			}
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) == 0 || strings.TrimSpace(string(tok)) == "" {
				continue
			}
			n := stack[len(stack)-1]
			if !junit[n.name].text {
				return nil, fmt.Errorf("text in <%s>: %q", n.name, tok)
			}
			n.text += string(tok)
		}
	}
}

func open(start xml.StartElement, stack []*node) (*node, error) {
	name := start.Name.Local
	rule, ok := junit[name]
	if !ok {
		return nil, fmt.Errorf("there is no <%s>", name)
	}
	if len(stack) == 0 && name != "testsuites" {
		return nil, fmt.Errorf("the root is <%s>", name)
	}
	if len(stack) > 0 && !slices.Contains(junit[stack[len(stack)-1].name].children, name) {
		return nil, fmt.Errorf("<%s> in <%s>", name, stack[len(stack)-1].name)
	}
	n := &node{name: name, attrs: map[string]string{}}
	for _, a := range start.Attr {
		if !slices.Contains(rule.required, a.Name.Local) && !slices.Contains(rule.optional, a.Name.Local) {
			return nil, fmt.Errorf("<%s> has no attribute %s", name, a.Name.Local)
		}
		n.attrs[a.Name.Local] = a.Value
	}
	for _, a := range rule.required {
		if _, ok := n.attrs[a]; !ok {
			return nil, fmt.Errorf("<%s> lacks %s", name, a)
		}
	}
	return n, nil
}

// count compares the totals of a suite with what is in it.
func (n *node) count(t *testing.T) (tests, failures, errs, skipped int) {
	t.Helper()
	for _, c := range n.children {
		switch c.name {
		case "testsuite":
			a, b, d, e := c.count(t)
			tests, failures, errs, skipped = tests+a, failures+b, errs+d, skipped+e
		case "testcase":
			tests++
			require.LessOrEqual(t, len(c.children), 1, "a case ends in one way")
			for _, end := range c.children {
				switch end.name {
				case "failure":
					failures++
				case "error":
					errs++
				case "skipped":
					skipped++
				}
			}
		}
	}
	for name, want := range map[string]int{"tests": tests, "failures": failures, "errors": errs, "skipped": skipped} {
		got, err := strconv.Atoi(n.attrs[name])
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s of %s", name, n.attrs["name"])
	}
	_, err := strconv.ParseFloat(n.attrs["time"], 64)
	require.NoError(t, err)
	return tests, failures, errs, skipped
}

func (n *node) find(name string) *node {
	for _, c := range n.children {
		if c.name == "testcase" && c.attrs["name"] == name {
			return c
		}
		if found := c.find(name); found != nil {
			return found
		}
	}
	return nil
}

func TestJUnitIsWhatCIReads(t *testing.T) {
	root, err := read(written(t, full().WriteJUnit))
	require.NoError(t, err)
	tests, failures, errs, skipped := root.count(t)
	assert.Equal(t, []int{7 + 2, 2 + 2, 1, 2}, []int{tests, failures, errs, skipped}, "seven checks and two stale entries")

	ending := func(id string) *node {
		c := root.find(id)
		require.NotNil(t, c, id)
		require.Len(t, c.children, 1, id)
		return c.children[0]
	}
	fail := ending("extend.fails")
	assert.Equal(t, "failure", fail.name)
	assert.Equal(t, "MUST", fail.attrs["type"])
	assert.Contains(t, fail.attrs["message"], "500 <oops>")
	assert.Contains(t, fail.text, "expected: 404 NOT_FOUND")
	assert.Contains(t, fail.text, "curl -i -X POST")
	assert.Equal(t, "error", ending("commit.errs").name)
	assert.Equal(t, "skipped", ending("commit.skips").name)
	assert.Equal(t, "skipped", ending("extend.known").name)
	assert.Contains(t, ending("extend.known").attrs["message"], "known to fail")
	assert.Equal(t, "system-out", ending("commit.warns").name)
	assert.Contains(t, ending("contract.decide").text, "decide 200 body is wrong")
	assert.Equal(t, "failure", ending("extend.gone").name)

	assert.Equal(t, "0.250", root.find("extend.fails").attrs["time"])
	assert.Equal(t, "cycles.extend", root.find("extend.fails").attrs["classname"])
	suite := root.children[0]
	_, err = time.Parse("2006-01-02T15:04:05", suite.attrs["timestamp"])
	require.NoError(t, err)
	properties := map[string]string{}
	for _, p := range suite.children[0].children {
		properties[p.attrs["name"]] = p.attrs["value"]
	}
	assert.Equal(t, "my <server>", properties["implementation"])
	assert.Equal(t, "1.2", properties["version"])
}

func TestJUnitOfARunWithoutTroubleHasNone(t *testing.T) {
	r := &report.Report{Results: []report.Result{{ID: "a.b", Outcome: report.Passed}}}
	r.Judge(nil, nil)
	root, err := read(written(t, r.WriteJUnit))
	require.NoError(t, err)
	tests, failures, errs, skipped := root.count(t)
	assert.Equal(t, []int{1, 0, 0, 0}, []int{tests, failures, errs, skipped})
}
