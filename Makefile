# Every target works on a machine that has Go and make; nothing is installed by
# hand. The race detector needs a C compiler: where there is none, `make test`
# says so and runs without it (.ci/run insists on one).

GO ?= go

# -race where it can run, empty elsewhere.
RACE := $(shell $(GO) env CGO_ENABLED | grep -q 1 && command -v $$($(GO) env CC | cut -d' ' -f1) >/dev/null 2>&1 && echo -race)

# Tests that are not part of every run.
TAGS := soak,defects

.PHONY: demo test soak mutants defects bench lint generate tidy build ci

demo: ## keep a reservation alive through faults and follow it on a time line
	@$(GO) run ./examples/quickstart

test: ## the one test command
	@$(if $(RACE),,echo "note: no C compiler, testing WITHOUT the race detector" >&2;)
	$(GO) test $(RACE) -shuffle=on -timeout 10m $(TESTFLAGS) ./...

soak: ## the long runs: more seeds, more kills, real time (minutes)
	CYCLES_SOAK=1 $(GO) test -count=1 -timeout 90m -tags soak -run 'Soak|SimulatedLeases' ./...

mutants: ## break the lease package on purpose, at least once per rule: every break must be caught
	$(GO) run ./lease/internal/mutants

defects: ## run the whole conformance suite against every broken server
	@out=$$(mktemp); GOGC=400 $(GO) test -count=1 -tags defects -timeout 60m -v ./conformance/internal/checks >$$out 2>&1; status=$$?; \
	grep -E '^(ok|FAIL|panic:)|[0-9]+ of [0-9]+ |--- FAIL|_test\.go:' $$out; rm -f $$out; exit $$status

bench: ## speed and size, each with its yardstick in the same run
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./...

lint: ## formatting, vet, staticcheck at the version go.mod pins
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt wants to change:"; echo "$$out"; exit 1; }
	$(GO) vet -tags $(TAGS) ./...
	$(GO) tool staticcheck -tags $(TAGS) ./...
	cd examples/metrics && $(GO) vet ./...

generate: ## models and raw client from gen/openapi.yaml
	$(GO) generate ./...

tidy:
	$(GO) mod tidy
	cd examples/metrics && $(GO) mod tidy

build: ## every package, command and example
	$(GO) build ./...
	cd examples/metrics && $(GO) build ./...

ci: ## what the gate runs
	@bash .ci/run
