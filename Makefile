# make demo   the main job on a fresh machine; make test   every check. Needs Python 3.11 or newer and make.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
STAMP  := $(VENV)/.built
OUT    := out
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet install --no-compile --constraint constraints.txt
CODE   := ukctrl ukctrl_film ukctrl_identification ukctrl_laws ukctrl_optimal ukctrl_papers tests benchmarks tools hatch_build.py
JOBS   ?= 2
PYTEST := $(BIN)/python -m pytest --quiet --numprocesses $(JOBS) --dist worksteal

# The first of these that starts, is new enough and can build environments. Override with: make PYTHON=/path/to/python
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python3.14; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$python" && break; done)

export MPLBACKEND ?= Agg
export NO_MKDOCS_2_WARNING := 1
# The tests start the command hundreds of times: Python keeps what it has compiled, also where a shell tells it not to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: browser help demo test lint type fast pages slow portable bounds truth twin fuzz kill mutants docs bench peers wheel release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(CORE) ## run the SCARA helix and compare three controllers on it
	$(BIN)/ukctrl run scara-helix --out $(OUT)/scara-helix
	$(BIN)/ukctrl compare scara-helix -c servo-baumgarte -c computed-torque -c pd-gravity --out $(OUT)/compare
	@echo
	@echo "The pages, for your browser:"
	@for page in $(OUT)/scara-helix/report.html $(OUT)/compare/*.html; do echo "  $(CURDIR)/$$page"; done

test: lint type fast ## lint, types, and every test that is neither slow nor runs the documentation

lint: $(STAMP) ## ruff: mistakes and layout
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

type: $(STAMP) ## mypy --strict on the library
	$(BIN)/mypy --num-workers $(JOBS)

fast: $(STAMP)
	$(PYTEST) -m "not slow and not pages"

pages: $(STAMP) ## run what the documentation shows, check its numbers, and build it
	$(PYTEST) -m "pages and not slow"

slow: $(STAMP) ## the long tests
	$(PYTEST) -m slow

browser: $(STAMP) ## open every kind of page and ten of the documentation in Chromium, which apt installs where it may
	@$(BIN)/python tests/browser/chromium.py
	$(PYTEST) tests/browser

# Further: make portable KINDS="--kind plain", make portable SLOW=1, make portable PAGES=1.
portable: $(STAMP) ## the fast tests under the arithmetic of several processors
	$(BIN)/python tests/arithmetic.py --jobs $(JOBS) $(if $(SLOW),--slow) $(if $(PAGES),--pages) $(KINDS)

# Further: make bounds BOUNDS="--python python3.13 --only newest --count 100".
bounds: ## a sample of the tests with the oldest packages that pyproject.toml allows, and with the newest
	$(PYTHON) tests/bounds.py --jobs $(JOBS) $(BOUNDS)

# Further: make fuzz COUNT=400 SEED=7.
fuzz: $(STAMP) ## thousands of strange inputs, none of which may run, crash, hang or show anything
	$(BIN)/python tests/hostile/fuzz.py --jobs $(JOBS) --count $(or $(COUNT),20000) --seed $(or $(SEED),1)

# Further: make truth COUNT=200 SEED=7.
truth: $(STAMP) ## random robots beside dense equations of fifty digits: motions, reactions, least norms
	$(BIN)/python tests/truth/truth.py --jobs $(JOBS) --count $(or $(COUNT),2000) --seed $(or $(SEED),1)

# Further: make twin COUNT=40 SEED=7.
twin: $(STAMP) ## the catalogue and random scenarios by machine code and by Python, bit by bit
	$(BIN)/python tests/twin/twin.py --jobs $(JOBS) --count $(or $(COUNT),500) --seed $(or $(SEED),1)

# Further: make kill ONLY="--only tune --share 0.1".
kill: $(STAMP) ## kills, rivals, small disks and cold caches, after which nothing may be lost, repeated or mixed
	$(BIN)/python tests/hostile/kill.py $(ONLY)

# Further: make mutants FAULTS="--count 40 --package reports".
mutants: $(STAMP) ## faults put into the library one at a time, which the tests must find
	$(BIN)/python -m tests.mutants.mutants --jobs $(JOBS) $(FAULTS)

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/mkdocs --quiet build --strict
	@echo "$(CURDIR)/site/index.html"

bench: $(STAMP) ## time ukctrl beside the script a user would write
	@for script in benchmarks/*.py; do echo "$$script"; $(BIN)/python "$$script" || exit 1; done

peers: $(STAMP) ## install TSID, MuJoCo, Drake and C++ headers in out/peers; time ukctrl beside them, into the page
	$(BIN)/python benchmarks/peers.py --install --page

# Numba compiles the catalogue for a generic processor; it takes some ten minutes.
wheel: $(STAMP) ## build a wheel for this Python and platform that compiles nothing
	$(BIN)/python tools/ship_machine_code.py build/machine_code.zip
	UKCTRL_MACHINE_CODE=build/machine_code.zip $(BIN)/python -m build --wheel --no-isolation --outdir dist

# Further: make release-check KEEP=dist.
release-check: $(STAMP) ## build what is published, and follow the README with it in an empty environment
	$(BIN)/python -m tests.project.release_check $(KEEP)

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) $(OUT) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment, built once: what a user installs, and with the first target for developers what they need. The build
# tools come first, at their pinned versions, and the project is then installed with them instead of in an isolated build
# environment, which would ignore the pins. Python compiles what it imports, a fifth of what there is.
$(CORE): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "ukctrl needs Python 3.11 or newer with its venv module; found none of" \
		"python3.11, python3.12, python3.13, python3.14. Install one (on Debian and Ubuntu also the package" \
		"python3-venv), or name yours: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Building the environment in $(VENV) with $$($(PYTHON) --version) (a minute or two, once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) hatchling editables
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(STAMP): $(CORE)
	@echo "Adding to $(VENV) what tests and documentation need (another minute, once) ..."
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@
