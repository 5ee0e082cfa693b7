# Two commands work on a fresh machine that has Python 3.11 or newer and make:
#   make zoo     set everything up and build all recipes
#   make test    set everything up and check the code
# PYTHON names another interpreter, PARALLEL how much runs at once.

PYTHON ?= python3
PARALLEL ?= 2

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# a file's tests share what is costly to make, so each file stays in one process
# in the order that tests/conftest.py gives them
PYTEST := $(BIN)/pytest -n $(PARALLEL) --dist loadfile --no-loadscope-reorder
SOURCES := qnnbuild tests $(wildcard bench tools dodo.py)

define CHECK_PYTHON
import sys
if sys.version_info < (3, 11):
    sys.exit("qnnbuild needs Python 3.11 or newer, and %s is %d.%d; name another one: make PYTHON=python3.12"
             % (sys.executable, *sys.version_info[:2]))
try:
    import ensurepip
except ImportError:
    sys.exit("this Python makes no virtual environments; on Debian and Ubuntu: apt-get install python3-venv")
endef
export CHECK_PYTHON

.PHONY: zoo test check lint types layers quick accept format bench atlas lock clean distclean

zoo: .venv/zoo.ready
	$(BIN)/doit -n $(PARALLEL) --continue

test: lint types layers
	$(PYTEST)

check: lint types layers quick

lint: .venv/dev.ready
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/ruff format --quiet --check --diff $(SOURCES)

types: .venv/dev.ready
	$(BIN)/mypy

layers: .venv/dev.ready
	$(BIN)/lint-imports --no-logo

quick: .venv/dev.ready
	$(PYTEST) -m "not slow"

# golden files take the text of today; read the difference before you commit it
accept: .venv/dev.ready
	$(BIN)/pytest tests/golden tests/e2e/test_cli.py tests/e2e/test_mistakes.py --accept

format: .venv/dev.ready
	$(BIN)/ruff check --quiet --fix $(SOURCES)
	$(BIN)/ruff format --quiet $(SOURCES)

# a build of nothing against ninja's, on the same graph of files
bench: .venv/dev.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python bench/noop.py

# what the NPU takes, measured with the real compiler: docs/operators.md; an hour on two cores
atlas: .venv/dev.ready
	nice $(BIN)/python -m tools.atlas

# The wheel index's own files only: an index or a folder of this machine would put digests
# into the locks that nobody else can check.
COMPILE := PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= PIP_EXTRA_INDEX_URL= $(BIN)/pip-compile --quiet \
  pyproject.toml --build-deps-for editable --generate-hashes --allow-unsafe --strip-extras \
  --no-header --no-annotate --no-emit-options --no-emit-index-url --no-emit-find-links \
  --no-emit-trusted-host $(UPGRADE)

# make lock keeps what is pinned; make lock UPGRADE=--upgrade takes new releases
lock: .venv/dev.ready
	$(COMPILE) --extra images --output-file requirements.lock
	$(COMPILE) --extra dev --output-file requirements-dev.lock
	sed -i -e '/^#/d' -e '/^$$/d' requirements.lock requirements-dev.lock

clean:
	rm -rf build .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

# the store and the environment as well: what follows starts from nothing
distclean: clean
	rm -rf .qnnbuild .venv

.venv/bin/python:
	@$(PYTHON) -c "$$CHECK_PYTHON"
	$(PYTHON) -m venv .venv

.venv/zoo.ready: requirements.lock pyproject.toml | .venv/bin/python
	$(INSTALL) --only-binary :all: --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.ready: requirements-dev.lock pyproject.toml | .venv/bin/python
	$(INSTALL) --only-binary :all: --require-hashes -r requirements-dev.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
