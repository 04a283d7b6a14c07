# make demo    label the sample images and say where the results are
# make test    everything continuous integration checks: lint, types, tests
# make bench   measure against the peers on this machine
# All of it happens in .venv, which is made when it is missing.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
OUT ?= demo-results

.PHONY: demo test test-gpu sanitize lint unit coverage bench samples clean
.DELETE_ON_ERROR:

demo: .venv/package
	$(BIN)/equilabel batch sample_data --out $(OUT) --overwrite --threshold li --sigma 0.5 --min-size 4

test: lint unit coverage

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: .venv/dev
	$(BIN)/python -m pytest

# The kernels again in plain Python, where coverage can see into them.
coverage: .venv/dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not slow" --cov --cov-report=term --cov-fail-under=90 -q

# On a machine with an NVIDIA GPU, a CuPy that fits it, and what tests need.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu -p no:cacheprovider

# Memory errors and races, by NVIDIA's compute-sanitizer, on a small set of images.
sanitize:
	for tool in memcheck racecheck; do \
	    PYTHONPATH=src compute-sanitizer --tool $$tool --error-exitcode 1 $(PYTHON) tests/sanitize.py || exit 1; \
	done

bench: .venv/bench
	$(BIN)/python benchmarks/label_cpu.py
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/report.py

samples: .venv/package
	$(BIN)/python sample_data/make.py

clean:
	rm -rf .venv $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

# Debian keeps the venv module in a package of its own.
.venv/bin/python:
	@if ! $(PYTHON) -m venv .venv 2>/dev/null; then \
	    rm -rf .venv; \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; \
	    else \
	        echo "Python's venv module is missing: install the package python3-venv, then try again." >&2; exit 1; \
	    fi; \
	    $(PYTHON) -m venv .venv; \
	fi
	$(PIP) install --upgrade "pip>=25.1"

.venv/package: .venv/bin/python pyproject.toml
	$(PIP) install --editable .
	@touch $@

.venv/dev: .venv/package
	$(PIP) install --group test --group lint
	@touch $@

.venv/bench: .venv/package
	$(PIP) install --group bench
	@touch $@
