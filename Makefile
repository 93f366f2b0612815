# The fresh machine has python3, python3-venv and make; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
PORT ?= 8501
WORKERS ?= 3
export IPD_HOME ?= var
# Machine code of the loops and bytecode are kept beside their sources: made once here, not by every worker and
# every server of the tests, also where the environment asks Python to keep none.
KEPT := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python
COMPILE := $(KEPT) -c 'from data.gpu import plain_kernels, plain_minutes'; \
	$(KEPT) -m pytest -m "not full" --collect-only -qq >/dev/null
# As many workers as a machine of two cores feeds: a worker's own threads would only wait for each other.
test test-full: export IPD_THREADS = 1
test test-full: export OPENBLAS_NUM_THREADS = 1
# Dear groups first, in the order of tests/conftest.py, not those of most tests.
DIST := -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=15 -rs

.PHONY: run setup test test-full prepare check bench shots clean

run: setup
	$(BIN)/python cli.py serve --port $(PORT)

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…"; exit 1; }
	@echo "First start: making $(VENV) and installing requirements.txt into it, which takes a minute or more."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.ready-test: tests/requirements.txt $(VENV)/.ready
	@echo "Installing tests/requirements.txt into $(VENV): what the tests need, once."
	@$(PIP) -r tests/requirements.txt
	@touch $@

# PREPARED=1: `make prepare` has just been run, as .ci/run does beside `make check`.
test: $(if $(PREPARED),,prepare)
	$(KEPT) -m pytest -m "not full" $(DIST)

prepare: $(VENV)/.ready-test
	@($(COMPILE)) & $(BIN)/python -m tests.browser.chromium --install; found=$$?; wait; exit $$found

test-full: $(VENV)/.ready-test
	@$(BIN)/python -m tests.browser.chromium --install
	HYPOTHESIS_PROFILE=full $(KEPT) -m pytest $(DIST)

check: $(VENV)/.ready-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.ready-test
	@$(BIN)/python -m tests.browser.chromium --install
	$(BIN)/python -m tests.bench

shots: $(VENV)/.ready-test
	$(BIN)/python -m tests.browser.shots

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
