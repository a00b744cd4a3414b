# `make demo` and `make test` set up all they need and then do their job; the work is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help demo test build lint format cpp-test clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build an index of a million boxes and match a batch of events
	@scripts/setup
	@.venv/bin/python scripts/demo.py

test: ## Run every check: style, types, C++ tests with sanitizers, Python tests
	@scripts/setup --dev
	@scripts/lint
	@scripts/test-cpp
	@scripts/test-python

build: ## Bring .venv and the native module up to date
	@scripts/setup --dev

lint: ## Check style and types: ruff, mypy, clang-format
	@scripts/setup --dev
	@scripts/lint

format: ## Format all Python and C++ files
	@scripts/setup --dev
	@scripts/lint --fix

cpp-test: ## Run the C++ tests: with assertions, ASan+UBSan, TSan
	@scripts/setup --dev
	@scripts/test-cpp

clean: ## Remove what was built (.venv stays)
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
