# Each target does all its own set-up on a fresh machine: a virtual environment in $(VENV), the
# package with the extras that the target needs, then the work.  Stamp files make the second run
# quick.  Use another interpreter or place with: make PYTHON=python3.12 VENV=venv312 test

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := -m pip install --disable-pip-version-check --quiet
PIP := $(BIN)/python $(INSTALL)
NEEDS_PYTHON = @command -v $(PYTHON) >/dev/null || { echo 'make: $(PYTHON) not found; say make PYTHON=...' >&2; exit 1; }
WORKERS ?= 2
DIST ?= dist
BENCH ?= .venv-bench
SPARK ?= .venv-spark
CLICKHOUSE ?= .venv-clickhouse
PIPELINE ?= .venv-pipeline-dp
DROPINS ?= .venv-dropins
TYPES ?= .venv-types
DOCS ?= .venv-docs
SITE ?= docs/_build
RELEASE ?= .venv-release
MUTANTS ?= .venv-mutants
PROOFS ?= $(CURDIR)/proofs/build
OLDEST ?= .venv-oldest
MATRIX ?= .venv-matrix
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
# What depends on NumPy, gmpy2 and Python: that all can be imported, arithmetic, fixed vectors, and laws.
# `safeselect verify` goes before it, with the known answers; together less than a minute.
SMALL ?= tests/test_import.py tests/test_gmpy2.py tests/exact/test_interval.py tests/promises \
  tests/engine/test_laws.py tests/engine/test_corner_cases.py \
  tests/spec/test_uniform.py \
  tests/spec/test_rankings.py
# What `make test` leaves out: tests whose fault a cheaper one finds too.  `make nightly` runs them.
EVERY ?= -m "not nightly"
# What `make quick` leaves out: slow tests, the engine's inside, other programs and libraries, hostile
# input, whole processes, the audit and the evidence, and laws that are enumerated or counted.  All
# else of the contract is in, new files too.
QUICK ?= -m "not slow and not nightly" $(addprefix --ignore=tests/, \
  inside engine adapters ledger/stores tables audit estimates evidence fuzz promises laws leaks faults observed proofs \
  release tools scores/test_floats.py scores/test_reading.py \
  cli test_claims.py test_contributing.py test_examples.py test_import.py test_mission.py \
  test_snippets.py known/test_confirm.py known/test_faults.py randomness/test_foreign.py \
  $(addprefix spec/test_, bernoulli.py discrete_gaussian.py discrete_laplace.py geometric.py \
    lazy.py rankings.py rounds.py) \
  accounting/optimum $(addprefix accounting/test_, composition.py laws.py moments.py \
    pure.py rate.py repetition.py) \
  $(addprefix mechanisms/test_, equal_inputs.py \
    quantile_laws.py sessions_privacy.py threads_and_forks.py top_k_above.py \
    unknown_privacy.py weights.py))
# requirements/*.lock name one release of every package, with hashes: what `make test`, `make check`
# and `make release` install, the same everywhere.  `make LOCKED= test` takes the newest releases that
# pyproject.toml allows instead, as a user's install does.
LOCKED ?= yes
RELEASE_PIP := $(RELEASE)/bin/python $(INSTALL)
LOCK := $(RELEASE)/bin/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
  --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
FUZZ ?= .venv-fuzz
SECONDS_EACH ?= 60
BENCH_PIP := $(BENCH)/bin/python $(INSTALL)

.PHONY: help demo test quick docs spark clickhouse pipeline-dp dropins types check format oldest matrix nightly release verify lock claims execute laws faults bank kills mirrored reading proofs mutants soak bench bench-docs timing service walks fuzz clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/.demo ## a differentially private top 10 from real data, explained
	@$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## run the tests (EVERY= with those that only `make nightly` runs)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(EVERY) $(ARGS)

quick: $(VENV)/.dev ## run the tests of the contract that are not slow (less than a minute)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(QUICK) $(ARGS)

docs: $(DOCS)/.installed ## build the site into docs/_build; warnings are errors
	$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet docs $(SITE)

