# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test lint docs docs-release dist fresh hooks bench clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[plot,onnx,lightgbm,serve,dask]" --group dev --group docs
	touch $@

$(VENV)/.demo-ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

demo: $(VENV)/.demo-ready
	$(BIN)/crank demo --output demo

# one BLAS and OpenMP thread a process: the test processes share the cores already;
# COVERAGE=1 measures lines and branches and fails below the bar in pyproject.toml
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
# what compiles comes first, untraced and file by file: a tracer doubles the time that numba takes,
# and two processes in one file would compile the same; then groups of tests that share what is dear
COMPILED := tests/test_kernels_*.py tests/test_linear.py tests/test_million_rows.py
test: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m compiled $(COMPILED)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(if $(COVERAGE),--cov=crank) -m "not compiled" tests crank

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# a warning is an error
docs: $(VENV)/.ready
	$(BIN)/mkdocs build --strict --site-dir site

# the documentation of this version beside that of earlier ones, with a menu of versions
docs-release: $(VENV)/.ready
	version=$$($(BIN)/python -c "import crank; print(crank.__version__)") && \
	CRANK_DOCS_RELEASE=1 $(BIN)/mkdocs build --strict --site-dir site-versions/$$version
	$(BIN)/python docs/_ext/versions.py site-versions

# what a release uploads; the wheel is built from the sdist
dist: $(VENV)/.ready
	rm -rf dist
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --wheel --outdir dist packaging/scorer
	$(BIN)/python -m twine check --strict dist/*

# the wheel in a new environment, walked through as the tutorial says
fresh: $(VENV)/.ready
	rm -rf dist/fresh
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist/fresh .
	$(BIN)/python docs/_ext/transcript.py dist/fresh/*.whl

# lint before every commit
hooks: $(VENV)/.ready
	$(BIN)/pre-commit install

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo site build dist htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache
