# Two commands for a fresh machine with Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test check format clean

run: $(VENV)/.run
	@$(BIN)/quizapp

test: $(VENV)/.test
	@$(BIN)/pytest

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/quizapp check

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || { \
	  echo "quizapp needs Python 3.11 to 3.14, and $(PYTHON) is none of these;" \
	    "name one that is installed: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up (torch: 200 MB, with CUDA 5 GB on disk, as your package index has it; once only) ..."
	@$(PIP) torch
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@$(PIP) --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
