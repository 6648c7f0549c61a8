# Everything runs from here. `make help` lists the targets.
#
# One virtual environment, .venv, made once from constraints.txt and made again when that file or
# pyproject.toml changes. PYTHON picks the interpreter, TORCH_INDEX another index for torch.

PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
LAB_ARGS ?=
PYTEST_ARGS ?= -n 2 --dist loadgroup
CPU_INDEX := https://download.pytorch.org/whl/cpu

PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SOURCES := $(wildcard autograder tests bench nbgrader_config.py)

.DEFAULT_GOAL := help
.PHONY: help env frameworks lab test test-slow test-all demo bench release lint

help:
	@echo "make lab        open the course in JupyterLab (LAB_ARGS='--no-browser --port 8899' is handed on)"
ifneq ($(wildcard source),)
	@echo "make test       run the tests (a few minutes)"
	@echo "make test-all   run the slow tests too"
	@echo "make demo       the whole life of an assignment under nbgrader, in a scratch folder"
	@echo "make bench      measure check latency and memory, and how fast a class of 200 is graded (half an hour:"
	@echo "                BENCH_ARGS='--students 12 --stock 2' takes minutes)"
	@echo "make release    make release/ from source/ again, with nbgrader"
	@echo "make lint       ruff"
endif
	@echo "make frameworks add Accelerate, Lightning and Transformers to .venv, for the survey of real trainers"
	@echo "make env        make .venv alone (PYTHON=python3.11 picks the interpreter;"
	@echo "                TORCH_INDEX=$(CPU_INDEX) the small CPU build of torch)"

env: $(STAMP)
	@echo "$(VENV) is ready."

frameworks: $(VENV)/.frameworks
	@echo "$(VENV) has Accelerate, Lightning and Transformers too."

$(VENV)/.frameworks: $(STAMP)
	$(PY) -m pip install -c constraints.txt -e '.[frameworks]'
	@touch $@

lab: $(STAMP)
	@$(PY) -m autograder.classroom.lab $(LAB_ARGS)

test: $(STAMP)
	$(PY) -m pytest -m "not slow" $(PYTEST_ARGS)

# pytest exits with 5 when no test is marked slow: that is no failure here.
test-slow: $(STAMP)
	$(PY) -m pytest -m slow $(PYTEST_ARGS) || test $$? -eq 5

test-all: test test-slow

demo: $(STAMP)
	@$(PY) -m autograder.classroom.demo $(DEMO_ARGS)

bench: $(STAMP)
	@$(PY) -m bench $(BENCH_ARGS)

release: $(STAMP)
	@$(PY) -m autograder.classroom.release

lint: $(STAMP)
	$(PY) -m ruff check $(SOURCES)

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)' here. Install Python 3.10 or newer, or name one: make PYTHON=python3.12 env"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) -V 2>&1); this course needs Python 3.10 or newer. Name one: make PYTHON=python3.12 env"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@if [ -z "$(TORCH_INDEX)" ] && [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then \
	  echo "No GPU found. To download about 3 GB less, take the CPU build of torch:"; \
	  echo "    make env TORCH_INDEX=$(CPU_INDEX)"; fi
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV): minutes the first time."
	$(PY) -m pip install $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[course,dev]'
	@touch $@