spark: $(SPARK)/.installed ## run the tests that need Apache Spark, on a local one (needs Java)
	@command -v java >/dev/null || { echo 'make: java not found; Spark needs Java 17' >&2; exit 1; }
	$(SPARK)/bin/python -m pytest tests/tables/test_spark.py tests/tables/test_dialects.py $(ARGS)

clickhouse: $(CLICKHOUSE)/.installed ## run the statements of `safeselect sql` on ClickHouse, in process
	$(CLICKHOUSE)/bin/python -m pytest tests/tables/test_dialects.py $(ARGS)

pipeline-dp: $(PIPELINE)/.installed ## run the tests that need PipelineDP
	$(PIPELINE)/bin/python -m pytest tests/adapters/test_pipeline_dp_engine.py $(ARGS)

dropins: $(addprefix $(DROPINS)/,$(addsuffix /.installed,dpmm diffprivlib mbi)) ## run the tests that need dpmm (Python 3.11), diffprivlib and mbi, each in an environment of its own
	$(DROPINS)/dpmm/bin/python -m pytest tests/adapters/test_synthetic_data.py $(ARGS)
	$(DROPINS)/mbi/bin/python -m pytest tests/adapters/test_synthetic_data.py $(ARGS)
	$(DROPINS)/diffprivlib/bin/python -m pytest tests/adapters/test_diffprivlib.py $(ARGS)

types: $(TYPES)/.installed ## what mypy and pyright tell a client's program that uses every public function
	$(TYPES)/bin/python -m pytest tests/test_typing.py $(ARGS)

check: $(VENV)/.dev ## lint, format, types, layers, and the ceiling of lines
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/ceiling.py

format: $(VENV)/.dev ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

oldest: $(OLDEST)/.installed ## test with the oldest NumPy and gmpy2 that are allowed (Python 3.11; a minute)
	$(OLDEST)/bin/safeselect verify
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) -m "not slow and not nightly" $(SMALL) $(ARGS)

# A Python that is not there is named, and is no failure; a test that fails is one, and so is no Python.
matrix: ## test with every Python that is there (PYTHONS, a minute each)
	@ran=; missing=; failed=; for python in $(PYTHONS); do \
	  name=$$(basename $$python); place=$(MATRIX)/$$name; \
	  if ! $$python -c 'import venv' 2>/dev/null; then missing="$$missing $$name"; continue; fi; \
	  echo "--- $$name"; ran="$$ran $$name"; \
	  { cmp -s requirements/laws.lock $$place/installed.lock || { \
	      $$python -m venv --clear $$place && \
	      $$place/bin/python $(INSTALL) --require-hashes --requirement requirements/laws.lock && \
	      $$place/bin/python $(INSTALL) --no-deps --no-build-isolation --editable . && \
	      cp requirements/laws.lock $$place/installed.lock; }; } && \
	  $$place/bin/safeselect verify && \
	  $$place/bin/python -m pytest -n $(WORKERS) -m "not slow and not nightly" $(SMALL) $(ARGS) || failed="$$failed $$name"; \
	done; \
	echo "matrix: ran on$${ran:- none}; not found:$${missing:- none}; failed:$${failed:- none}"; \
	test -z "$$failed" && test -n "$$ran"

nightly: ## tests by night, soak, mutants, claims, laws, faults, proofs, walks, other libraries, with a table of figures (less than 3 hours; ARGS="--parts soak", --weekly, --commit)
	@proofs/install.sh; command -v pgbouncer >/dev/null \
	  || apt-get install --yes --quiet --no-install-recommends postgresql pgbouncer
	$(PYTHON) tools/nightly.py $(ARGS)

release: $(RELEASE)/.installed ## build into dist/ what is published, with SBOM and hashes, and check it
	rm -rf $(DIST)
	env -u SOURCE_DATE_EPOCH $(RELEASE)/bin/python -m build --no-isolation --outdir $(DIST) .
	$(RELEASE)/bin/python tools/bill.py $(DIST)
	cd $(DIST) && sha256sum *.whl *.tar.gz *.cdx.json > SHA256SUMS
	$(RELEASE)/bin/python tools/verify_release.py $(DIST)

