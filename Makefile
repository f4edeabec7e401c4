# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test lint bench docs clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[plot,onnx,lightgbm]" --group dev
	touch $@

$(VENV)/.demo-ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

demo: $(VENV)/.demo-ready
	$(BIN)/crank demo --output demo

# one BLAS and OpenMP thread a process: the test processes share the cores already
test: $(VENV)/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) tests crank

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --quiet --site-dir site

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache
