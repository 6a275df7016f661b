# Every target creates .venv and installs what it needs; nothing else is assumed.
PYTHON ?= python3
BIN := .venv/bin
SITE := docs/_build docs/gallery docs/reference docs/results
# One process per core; tests/conftest.py has the order of the files.
SPREAD := -n auto --dist loadfile --no-loadscope-reorder
# What tells most about other versions of dependencies in two minutes.
FEW := $(addprefix tests/,test_smoke.py test_golden.py test_frozen.py test_determinism.py \
	methods/test_estimators.py methods/test_scverse.py ensemble/test_doors.py files \
	stream/test_blocks.py view/test_displays.py cli/test_cli.py)

.PHONY: demo test test-fast test-lowest test-lowest-few coverage mutants fuzz faults \
	lint audit docs dist bench bench-quick clean

demo: .venv/demo
	$(BIN)/ensclust demo

test: .venv/test
	$(BIN)/python -m pytest $(SPREAD)

# All but the tests that take seconds each: below three minutes.
test-fast: .venv/test
	$(BIN)/python -m pytest $(SPREAD) -m "not slow"

coverage: .venv/coverage
	$(BIN)/python -m pytest $(SPREAD) --cov --cov-report=term:skip-covered

# Changes the source in 1,500 places, one by one, and reports which changes no test
# notices: more than an hour. Results in tests/mutants/results.jsonl are not repeated.
mutants: .venv/mutants
	$(BIN)/python -m tests.mutants run
	$(BIN)/python -m tests.mutants report

# With the lowest supported versions: needs PYTHON to be 3.11 or 3.12.
test-lowest: .venv-lowest/test
	.venv-lowest/bin/python -m pytest $(SPREAD)

test-lowest-few: .venv-lowest/test
	.venv-lowest/bin/python -m pytest $(SPREAD) $(FEW) --ignore tests/files/test_read_memory.py

# A quarter of an hour for all targets; tests replay the corpus in seconds.
fuzz: .venv/fuzz
	$(BIN)/python -m fuzz

# Kills and interrupts programs 50 times, and Dask workers 20 times: twenty minutes.
faults: .venv/test
	$(BIN)/python -m tests.faults

lint: .venv/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Looks up known vulnerabilities of the versions that CI installs: needs a network.
audit: .venv/audit
	$(BIN)/pip-audit --requirement .ci/constraints.txt --no-deps --disable-pip

docs: .venv/docs
	rm -rf $(SITE)
	$(BIN)/python -m sphinx -W --keep-going --quiet docs docs/_build/html
	$(BIN)/python -m docs.check_site docs/_build/html

# Builds sdist and wheel, checks their metadata, and tries the wheel in a fresh environment.
dist: .venv/dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tests.try_wheel dist

bench: .venv/bench
	$(BIN)/python -m benchmarks

bench-quick: .venv/bench
	$(BIN)/python -m benchmarks --quick

.venv/bin/python:
	$(PYTHON) -m venv .venv

# pip installs dependency groups since version 25.1; venv brings an older one.
.venv/pip: | .venv/bin/python
	$(BIN)/python -m pip install --quiet --upgrade "pip >= 25.1"
	touch $@

# One stamp per set of dependencies, renewed when they change.
.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[metis]"
	touch $@

.venv/lint: pyproject.toml | .venv/pip
	$(BIN)/python -m pip install --quiet --editable . --group $(@F)
	touch $@

.venv/audit .venv/dist: pyproject.toml | .venv/pip
	$(BIN)/python -m pip install --quiet --group $(@F)
	touch $@

.venv/%: pyproject.toml | .venv/pip
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group $*
	touch $@

.venv-lowest/test: pyproject.toml .ci/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	PIP_CONSTRAINT=.ci/lowest.txt .venv-lowest/bin/python -m pip install --quiet \
	  --editable ".[all]" --group test
	touch $@

clean:
	rm -rf .venv .venv-lowest dist $(SITE)
