# make study    set up, then the main job, small enough to show what it does: every table of a paper, a search, an answer
#               with finals, on built-in data without a network or a GPU; two to three minutes on two quiet cores
# make notebook set up, then docs/own_pairs.ipynb in Jupyter: from pairs of texts to a better encoder
# make fuzz     set up, then broken files by the thousand for whatever reads files, and properties by other examples
# make test     set up, then lint, types and tests, these in two processes: under six minutes on two quiet cores
# make test-long      then the tests that take longer: struck studies, simulations, a whole evaluation
# make test-versions  reports, figures and recipes on every further Python that this machine has
# make audit    what is known of holes in the pinned dependencies; asks pypi.org, and fails where that cannot be reached
# make licences the licences of the dependencies, as a table
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python
# Where nothing is kept of compiled files, as in many containers, each process of the tests compiles all of these anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: study notebook test test-long test-versions fuzz setup lint types audit licences clean

study: $(VENV)/.installed
	$(RUN) study/run.py --space scl_ablation --scale laptop --set optimisation.max_steps=40 --seeds 2 \
		--search optuna --trials 4 --finals 1x3 --soup none --results results/scl_ablation-laptop

notebook: $(VENV)/.installed
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt 'notebook>=7,<8'
	$(RUN) -m notebook docs/own_pairs.ipynb

# tests/conftest.py says how they are handed out. pytest 9.2 keeps no groups with the xdist of today
test: $(VENV)/.installed-dev lint types
	$(RUN) -m pytest --numprocesses 2 --dist loadgroup --no-loadscope-reorder

test-long: $(VENV)/.installed-dev
	$(RUN) -m pytest -m slow --numprocesses 2 --dist loadgroup --no-loadscope-reorder

test-versions: $(VENV)/.installed-dev
	.ci/versions

# FUZZ_INPUTS=N makes N broken inputs for each reader
fuzz: export FUZZ_INPUTS ?= 250
fuzz: $(VENV)/.installed-dev
	$(RUN) -m pytest -m fuzz --numprocesses 2

lint: $(VENV)/.installed-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(VENV)/.installed-dev
	$(RUN) -m mypy --num-workers 2

setup: $(VENV)/.installed-dev

audit: $(VENV)/audit/bin/pip-audit
	.ci/audit $<

licences: $(VENV)/.installed-dev
	$(RUN) -m tests.licences

# In an environment of its own: what it needs is none of ours.
$(VENV)/audit/bin/pip-audit: | $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3'

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,weights]'
	# PyTorch for GPUs brings its own; else the tests interpret it, and are skipped where it has no package
	-$(RUN) -c 'import triton' 2> /dev/null || $(RUN) -m pip install --quiet --disable-pip-version-check triton==3.6.0
	touch $@

clean:
	rm -rf $(VENV) results build *.egg-info
