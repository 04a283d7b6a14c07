# make demo    label the sample images and say where the results are
# make test    lint, types and tests; with EVERYTHING=yes, as in continuous integration, also types on
#              other systems, kernels (compiled for GPUs, with bounds checked, in plain Python), the
#              plugin in a real viewer, long tests, and whether tests run 92 % of the lines
# make test-arm  labels, kernels, teams and tables on an emulated ARM64
# make gui     the tests of the napari plugin alone, in a real viewer
# make screenshots  the pictures of the plugin for the documentation
# make docs    the site, with its examples run, in docs/_build
# make dist    source distribution and wheel in dist/, the same bytes each time; and a trial of the wheel
# make attack  20 minutes of damaged files, disturbed runs and random images, counted
# make bench   measure against the peers on this machine
# make environments  try the package in fresh environments: other Pythons, lowest and newest versions
# All of it happens in .venv, which is made when it is missing.

PYTHON ?= python3
# `make unit VENV=.venv/3.13 PYTHON=python3.13`: with another Python.
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
OWN_PYTHON := $(BIN)/python$(if $(filter Windows_NT,$(OS)),.exe)
# uv takes a third of the time of pip. Python compiles a module when it is first imported, and keeps
# what it compiled: most of what is installed is never imported.
UV := $(BIN)/uv$(if $(filter Windows_NT,$(OS)),.exe)
INSTALL := $(UV) pip install --quiet --python $(OWN_PYTHON)
unexport PYTHONDONTWRITEBYTECODE
OUT ?= demo-results
# Counting which lines run takes more time.
COUNTED := $(if $(EVERYTHING),--cov --cov-report=)
# Tests of several seconds are left to continuous integration.
SHORT := $(if $(EVERYTHING),, and not long)
CUDA_TESTS := tests/devices/test_cuda_compile.py
TYPES := types-linux types-darwin types-win32
KERNEL_TESTS := tests/devices/test_every_kernel.py tests/devices/test_bits.py
# napari draws with OpenGL under X11; settings of the person who runs this are left alone.
NAPARI = unset QT_QPA_PLATFORM; QT_API=pyqt6 PYTEST_QT_API=pyqt6 NAPARI_CONFIG=$(abspath $(VENV))/napari/settings.yaml
SCREEN = $(NAPARI) xvfb-run -a -s "-screen 0 1600x1000x24"
SCREEN_PACKAGES := xvfb xauth libegl1 libgl1-mesa-dri libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 \
    libxcb-keysyms1 libxcb-shape0 libdbus-1-3 libfontconfig1 libglib2.0-0 fonts-dejavu-core

# Libraries a Qt window needs, as its dynamic linker finds them.
SCREEN_LIBRARIES = { ldconfig -p | grep -q libxcb-cursor.so.0 && ldconfig -p | grep -q libEGL.so.1 \
    && ldconfig -p | grep -q libxkbcommon-x11.so.0; }

.PHONY: demo test test-gpu test-arm sanitize lint style types $(TYPES) unit gui viewer speed kernels bounds plain compiled coverage environments screenshots attack bench samples clean
.DELETE_ON_ERROR:

# Sample images with a pixel size; lengths of the others can only be in pixels.
CALIBRATED = $(addprefix sample_data/, movie.tif nuclei_2d.tif nuclei_3d.tif porous_medium.tif)

