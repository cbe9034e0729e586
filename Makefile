# Two commands for a fresh machine with Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# The build on PyPI for Linux brings CUDA along, 5 GB on disk; without an NVIDIA driver the small one does.
CPU_BUILD := $(shell [ "`uname -s`" = Linux ] && ! command -v nvidia-smi >/dev/null 2>&1 && \
	echo https://download.pytorch.org/whl/cpu)

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
ifeq ($(CPU_BUILD),)
	@echo "Setting up (torch, 200 MB; with CUDA on Linux 5 GB on disk; once only, some minutes) ..."
	@$(PIP) torch
else
	@echo "Setting up (torch for the CPU, about 200 MB; once only, a minute or two) ..."
	@$(PIP) --timeout 15 --retries 1 --index-url $(CPU_BUILD) torch 2>/dev/null || { \
	  echo "... pytorch.org is out of reach: torch as your package index has it (5 GB on disk from PyPI) ..."; \
	  $(PIP) torch; }
endif
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@$(PIP) --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
