# make demo              JupyterLab on the index of the lessons
# make demo HEADLESS=1   the first lesson executed, as HTML, in build/
# make check             lint, types and the unit tests of the core
# make test              lint, types, doctests, unit tests, notebooks and browser tests
# make docs              the reference, the lessons and how placement works as a site, in build/docs
# make lint | types | bench | venv | clean
#
# Everything lives in .venv; stamps in it make a second run quick.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
INDEX := notebooks/00-index.ipynb
FIRST_NOTEBOOK = $(firstword $(sort $(wildcard notebooks/01-*.ipynb)))

# The first Python from 3.11 on; name another with `make test PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

# Lints scripts and sheets; its wheel is the whole program, and it may ask nobody.
export DENO_NO_UPDATE_CHECK := 1

# What the tests need beside Python: a browser and what its driver links, `dot`, and fonts so that pictures have text.
# The browser without windows of its own opens a page in half the time.
TEST_PACKAGES := 'chromium-headless-shell|chromium' libatomic1 graphviz fonts-dejavu-core fonts-liberation

# Runs a program as if the environment were activated, so that what it starts finds `graphviz-pure` and the like.
ACTIVATED := PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: help demo docs check test lint types unit bench venv system clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | sed -n '1,8p'

$(VENV)/stamp-venv:
	@test -n "$(PYTHON)" || { echo "make: no Python from 3.11 on was found; install one, or name it with PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || tests/tools/install_system_packages.sh python3-venv
	"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

$(VENV)/stamp-lab: $(VENV)/stamp-venv pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lab]'
	@touch $@

$(VENV)/stamp-test: $(VENV)/stamp-venv pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lab,test]'
	@touch $(VENV)/stamp-lab $@

$(VENV)/stamp-docs: $(VENV)/stamp-venv pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

venv: $(VENV)/stamp-test

system:
	@tests/tools/install_system_packages.sh $(TEST_PACKAGES)

ifdef HEADLESS
demo: $(VENV)/stamp-lab
	$(ACTIVATED) python tests/tools/notebook_to_html.py "$(FIRST_NOTEBOOK)" build
else
demo: $(VENV)/stamp-lab
	$(ACTIVATED) jupyter lab --notebook-dir=notebooks $$([ "$$(id -u)" = 0 ] && echo --allow-root) \
		--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None \
		"$(INDEX)"
endif

# Notebooks are shown as they are stored; a warning, such as a broken reference, fails the build.
docs: $(VENV)/stamp-docs
	$(ACTIVATED) python -m sphinx --builder html --fail-on-warning --keep-going --quiet \
		--conf-dir notebooks/site --doctree-dir build/doctrees notebooks build/docs
	@echo "build/docs/index.html"

lint: $(VENV)/stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deno fmt --quiet --check --config gpuplace/web/deno.json gpuplace/web gpuplace/jupyter/server/gpuplace_jupyter/labextension/static
	$(BIN)/deno lint --quiet --config gpuplace/web/deno.json gpuplace/web gpuplace/jupyter/server/gpuplace_jupyter/labextension/static
	$(BIN)/deno check --quiet --no-remote --config gpuplace/web/deno.json gpuplace/web

types: $(VENV)/stamp-test
	$(BIN)/mypy

# `--require` turns the skip of a test whose program is missing into a failure. The many processes that tests start find
# modules compiled, also where PYTHONDONTWRITEBYTECODE has each compile them again.
unit: $(VENV)/stamp-test
	@$(BIN)/python -m compileall -q -j 0 gpuplace tests
	$(ACTIVATED) pytest --doctest-modules gpuplace tests --numprocesses 2 --dist loadscope --no-loadscope-reorder \
		--require dot,notebook,browser $(PYTEST_ARGS)

# The folders whose tests prove the core: where nodes are placed and why, the session, what a model is, what a step costs.
# Whole programs and corpora, single ops, searches and views are left to `make test`.
CORE := $(addprefix tests/,device graph placer kernels why runtime/memory runtime/session model findings cost)

check: lint types
	$(ACTIVATED) pytest -q $(CORE) --ignore tests/why/test_verdict.py --numprocesses 2 --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

# What does not need the processor, or only one, goes side by side: packages of both kinds; types and unit tests.
test: $(VENV)/stamp-venv
	@$(MAKE) --no-print-directory --jobs 2 system venv
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs 2 types unit

bench: $(VENV)/stamp-test
	$(ACTIVATED) python tests/benchmarks/import_time.py
	$(ACTIVATED) pytest tests/benchmarks --benchmark-only --benchmark-group-by=group
	$(ACTIVATED) python -m tests.benchmarks.bench_session
	$(ACTIVATED) python -m tests.benchmarks.bench_kernels
	$(ACTIVATED) python -m tests.benchmarks.bench_ops
	$(ACTIVATED) python -m tests.benchmarks.bench_training
	$(ACTIVATED) python -m tests.benchmarks.bench_graph_building
	$(ACTIVATED) python -m tests.benchmarks.bench_placer
	$(ACTIVATED) python -m tests.benchmarks.bench_graph_def
	$(ACTIVATED) python -m tests.benchmarks.bench_drawing
	$(ACTIVATED) python -m tests.benchmarks.bench_explorer
	$(ACTIVATED) python -m tests.benchmarks.bench_gpu

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