demo: $(VENV)/package
	$(BIN)/equilabel batch $(CALIBRATED) --out $(OUT) --overwrite --threshold li --sigma 0.5um --min-size 4
	$(BIN)/equilabel batch $(filter-out $(CALIBRATED), $(wildcard sample_data/*.tif)) --out $(OUT)/pixels --overwrite \
	    --threshold li --sigma 0.5px --min-size 4

# Tests wait for disks, screens and one another: types, and in continuous integration tests of kernels
# and of the plugin, are checked beside the others, which use all cores and so come last; then those of
# the speed of the plugin.
test:
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(VENV)/dev $(if $(EVERYTHING),$(VENV)/screen) style
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(if $(EVERYTHING),types compiled bounds plain viewer,types-linux) unit
	$(if $(EVERYTHING),$(MAKE) --no-print-directory speed coverage)

lint: style types

style: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Each system has its own types of processes, signals and locks, and so its own cache.
types: $(TYPES)

$(TYPES): types-%: $(VENV)/lint
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$*

# Each process begins with other files, and compiles other kernels than the next. What is printed is
# seen at once, for the +.
unit: $(VENV)/dev
	+COVERAGE_FILE=.coverage.unit $(BIN)/python -m pytest -n auto --dist worksteal -m "not gui$(SHORT)" --ignore $(CUDA_TESTS) \
	    --ignore-glob "*/test_gui_*.py" $(COUNTED)

# The plugin in real viewers, each process with a screen that is not there: tests/conftest.py opens
# it. What they cover counts in `coverage`. Speed is measured by itself.
gui: viewer
	$(MAKE) --no-print-directory speed

viewer: $(VENV)/dev $(VENV)/screen
	$(NAPARI) COVERAGE_FILE=.coverage.gui $(BIN)/python -m pytest tests/widget/test_gui_*.py -n auto --maxprocesses 6 \
	    --dist worksteal -m "not slow$(SHORT)" -q $(COUNTED)

speed: $(VENV)/dev $(VENV)/screen
	$(SCREEN) $(BIN)/python -m pytest tests/widget/test_gui_speed.py -m "gui$(SHORT)" -q

# The kernels: those of the CPU on small images, with the bounds of arrays checked, and in plain
# Python, where coverage sees into them; those for GPUs are compiled.
kernels: bounds plain compiled

bounds: $(VENV)/dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest tests/devices/test_every_kernel.py -q

plain: $(VENV)/dev
	NUMBA_DISABLE_JIT=1 COVERAGE_FILE=.coverage.kernels $(BIN)/python -m pytest $(KERNEL_TESTS) -m "not slow" -q $(COUNTED)

# The wheel, as users have it, with each Python that is here; PRE=yes takes pre-releases of what it needs.
environments: $(UV)
	UV=$(abspath $(UV)) .ci/environments $(if $(PRE),--prerelease allow)

compiled: $(VENV)/dev
	$(BIN)/python -m pytest $(CUDA_TESTS) -q

coverage: $(VENV)/dev
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=92

# The pictures of docs/napari.md and README.md, taken of the real viewer.
screenshots: $(VENV)/dev $(VENV)/screen
	$(SCREEN) $(BIN)/python docs/images/screenshots.py

# The site, from scratch: an unchanged example may draw another picture. A warning of Sphinx is an error.
.PHONY: docs dist clean-docs clean-dist
docs: $(VENV)/docs clean-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -j auto docs docs/_build
	@echo "open docs/_build/index.html"

# What an index of packages would be given, and a trial: the wheel in a fresh environment runs the
# first example of the guide. Both files are built twice, to the same bytes: all that is in them has
# the time of the commit. A commit with a tag is of that version.
dist: export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),1580601600)
dist: $(VENV)/dist clean-dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist/again .
	for each in $$(ls dist/again); do cmp dist/$$each dist/again/$$each || exit 1; done
	rm -rf dist/again
	$(BIN)/python -m twine check --strict dist/*
	@tag=$$(git tag --points-at HEAD 2>/dev/null | head -1); \
	if [ -n "$$tag" ] && [ ! -f "dist/equilabel-$${tag#v}.tar.gz" ]; then \
	    echo "A tag must be v and the version; got $$tag for $$(ls dist | head -1)." >&2; exit 1; \
	fi
	$(BIN)/python -m venv --clear dist/trial
	dist/trial/bin/python -m pip --quiet --disable-pip-version-check install dist/*.whl
	dist/trial/bin/python -I tests/pages.py docs/guide.md
	rm -rf dist/trial

clean: clean-docs clean-dist
clean-docs:
	rm -rf docs/_build docs/gallery docs/generated docs/sg_execution_times.rst
clean-dist:
	rm -rf dist

# On a machine with an NVIDIA GPU, a CuPy that fits it, and what tests need; WORKERS share the card.
test-gpu: WORKERS ?= 8
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu -p no:cacheprovider -p no:benchmark -n $(WORKERS)

# On Debian: packages for ARM64 are unpacked into .venv.
test-arm: .venv/bin/python
	tests/arm.sh

# Memory errors and races, by NVIDIA's compute-sanitizer, on a small set of images; CuPy's own kernels
# are not looked at.
sanitize:
	for tool in memcheck racecheck; do \
	    PYTHONPATH=src compute-sanitizer --tool $$tool --kernel-name-exclude kns=cupy_ --error-exitcode 1 \
	        $(PYTHON) tests/sanitize.py || exit 1; \
	done

# Wrong results and lost inputs are looked for; each is printed with what repeats it.
attack: SECONDS ?= 1100
attack: SEED ?= 1
attack: $(VENV)/dev
	PYTHONPATH=tests $(BIN)/python -m attack --seconds $(SECONDS) --seed $(SEED)

bench: $(VENV)/bench
	$(BIN)/python benchmarks/label_cpu.py
	$(BIN)/python benchmarks/sizes_cpu.py
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/summary.py
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/plot_sizes.py

samples: $(VENV)/package
	$(BIN)/python sample_data/make.py

clean:
	rm -rf .venv $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*

# Debian keeps the venv module in a package of its own.
$(UV):
	@if ! $(PYTHON) -m venv $(VENV) 2>/dev/null; then \
	    rm -rf $(VENV); \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; \
	    else \
	        echo "Python's venv module is missing: install the package python3-venv, then try again." >&2; exit 1; \
	    fi; \
	    $(PYTHON) -m venv $(VENV); \
	fi
	$(OWN_PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile "uv>=0.8"

$(VENV)/package: $(UV) pyproject.toml
	$(INSTALL) --editable .
	@touch $@

$(VENV)/lint: $(VENV)/package
	$(INSTALL) --group lint
	@touch $@

$(VENV)/dev: $(VENV)/lint
	$(INSTALL) --group test --group ome
	@touch $@

# A virtual screen for napari, from packages of the system.
$(VENV)/screen: $(UV)
	@if ! command -v xvfb-run >/dev/null || ! $(SCREEN_LIBRARIES); then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -y -qq --no-install-recommends $(SCREEN_PACKAGES) >/dev/null; \
	    else \
	        echo "The tests of the napari plugin need a virtual screen. Install the packages" \
	            "$(SCREEN_PACKAGES), then try again." >&2; exit 1; \
	    fi; \
	fi
	@touch $@

$(VENV)/bench: $(VENV)/package
	$(INSTALL) --group bench
	@touch $@

$(VENV)/docs: $(VENV)/package
	$(INSTALL) --group docs
	@touch $@

$(VENV)/dist: $(UV)
	$(INSTALL) --group dist
	@touch $@
