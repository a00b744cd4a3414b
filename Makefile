# `make demo` and `make test` set up all they need and then do their job; the work is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help demo test docs results build lint format cpp-test wheel-test clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Match a year of flights with 100,000 filters on Spark
	@scripts/setup
	@.venv/bin/python scripts/demo.py

test: ## Run every check: style, types, C++ tests with sanitizers, the wheel, Python tests
	@scripts/setup --dev
	@scripts/lint
	@scripts/test-cpp
	@scripts/test-wheel
	@scripts/test-python

docs: ## Build docs/ to HTML in build/docs
	@scripts/setup --dev
	@scripts/docs

results: ## Rerun what bench/results holds, which takes about an hour; STEPS="match sjf" or STEPS=--list
	@scripts/setup --dev
	@.venv/bin/python scripts/results.py $(STEPS)

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

wheel-test: ## Build sdist and wheel, try them in a clean environment without a compiler
	@scripts/setup --dev
	@scripts/test-wheel

clean: ## Remove what was built (.venv stays)
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
