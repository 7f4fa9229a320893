# What a person types. Each target sets up what it needs; nothing else has to be installed by hand.

# A system's own Python is built with the compiler's optimisations: it takes a sixth less time than one that pyenv built.
PYTHONS := /usr/bin/python3.11 python3.11 python3
PYTHON ?= $(shell for each in $(PYTHONS); do $$each -c 'import ensurepip' 2>/dev/null && break; done; echo $$each)
VENV := .venv
BIN := $(VENV)/bin
BENCH ?=
DEMO ?=
TESTS ?=
CRASHES ?= 100
AUDIT ?=

# Where bytecode is not kept, each of hundreds of processes that tests and benches start compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test nightly quick check bench attack crash lock sbom audit clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

run: $(VENV)/run.stamp ## set up, then try everything at http://localhost:8000
	MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 $(BIN)/registerwatch demo $(DEMO)

test: $(VENV)/dev.stamp ## set up what the tests need, then run what every change must pass
	@$(BIN)/python tools/system_packages.py
	$(BIN)/python -m pytest -n auto --maxprocesses 4 $(TESTS)

nightly: $(VENV)/dev.stamp ## run the long forms of the tests too, then the attacks, judged by the clock
	@$(BIN)/python tools/system_packages.py
	CRASHES=20 $(BIN)/python -m pytest -n auto --maxprocesses 4 --nightly --ignore=tests/attacks
	$(MAKE) attack

quick: $(VENV)/dev.stamp ## run units and properties, without processes, PostgreSQL and the service, in under a minute
	$(BIN)/python -m pytest -n auto --quick $(TESTS)

check: $(VENV)/dev.stamp ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_docs.py

bench: $(VENV)/dev.stamp ## measure, side by side with what people would use instead
	@$(BIN)/python tools/system_packages.py
	$(BIN)/python -m bench $(BENCH)

lock: $(VENV)/dev.stamp ## resolve the newest allowed versions and pin them with hashes
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade \
	  pyproject.toml --group build -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade \
	  pyproject.toml --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade \
	  --group sbom -o requirements-sbom.lock
	@echo "then make $(VENV)/dev.stamp && $(BIN)/python tools/licences.py: a package may have another licence"

attack: $(VENV)/dev.stamp ## attack a running service on both databases, and see how others fare meanwhile
	@$(BIN)/python tools/system_packages.py
	$(BIN)/python -m pytest tests/attacks --attack -n 0 $(TESTS)

crash: $(VENV)/dev.stamp ## kill the service hundreds of times, and look whether anything was lost or doubled
	@$(BIN)/python tools/system_packages.py
	CRASHES=$(CRASHES) $(BIN)/python -m pytest --nightly tests/journeys/test_crashes.py

sbom: $(VENV)/dev.stamp ## list what a production install has, in dist/sbom.cdx.json (CycloneDX)
	rm -rf build/sbom && mkdir -p build dist
	$(BIN)/python -m venv build/sbom
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation .
	build/sbom/bin/python -m pip uninstall --quiet --yes editables hatchling pathspec pluggy trove-classifiers setuptools pip
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible \
	  --output-file dist/sbom.cdx.json build/sbom/bin/python
	rm -rf build/sbom

# Advisories come from PyPI, or with AUDIT="--vulnerability-service osv" from osv.dev. Where they cannot be had it fails.
audit: $(VENV)/dev.stamp ## look for advisories about what is installed in production
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock $(AUDIT)

clean: ## remove what was set up and built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; set PYTHON=/path/to/it"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/run.stamp: requirements.lock pyproject.toml standins/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable standins
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml standins/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable standins
	@touch $@ $(VENV)/run.stamp
