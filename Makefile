# Two commands work on a fresh machine that has Python 3.11 or newer and make:
#   make zoo     set everything up and build all recipes
#   make test    set everything up and check the code
# PYTHON names another interpreter, PARALLEL how much is built at once, WORKERS how many
# processes test.

PYTHON ?= python3
PARALLEL ?= 2
# one more than cores: a test that starts a program waits for it
WORKERS ?= $(shell expr $$(nproc) + 1)

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# a file's tests share what is costly to make, so each file stays in one process
# in the order that tests/conftest.py gives them
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
SOURCES := qnnbuild tests $(wildcard bench fuzz tools dodo.py docs/conf.py)

define IMAGE_LINT
$(BIN)/hadolint Dockerfile-2.40
$(BIN)/shellcheck image/*.sh
$(WORKFLOW_LINT)
endef

# the first knows what GitHub takes (actionlint's checks), the second what an attacker may use;
# it looks for shellcheck, which reads the scripts in them, in PATH
define WORKFLOW_LINT
PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jactionlint --profile correctness .github/workflows/*.yml
$(BIN)/zizmor --offline --quiet action.yml .github/workflows
endef

# the site needs nothing of qnnbuild, so its lock holds the extra alone
define EXTRA_DOCS
import tomllib
print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"]))
endef
export EXTRA_DOCS

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

# The server that runs actions keeps no bytecode, and pip compiles no editable install: without this
# each build compiles 150 modules again. With what is compiled already it takes 0.2 s.
COMPILED := $(BIN)/python -m compileall -q qnnbuild -x starter
# what tests import is kept, too
unexport PYTHONDONTWRITEBYTECODE

.PHONY: zoo test whole checks check lint image types layers quick laws accept format docs fuzz bench performance atlas lock lock-sdk clean distclean

zoo: .venv/zoo.ready
	@$(COMPILED)
	$(BIN)/doit -n $(PARALLEL) --continue

# what reads the code runs beside what runs it: mypy takes a minute of one core
test: .venv/dev.ready
	$(MAKE) --no-print-directory --jobs=2 whole checks

whole: .venv/dev.ready
	@$(COMPILED)
	$(PYTEST)

checks: lint types layers

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

# the laws about faults with their full counts: an hour and more; QNNBUILD_LAWS_SEED chooses other faults
laws: .venv/dev.ready
	QNNBUILD_LAWS=full $(BIN)/pytest tests/laws -o faulthandler_exit_on_timeout=false

# golden files take the text of today; read the difference before you commit it
accept: .venv/dev.ready
	$(BIN)/pytest tests/golden tests/e2e/test_cli.py tests/e2e/test_mistakes.py --accept

format: .venv/dev.ready
	$(BIN)/ruff check --quiet --fix $(SOURCES)
	$(BIN)/ruff format --quiet $(SOURCES)

# each reader of what strangers wrote, for so many seconds: make fuzz SECONDS=600 TARGETS="yaml onnx"
# it says by which seed it chose; SEED=7 chooses the same again
SECONDS ?= 60
fuzz: .venv/dev.ready
	nice $(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(TARGETS)

# the site, in build/site; a link or an anchor that leads nowhere is an error
docs: .venv-docs/ready
	.venv-docs/bin/sphinx-build -W --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

# a build of nothing against ninja's, on the same graph of files
bench: .venv/dev.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python bench/noop.py

# all that docs/performance.md tells, on a machine that does nothing else; a quarter of an hour
performance: .venv/dev.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python bench/performance.py

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
	$(BIN)/python -c "$$EXTRA_DOCS" | $(CLEAN_INDEX) $(BIN)/pip-compile - $(LOCK_FORM) --output-file requirements-docs.lock
	sed -i -e '/^#/d' -e '/^$$/d' requirements.lock requirements-dev.lock requirements-docs.lock

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
	rm -rf build .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .fuzz

# the store and the environment as well: what follows starts from nothing
distclean: clean
	rm -rf .qnnbuild .venv .venv-docs

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

.venv-docs/ready: requirements-docs.lock
	@$(PYTHON) -c "$$CHECK_PYTHON"
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip --disable-pip-version-check install --quiet --only-binary :all: --require-hashes -r requirements-docs.lock
	@touch $@
