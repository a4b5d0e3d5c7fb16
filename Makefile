# Every target builds and reuses .venv by itself: on a machine with Python ≥ 3.11 and make, one command each.
#   make demo | test | lint | types | contracts | coverage | mutants | results | docs | bench
# `make test` tests what is installed; `make test EXTRAS=all` installs every extra first.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
comma := ,
has = $(addprefix $(VENV)/.has-,$(subst $(comma), ,$(1)))

.DELETE_ON_ERROR:
.PHONY: demo test lint format types contracts unit coverage results docs bench clean mutants

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "levelhead needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# One stamp per extra; a change of pyproject.toml or of the pinned versions installs anew.
$(VENV)/.has-%: pyproject.toml requirements/constraints.txt | $(BIN)/python
	$(PIP) install --quiet -c requirements/constraints.txt -e '.[$*]'
	@touch $@

demo: $(call has,cli)
	$(BIN)/levelhead demo --force

test: lint types contracts unit

lint: $(call has,dev)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(call has,dev)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(call has,dev)
	$(BIN)/mypy

contracts: $(call has,dev)
	$(BIN)/lint-imports

unit: $(call has,dev $(EXTRAS))
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --durations=10

# The compiled kernels run as plain Python in the first pass, so that their lines count; what trains whole networks
# needs them compiled.
coverage: $(call has,dev $(EXTRAS))
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -m "not compiled"
	$(BIN)/coverage run --append -m pytest -m compiled
	$(BIN)/coverage report

# The manual's tables and figures from stored runs: those of the study in results/, and of the benchmarks in
# bench/results/. Nothing is run again; limits.py and estimation_bias.py in docs/tables compute what they write.
results: $(call has,dev plot)
	$(BIN)/python docs/tables/study_pages.py
	$(BIN)/python bench/eleven.py --table
	$(BIN)/python bench/without.py --table
	$(BIN)/python bench/audits.py --table
	$(BIN)/python bench/audits.py --table --real
	$(BIN)/python bench/audits.py --table --planted
	$(BIN)/python bench/audits.py --table --in-loop
	$(BIN)/python bench/diagnosis.py --table
	$(BIN)/python bench/segments.py --table
	$(BIN)/python bench/scale.py --pages

docs: $(call has,docs cli)
	$(BIN)/python docs/pictures/mathematics.py
	$(BIN)/levelhead demo --force
	cp levelhead-demo/demo.svg docs/assets/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The other libraries come with the extra `bench`. `bench/eleven.py`, `bench/audits.py` and `bench/without.py` take
# longer and can be resumed: run them by hand; `bench/study_cost.py` needs the public data sets.
bench: $(call has,dev bench)
	$(BIN)/python bench/special.py
	$(BIN)/python bench/engine.py

# Random changes of model files, each of which must be refused or work: COUNT of them, from the seed SEED on.
.PHONY: fuzz
COUNT ?= 20000
SEED ?= 0
fuzz: $(call has,dev)
	$(BIN)/python tests/fuzz/fuzz.py $(COUNT) --seed $(SEED)

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .nox

# Plants bugs in a copy, one by one, and runs the tests that must detect them: about an hour. It continues where it was
# interrupted. MUTANTS="tables trees:" takes those of a list, or with a word in their name.
JOBS ?= 1
mutants: $(call has,dev $(EXTRAS))
	$(BIN)/python tests/mutants/run.py --jobs $(JOBS) $(MUTANTS)
