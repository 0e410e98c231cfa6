# Every target does its own set-up in .venv; nothing has to be installed beforehand but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST_ARGS ?=
MUTANTS ?=
# 1: the full set of tests, on both servers; otherwise one server and a share of the simulator's plays.
FULL ?=
# What is light enough to be there from the start; the other connectors are installed by those who use them.
EXTRAS := --extra feeds --extra mangadex --extra matrix --extra discord --extra notify

.DEFAULT_GOAL := help
.PHONY: help setup run test mutants check format bench pins schema clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Headgate needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Making a virtual environment in $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python requirements/run.txt pyproject.toml hatch_build.py
	@echo "Installing what Headgate needs …"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	@echo "Installing the tools for development …"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

setup: $(VENV)/.dev ## Install everything for development into .venv

run: $(VENV)/.run ## Start Headgate with a simulated world and print its address
	@exec $(BIN)/headgate demo

test: $(VENV)/.dev ## Install what the tests need and run them (FULL=1: all plays, both servers)
	@BIN=$(BIN) HEADGATE_TEST_FULL=$(FULL) ./scripts/test $(PYTEST_ARGS)

mutants: $(VENV)/.dev ## Put known defects back one by one; each must make its tests fail
	@$(BIN)/python scripts/mutants $(MUTANTS)

check: $(VENV)/.dev ## Check format, lint, types, imports and tidiness
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest tests/tidy

format: $(VENV)/.dev ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.run ## Measure, each figure beside its floor
	@$(BIN)/headgate bench all

schema: $(VENV)/.dev ## Write storage/schema.sql and docs/configuration.md from the code
	@$(BIN)/python scripts/generate

pins: $(BIN)/python ## Compile the exact versions for run and development
	@$(PIP) install uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --upgrade --no-emit-index-url \
		--no-annotate --no-header $(EXTRAS) pyproject.toml -o requirements/run.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --upgrade --no-emit-index-url \
		--no-annotate --no-header $(EXTRAS) -c requirements/run.txt pyproject.toml requirements/dev.in -o requirements/dev.txt

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
