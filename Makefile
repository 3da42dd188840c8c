# Everything a newcomer needs; `make help` lists it. Needs Python 3.11 to 3.13 and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo test test-all check lint format types layers pins choices docs pictures bench gpu audit clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14) and "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo,mteb,lora,launchers,smac,docs,dev]'
	touch $(READY)

setup: $(READY) ## Make .venv with everything pinned in constraints.txt

demo: $(READY) ## Train a real encoder without a hub or a GPU, and score it (three minutes on two cores)
	$(BIN)/cse-train experiment=demo

check: lint format types layers ## Lint, format, types, layers

lint: $(READY) ## Only ruff's rules
	$(BIN)/ruff check .

format: $(READY) ## Only the format (to mend it: .venv/bin/ruff format .)
	$(BIN)/ruff format --check .

types: $(READY) ## Only mypy
	$(BIN)/mypy

layers: $(READY) ## Only what may import what
	$(BIN)/lint-imports

# One thread a test, two tests at a time: thread pools of several tests on two cores only wait for each other.
test: check ## Everything that CI runs: check, then every test that is not nightly (ten minutes on two idle cores)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadscope -m 'not nightly'

test-all: check ## Those of many processes too: kills, SLURM, a browser, fuzz, every documented command
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadscope

pins: $(READY) ## Pin the newest versions that fit together in constraints.txt; `make test` then says whether they do
	$(BIN)/python .ci/pins.py

choices: $(READY) ## Write the pages of choices, settings and other trainers' arguments
	$(BIN)/python tests/pages.py docs

docs: $(READY) ## Build the documents into site/ from scratch; a link that leads nowhere fails
	$(BIN)/python -m sphinx -q -W --keep-going -E -d site/.doctrees docs site

pictures: $(READY) ## Take the documents' pictures of pages again (ten minutes; Chromium; RUNS=FOLDER keeps the runs)
	$(BIN)/python tests/gallery.py $(RUNS)

bench: $(READY) ## Every benchmark; each writes its part of benchmarks/RESULTS.md
	failed=; for file in benchmarks/bench_*.py; do $(BIN)/python -m benchmarks.$$(basename $$file .py) || failed="$$failed $$file"; done; \
	if [ -n "$$failed" ]; then echo "without a figure:$$failed"; exit 1; fi

gpu: $(READY) ## Prove a GPU machine: right, fast, in memory; half an hour, no network (benchmarks/gpu)
	$(BIN)/python -m benchmarks.gpu

audit: ## Ask a vulnerability service (which has to be reachable) about every pinned package
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet pip-audit
	.venv/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --progress-spinner off

clean: ## Remove what runs and tests leave (not .venv)
	rm -rf outputs multirun runs reports site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