verify: $(RELEASE)/.installed ## check the release in dist/ against the commit that is checked out
	$(RELEASE)/bin/python tools/verify_release.py $(DIST) $(ARGS)

lock: $(RELEASE)/.installed ## bring the pinned releases in requirements/ up to date
	$(LOCK) pyproject.toml --output-file requirements/runtime.lock
	$(LOCK) pyproject.toml --constraint requirements/runtime.lock --extra dev --output-file requirements/dev.lock
	$(LOCK) pyproject.toml --constraint requirements/runtime.lock --extra release --output-file requirements/release.lock
	$(LOCK) pyproject.toml --constraint requirements/dev.lock --extra laws --output-file requirements/laws.lock
	$(LOCK) pyproject.toml --constraint requirements/oldest.txt --extra laws --output-file requirements/oldest.lock

claims: $(VENV)/.dev ## write the code and the tests of every claim into docs/claims.md
	$(BIN)/python tools/claims.py

execute: $(VENV)/.dev ## break the code of every claim and see that its tests fail (hours; ARGS='--claims C5 --seconds 60 --kept FILE')
	$(BIN)/python tools/execute_claims.py $(ARGS)

laws: $(VENV)/.dev ## break the law of every row of tests/mission.json and see that its test fails (minutes; ARGS='--rows quantile/1')
	$(BIN)/python tools/break_laws.py $(ARGS)

faults: $(VENV)/.dev ## plant faults, alone and all at once, and see that known answers and laws notice (half an hour)
	$(BIN)/python tools/plant_faults.py $(ARGS)

bank: $(VENV)/.dev ## plant the faults that were written without the tests at hand, and see what notices each (hours; ARGS='--only ledger --minutes 20')
	nice -n 15 $(BIN)/python tools/bank.py $(ARGS)

kills: $(MUTANTS)/.installed ## plant every known fault and see which tests notice it, and which tests notice none (hours; ARGS='--only quantile --minutes 20')
	PYTHONPATH=src nice -n 15 $(MUTANTS)/bin/python tools/kill_matrix.py $(ARGS)

mirrored: $(VENV)/.dev ## change each module at random and see that its own file of tests notices (an hour; ARGS='--only ledger/')
	$(BIN)/python tools/mirrored.py $(ARGS)

reading: ## what decides a release, file by file, in the order of reading (ARGS=ledger: another room)
	@$(PYTHON) tools/reading.py $(ARGS)

proofs: ## check the machine-checked proofs from scratch and print the axioms they use (installs Coq; a minute)
	@proofs/install.sh
	rm -rf $(PROOFS)
	$(MAKE) --no-print-directory -C proofs -j $(WORKERS) PYTHON=$(PYTHON) BUILD=$(PROOFS)

mutants: $(MUTANTS)/.installed ## change the package in many places and see which tests notice (an hour; ARGS='--only ledger/ --minutes 20 --seed 7')
	PYTHONPATH=src nice -n 15 $(MUTANTS)/bin/python tools/mutate.py $(ARGS)

soak: $(VENV)/.dev ## add releases to the evidence for every mechanism's law (3 minutes)
	$(BIN)/python tools/soak.py $(ARGS)

bench: $(BENCH)/.installed ## measure against the alternatives, on an idle machine (15 minutes)
	$(BENCH)/bin/python -W ignore benchmarks/bench.py $(ARGS)

bench-docs: $(BENCH)/.installed ## write docs/performance.md with its figure and docs/benchmarks.md from the last results
	$(BENCH)/bin/python benchmarks/bench.py --docs-only docs

timing: $(BENCH)/.installed ## timing evidence beyond the tests: callgrind and dudect
	@command -v valgrind >/dev/null || { echo 'make: valgrind not found; install it for L2' >&2; exit 1; }
	$(BENCH)/bin/python benchmarks/timing/l2_callgrind.py
	OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python benchmarks/timing/l3_dudect.py $(ARGS)

