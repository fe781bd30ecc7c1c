# Each target does all its own set-up on a fresh machine: a virtual environment in $(VENV), the
# package with the extras that the target needs, then the work.  Stamp files make the second run
# quick.  Use another interpreter or place with: make PYTHON=python3.12 VENV=venv312 test

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
WORKERS ?= 2
DIST ?= dist
BENCH ?= .venv-bench
SPARK ?= .venv-spark
FUZZ ?= .venv-fuzz
SECONDS_EACH ?= 60
BENCH_PIP := $(BENCH)/bin/python -m pip install --disable-pip-version-check --quiet

.PHONY: help demo test spark check format dist bench bench-docs timing fuzz clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/.demo ## a differentially private top 10 from real data, explained
	@$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

spark: $(SPARK)/.installed ## run the tests that need Apache Spark, on a local one (needs Java)
	@command -v java >/dev/null || { echo 'make: java not found; Spark needs Java 17' >&2; exit 1; }
	$(SPARK)/bin/python -m pytest tests/adapters/test_spark.py $(ARGS)

check: $(VENV)/.dev ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: $(VENV)/.dev ## build the wheel and the source archive into dist/
	$(BIN)/python -m build --outdir $(DIST) .

bench: $(BENCH)/.installed ## measure against the alternatives, on an idle machine (15 minutes)
	$(BENCH)/bin/python -W ignore benchmarks/bench.py $(ARGS)

bench-docs: $(BENCH)/.installed ## write docs/performance.md and .svg from the last results
	$(BENCH)/bin/python benchmarks/bench.py --docs-only docs

timing: $(BENCH)/.installed ## timing evidence beyond the tests: callgrind and dudect
	@command -v valgrind >/dev/null || { echo 'make: valgrind not found; install it for L2' >&2; exit 1; }
	$(BENCH)/bin/python benchmarks/timing/l2_callgrind.py
	OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python benchmarks/timing/l3_dudect.py $(ARGS)

fuzz: $(FUZZ)/.installed ## look for hostile input, a minute for each target
	$(FUZZ)/bin/python fuzz/run.py $(SECONDS_EACH) $(ARGS)

clean: ## remove everything that make created
	rm -rf .venv .venv-bench .venv-spark .venv-fuzz fuzz/found dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo 'make: $(PYTHON) not found; say make PYTHON=...' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'make: safeselect needs Python 3.11 or later; say make PYTHON=python3.12' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[tables]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(BENCH)/.installed: pyproject.toml benchmarks/requirements.txt
	@command -v $(PYTHON) >/dev/null || { echo 'make: $(PYTHON) not found; say make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(BENCH)
	$(BENCH_PIP) --editable . --requirement benchmarks/requirements.txt
	@touch $@

$(SPARK)/.installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo 'make: $(PYTHON) not found; say make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --quiet --editable '.[test,spark]'
	@touch $@

$(FUZZ)/.installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo 'make: $(PYTHON) not found; say make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --disable-pip-version-check --quiet --editable . 'atheris>=3.0'
	@touch $@
