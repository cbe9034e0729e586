# Two commands for a fresh machine with Python 3.11 or newer: `make run` and `make test`.
# Authors also use `make check`, `make test-fast` (under a minute) and `make test-all` (what takes longer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# One process more than there are cores, because tests wait for a third of their time; at most four, because
# each keeps a warm judge of 350 MB.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist loadgroup
# Screens, terminals, browsers, and judges are tested by a real clock. What fails in the crowd is run once more,
# one test at a time: a fault fails again, and both reports show.
AGAIN = { [ $$? = 1 ] && echo "Once more, one at a time:" && $(BIN)/pytest --last-failed
# The variable turns off a notice of the theme's authors.
MKDOCS = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
# How much of the exercise matrix `make test-all` runs: 1 is every submission of every exercise.
SHARE ?= 1

.PHONY: run test test-fast test-all check docs pictures format clean

run: $(VENV)/.run
	@$(BIN)/quizapp

test: $(VENV)/.test
	@$(PYTEST) -m "not exhaustive" || $(AGAIN) -m "not exhaustive"; }

test-fast: $(VENV)/.test
	@$(PYTEST) -m "not (slow or judge or snapshot or exhaustive)"

test-all: $(VENV)/.test
	@$(PYTEST) -m exhaustive || $(AGAIN) -m exhaustive; }
	$(BIN)/quizapp check exercises --seeds 1 --sample $(SHARE)
	$(BIN)/python benchmarks/soak.py --saves 100

# Training scripts are written to be read: an annotation that only helps the checker would be noise.
SCRIPT_TYPES := --disable-error-code=no-any-return --disable-error-code=var-annotated

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases $(SCRIPT_TYPES) content/incidents
	$(BIN)/lint-imports
	$(BIN)/quizapp check
	$(MKDOCS) build --quiet --strict

# The documentation site, in site/. It is read from there without a server, too.
docs: $(VENV)/.test
	$(MKDOCS) build --strict

# The pictures of the documents, drawn anew from the program.
pictures: $(VENV)/.test
	$(BIN)/python -m tools.pictures docs/images --documents

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || { \
	  echo "quizapp needs Python 3.11 to 3.14, and $(PYTHON) is none of these;" \
	    "name one that is installed: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up; once only, and mostly the download of torch (200 MB; with CUDA, 5 GB on disk) ..."
	@$(PIP) torch
# The distribution was called quizapp at first; both together would share, and remove, one command.
	@$(BIN)/python -m pip uninstall -qq --disable-pip-version-check --yes quizapp
	@$(PIP) --editable ".[judge]"
	@touch $@

# The program tells people whose torch has gone that `make run` brings it back.
ifeq ($(wildcard $(VENV)/lib/python3*/site-packages/torch/__init__.py),)
.PHONY: $(VENV)/.run
endif

$(VENV)/.test: $(VENV)/.run
	@$(PIP) --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