walks: ## follow the four walks from their first line, each in a fresh environment (minutes; ARGS=docs/audit.md)
	$(PYTHON) tools/walks.py $(ARGS)

service: $(VENV)/.dev ## ask the example of a service from 200 clients while its workers are killed (minutes; needs PostgreSQL)
	$(BIN)/python tools/service_load.py $(ARGS)

fuzz: $(FUZZ)/.installed ## look for hostile input, a minute for each target
	$(FUZZ)/bin/python fuzz/run.py $(SECONDS_EACH) $(ARGS)

clean: ## remove everything that make created
	rm -rf .venv .venv-bench .venv-clickhouse .venv-docs .venv-dropins .venv-fuzz .venv-matrix .venv-mutants .venv-oldest .venv-pipeline-dp .venv-release .venv-spark .venv-types
	rm -rf docs/_build docs/reference docs/examples/gallery docs/notebooks/*.md docs/notebooks/*.png fuzz/found proofs/build
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	$(NEEDS_PYTHON)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'make: safeselect needs Python 3.11 or later; say make PYTHON=python3.12' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	$(PIP) --editable '.[tables]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml requirements/dev.lock
ifeq ($(LOCKED),)
	$(PIP) --editable '.[dev]'
else
	$(PIP) --require-hashes --requirement requirements/dev.lock
	$(PIP) --no-deps --no-build-isolation --editable .
endif
	@touch $@ $(VENV)/.demo

$(BENCH)/.installed: pyproject.toml benchmarks/requirements.txt
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH_PIP) --editable . --requirement benchmarks/requirements.txt
	@touch $@

$(DOCS)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(INSTALL) --editable '.[docs]'
	@touch $@

$(RELEASE)/.installed: requirements/release.lock
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE_PIP) --require-hashes --requirement requirements/release.lock
	@touch $@

$(OLDEST)/.installed: requirements/oldest.lock pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) --require-hashes --requirement requirements/oldest.lock
	$(OLDEST)/bin/python $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# Not the package: it would be in the way of its broken copies.
$(MUTANTS)/.installed: requirements/dev.lock
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(MUTANTS)
	$(MUTANTS)/bin/python $(INSTALL) --require-hashes --requirement requirements/dev.lock
	$(MUTANTS)/bin/python $(INSTALL) 'coverage>=7'
	@touch $@

$(SPARK)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python $(INSTALL) --editable '.[test,spark]'
	@touch $@

$(CLICKHOUSE)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(CLICKHOUSE)
	$(CLICKHOUSE)/bin/python $(INSTALL) --editable '.[test]' 'chdb>=3'
	@touch $@

$(PIPELINE)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(PIPELINE)
	$(PIPELINE)/bin/python $(INSTALL) --editable '.[laws]' 'pipeline-dp>=0.3'
	@touch $@

# Each alone: dpmm pins NumPy, OpenDP and a scikit-learn that diffprivlib finds too old, and mbi
# wants a newer NumPy.
$(DROPINS)/dpmm/.installed: NEEDS = 'dpmm>=0.1.9'
$(DROPINS)/diffprivlib/.installed: NEEDS = 'diffprivlib>=0.6.6' 'scikit-learn<1.8'
$(DROPINS)/mbi/.installed: NEEDS = 'mbi>=2.0'
$(DROPINS)/%/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(DROPINS)/$*
	$(DROPINS)/$*/bin/python $(INSTALL) --editable . hypothesis pytest $(NEEDS)
	@touch $@

# pyright fetches its program when it runs for the first time, so it is in no other environment.
$(TYPES)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(TYPES)
	$(TYPES)/bin/python $(INSTALL) --editable '.[laws,tables]' mypy pyright
	@touch $@

$(FUZZ)/.installed: pyproject.toml
	$(NEEDS_PYTHON)
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python $(INSTALL) --editable '.[tables]' 'atheris>=3.0'
	@touch $@
