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

define IMAGE_LINT
$(BIN)/hadolint Dockerfile-2.40
$(BIN)/shellcheck image/*.sh
$(BIN)/zizmor --offline --quiet .github/workflows
endef

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

.PHONY: zoo test check lint image types layers quick accept format bench atlas lock lock-sdk clean distclean

zoo: .venv/zoo.ready
	$(BIN)/doit -n $(PARALLEL) --continue

test: lint types layers
	$(PYTEST)

check: lint types layers quick

lint: .venv/dev.ready
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/ruff format --quiet --check --diff $(SOURCES)
	$(IMAGE_LINT)

# the image with the SDK, as far as that can be told without building it
image: .venv/dev.ready
	$(IMAGE_LINT)
	$(BIN)/pytest tests/image

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
CLEAN_INDEX := PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= PIP_EXTRA_INDEX_URL=
LOCK_FORM := --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
  --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(UPGRADE)
COMPILE := $(CLEAN_INDEX) $(BIN)/pip-compile pyproject.toml --build-deps-for editable $(LOCK_FORM)

# make lock keeps what is pinned; make lock UPGRADE=--upgrade takes new releases
lock: .venv/dev.ready
	$(COMPILE) --extra images --output-file requirements.lock
	$(COMPILE) --extra dev --output-file requirements-dev.lock
	sed -i -e '/^#/d' -e '/^$$/d' requirements.lock requirements-dev.lock

# the packages of the SDK's own Python, which only a pip-compile of that Python can tell
PYTHON310 ?= python3.10
lock-sdk:
	$(PYTHON310) -m venv .venv-3.10
	$(CLEAN_INDEX) .venv-3.10/bin/python -m pip install --quiet pip-tools
	$(CLEAN_INDEX) .venv-3.10/bin/pip-compile image/requirements-sdk-2.40.in $(LOCK_FORM) \
	  --pip-args="--only-binary :all:" --output-file image/requirements-sdk-2.40.lock
	sed -i -e '/^#/d' -e '/^$$/d' image/requirements-sdk-2.40.lock
	rm -r .venv-3.10

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
