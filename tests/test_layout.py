"""The architecture: imports point down the layout, and importing crank stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import crank

PACKAGE = Path(crank.__file__).parent

# From the bottom up; a module may import from its own row and from rows above it in this list.
LAYERS = [
    {"_version", "errors", "files", "progress"},
    {"design", "formula"},
    {"kernels", "ranks"},
    {"criteria", "metrics", "passes", "compiled_passes", "plugins", "splitter", "tree"},
    {"datasets", "grow", "options", "prune", "testing"},
    {"validate"},
    {"procedure"},
    {"estimators", "evaluate", "export", "model", "permutation", "provenance", "report", "serve"},
    {"api", "comparison", "diagnose"},
    {"datafiles", "demo", "paper", "scoring"},
    {"cli"},
]
HEAVY = [
    "sklearn",
    "scipy.stats",
    "matplotlib",
    "onnx",
    "lightgbm",
    "statsmodels",
    "numba",
    "dask",
    "formulaic",
]


def layer(module: str) -> int:
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        for depth, names in enumerate(LAYERS):
            if ".".join(parts[:end]) in names:
                return depth
    raise AssertionError(f"module {module!r} has no place in the layout: add it to LAYERS")


def imports_when_loaded(source: str):
    """Module-level imports of crank modules, type-checking blocks left out."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "crank":
            inner = node.module.partition(".")[2]
            yield from [inner] if inner else [alias.name for alias in node.names]


def test_imports_point_down_the_layout():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        module = name.removesuffix(".__init__")
        if module == "__init__":
            continue
        for other in imports_when_loaded(path.read_text(encoding="utf-8")):
            if layer(other) > layer(module):
                wrong.append(f"{module} imports {other}")
    assert not wrong


def test_import_crank_loads_nothing_heavy():
    code = "import sys, crank; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in loaded if name in HEAVY]


def test_every_public_name_resolves():
    for name in crank.__all__:
        assert getattr(crank, name) is not None
