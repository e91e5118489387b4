package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cycles-protocol/cycles-go/gen/strictjson"
)

// maxScenario bounds the input in bytes.
const maxScenario = 1 << 20

var errAnswers = errors.New("it carries expected_requests or assertions, and this adapter does not take the answers with the question")

// readScenario checks that the input is the scenario of that id and brings no
// answers along.
func readScenario(in io.Reader, id string) error {
	data, err := io.ReadAll(io.LimitReader(in, maxScenario+1))
	if err != nil {
		return err
	}
	if len(data) > maxScenario {
		return fmt.Errorf("the scenario is longer than %d bytes", maxScenario)
	}
	s := strictjson.New(data)
	v, err := s.Any()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return fmt.Errorf("the scenario is not one JSON document: %w", err)
	}
	scenario, ok := v.(map[string]any)
	if !ok {
		return errors.New("the scenario is not a JSON object")
	}
	if carriesAnswers(scenario) {
		return errAnswers
	}
	if scenario["id"] != id {
		return fmt.Errorf("the scenario's id is not %q", id)
	}
	for _, member := range []string{"level", "name"} {
		if _, ok := scenario[member].(string); !ok {
			return fmt.Errorf("the scenario has no %s", member)
		}
	}
	return nil
}

// carriesAnswers looks at every depth.
func carriesAnswers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "expected_requests" || key == "assertions" || carriesAnswers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, carriesAnswers)
	}
	return false
}
