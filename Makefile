# Two commands: `make demo` shows the program, `make test` checks it. Both set up what they need and can be repeated.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PYTEST_ARGS ?= -n 2

.PHONY: demo test test-slow lint ruff mypy layers format docs soundness clean

# Compiling takes a minute or two, once on a machine; all later runs begin at once.
demo: $(VENV)/.installed
	$(BIN)/certmix compile
	$(BIN)/certmix solve iris1d -k 3

test: lint
	$(BIN)/python -m pytest -q -m "not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m slow $(PYTEST_ARGS)

lint: ruff mypy layers

ruff: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy: $(VENV)/.installed-dev
	$(BIN)/mypy

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports --no-cache --no-logo

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation as a site in site/: open site/index.html, no server is needed. The gallery runs its examples.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# A hundred thousand random problems against exhaustive enumeration; over an hour on two cores (SOUNDNESS_ARGS="--count 1000").
soundness: $(VENV)/.installed
	$(BIN)/python tests/soundness.py $(SOUNDNESS_ARGS)

clean:
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# An environment that is already there is added to, never thrown away.
$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "certmix needs Python 3.11 or later (make PYTHON=...)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/.installed
