# Each target does its own set-up. `make help` lists them.
#
#   PYTHON       the Python that makes the environment (3.11 or later)
#   TORCH_INDEX  where torch comes from: auto, cpu, registry, or the address of an index; empty: as last
#                named in this checkout, at first auto
#   PROFILE      what `make notebooks` and `make figures` run: laptop (default), gpu, or for figures ci
#   PAGES        pages to run or build, as parts of their names; empty: all
#   ONLY         the ways that `make ways-in` tries; empty: all
#   LAB          options of JupyterLab for `make lab`, such as --no-browser --port 8890 on a server

PYTHON      ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell $(p) -c 'print("$(p)")' 2>/dev/null)) python3)
TORCH_INDEX ?=
PROFILE     ?= laptop
PAGES       ?=
LAB         ?=
ONLY        ?=

PY := .venv/bin/python

# All paths are those of this folder; in another one `clean` would remove what is not ours.
HERE := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))
ifneq ($(HERE),$(realpath ./))
$(error make: this Makefile was called in $(CURDIR), expected in its own folder: make -C that folder)
endif

# What clean removes in build/: what is made again by itself. Training runs lie beside it.
BUILT := .site.lock .site.lock.holder book-src exercises figures pdf site site-work test vendor
BUILT += .site-pdf.lock .site-pdf.lock.holder site-pdf site-pdf-work
BUILT += $(foreach profile,ci laptop gpu experiment,$(profile)/casestudies $(profile)/chapters)

# Another project's modules must not reach this environment.
unexport PYTHONPATH PYTHONHOME
.DEFAULT_GOAL := help
.PHONY: help first read book pdf slides figures browser run test faults quick lab ways-in notebooks exercises bench lint fmt doctor results readme atlas constraints setup clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

read: ## Build the book from the committed outputs (no torch) and print its address
	@$(PYTHON) tools/setup_env.py read $(if $(HASHED),--hashed)
	@.venv-read/bin/python book/build.py --out build/site
	@echo "Open file://$(CURDIR)/build/site/index.html"

book: setup ## Build the book with the development environment into build/site
	@$(PY) book/build.py --out build/site

pdf: setup ## Print each chapter to build/pdf with Chromium (PAGES=... builds and prints only those)
	@$(PY) book/pdf.py --out build/pdf $(PAGES)

browser: ## Install Chromium (with apt) and axe-core, for browser tests and `make pdf`
	@$(PYTHON) tools/chromium.py
	@$(PYTHON) tools/vendor.py axe-core

figures: setup ## Save each figure as SVG and PDF in build/figures (PROFILE=ci: generated data; PAGES=...)
	@$(PY) -m deepdive_book.site.pages run --all --profile $(PROFILE) --figures build/figures $(PAGES); ran=$$?; \
	[ $$ran -ne 130 ] || exit 130; $(PY) book/figures.py --out build/figures && exit $$ran

slides: setup ## Print each chapter's slides to build/pdf with Chromium
	@$(PY) book/pdf.py --slides --out build/pdf $(PAGES)

first: ## Run the first page in a minimal environment
	@$(PYTHON) tools/setup_env.py first --torch-index "$(TORCH_INDEX)"
	@$(PY) -m deepdive_book.site.pages run --profile ci --out build/ci ten_minutes
	@echo "To read it and all others, and to change them: make lab"

run: setup ## Run every page (or PAGES=...) in the ci profile into build/ci and build the book
	@$(PY) -m deepdive_book.site.pages run --all --profile ci --out build/ci $(PAGES); ran=$$?; \
	[ $$ran -ne 130 ] || exit 130; [ -z "$(PAGES)" ] || exit $$ran; $(PY) book/build.py --out build/site \
	&& echo "Open file://$(CURDIR)/build/site/index.html" && exit $$ran

test: setup ## Check style and types, run all tests and every page; report times
	@$(PY) tools/run_tests.py

faults: setup ## Run the fault tests that are too slow for `make test` (marked slow_fault)
	@$(PY) -m pytest -m slow_fault tests

quick: setup ## Check style and test what your change affects, in minutes; for the kernel, a sample
	@$(PY) tools/quick.py

lab: ## Open JupyterLab on your own copy of the pages, in my-pages (LAB="--no-browser --port 8890")
	@$(PYTHON) tools/setup_env.py lab --torch-index "$(TORCH_INDEX)"
	@$(PY) tools/lab.py $(LAB)

notebooks: setup ## Build the committed .ipynb with outputs from the .py sources (real data)
	@$(PY) -m deepdive_book.site.pages notebooks --profile $(PROFILE) $(PAGES)
	@$(PY) -m deepdive_book exercises

exercises: setup ## Write the exercises: students' form; solved, self-study, and instructor's in build/exercises
	@$(PY) -m deepdive_book exercises --all

bench: setup ## Measure speed and memory against other implementations
	@$(PY) benchmarks/run.py

lint: setup ## Check style and types only
	@$(PY) tools/run_tests.py --only lint

fmt: setup ## Format the code and sort its imports
	@$(PY) -m ruff check --quiet --fix . ; checked=$$?; $(PY) -m ruff format . && exit $$checked

doctor: setup ## Check this machine and show fixes
	@$(PY) -m deepdive_book doctor

ways-in: ## Install each documented environment from scratch and run its command (ONLY="read first")
	@$(PYTHON) tools/ways_in.py $(addprefix --only ,$(ONLY))

results: setup ## Write RESULTS.md from casestudies/results/*.json
	@$(PY) tools/results_table.py

readme: setup ## Write the numbers and the table of the book in README.md
	@$(PY) tools/book_table.py

atlas: setup ## Write atlas.csv: every system with its parent, proof, and page
	@$(PY) -m deepdive_book.site.atlas

constraints: setup ## Resolve constraints.txt again (for maintainers)
	@$(PY) tools/constraints.py

setup: ## Create .venv: torch (CPU build unless there is an NVIDIA GPU), then the rest
	@$(PYTHON) tools/setup_env.py full --torch-index "$(TORCH_INDEX)"

clean: ## Remove environments and build output; keeps training runs in build/ and downloaded data
	@for made in .venv .venv-read; do \
	    if [ -e $$made/setup-stamp ]; then rm -rf $$made; \
	    elif [ -e $$made ]; then echo "$$made stays: make did not make it"; fi; done
	@rm -rf $(addprefix build/,$(BUILT)) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@[ ! -d build ] || find build -depth -type d -empty -exec rmdir {} \;
	@[ ! -d build ] || echo "build stays: training runs are in" build/*
