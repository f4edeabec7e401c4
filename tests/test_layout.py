"""The architecture: imports point down the layout, stay light, and work on every system."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import crank
from tests.narrowing import of

PACKAGE = Path(crank.__file__).parent
ROOT = Path(__file__).parents[1]

# Along the data's path. A package imports from those above it in this list and from itself, lazily
# or not; what only checks types counts as well.
LAYERS = [
    *("_version", "errors", "texts", "files", "progress", "checks", "entries", "blame"),
    *("frames", "design", "formula"),
    *("kernels", "ranks", "mass", "metrics", "criteria"),
    *("graphs", "growing", "plugins"),
    *("rankers", "fitting", "records", "cluster"),
    *("report", "judging", "export", "models"),
    *("estimators", "datasets", "serve", "monitor", "service", "api", "page", "testing"),
    *("datafiles", "scoring", "folders", "verification", "paper", "demo", "cli"),
]
KINDS = ("linear", "additive", "forest", "booster", "blend")  # from the call to the files
TOPICS = {  # what no single package can show
    "dates": "days in frames, formulas, files and graphs",
    "golden": "files of earlier versions",
    "large_ids": "whole numbers beyond 2⁵³ on every route",
    "million_rows": "the compiled path as a whole",
    "missing_text": "text and its absence in every runtime",
    "monotone": "directions from the call to the files",
    "ordered_factors": "ordered levels from the frame to SQL",
    "real_data": "every learner with every criterion",
    "weights": "case weights in all fits",
    "benchmarks": "the folder benchmarks/",
    "docs": "README and docs/",
    "examples": "the folder examples/",
    "layout": "the architecture",
    "seams": "what is added by new files alone",
}
ELSEWHERE = {  # small modules at the top level that a package's tests prove
    "_version": "layout",
    "blame": "plugins_isolation",
    "checks": "rankers_options",
    "entries": "plugins_registry",
    "errors": "api",
    "folders": "cluster_files",
    "mass": "criteria",
    "scoring": "cli_streams",
}
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
POSIX_ONLY = {
    "crypt",
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "resource",
    "syslog",
    "termios",
    "tty",
}
POSIX_NAMES = {  # attributes that Windows lacks, by module
    "os": {
        "fork",
        "forkpty",
        "getloadavg",
        "getuid",
        "geteuid",
        "mkfifo",
        "nice",
        "sched_getaffinity",
    },
    "signal": {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2", "alarm"},
}


def top(module: str) -> str:
    """Name the package or top module to which a module of crank belongs."""
    return module.removeprefix("crank.").partition(".")[0]


def imported(source: str) -> Iterator[str]:
    """Every crank module that a source imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "crank":
            assert node.module is not None
            if node.module != "crank":
                yield node.module
            else:
                yield from (f"crank.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("crank."))


def test_packages_import_one_way_only() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").parts
        own = name[0]
        if own in ("__init__", "__main__"):
            continue
        assert own in LAYERS, f"{own!r} has no place in the layout: add it to LAYERS"
        for other in map(top, imported(path.read_text(encoding="utf-8"))):
            if other != "__version__" and LAYERS.index(other) > LAYERS.index(own):
                wrong.append(f"{'.'.join(name)} imports {other}")
    assert not wrong


def test_every_package_of_the_layout_exists() -> None:
    there = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert there - {"__init__", "__main__"} == set(LAYERS)


def test_the_picture_of_the_architecture_is_the_tree_of_files() -> None:
    """In the order of the layers, with every package below them."""
    page = (ROOT / "docs/design/architecture.md").read_text(encoding="utf-8")
    picture = page.split("```text\n")[1].split("```")[0]
    shown, above = [], ""
    for branch, name, line in re.findall(r"^(.*[├└]── )(\S+)  +(\S.*)$", picture, re.MULTILINE):
        above = name if len(branch) == 4 else above
        shown.append(name if len(branch) == 4 else above + name)
        assert line
    packages = (p.parent.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*/__init__.py"))
    modules = {p.name for p in PACKAGE.glob("[!_]*.py")}
    assert set(shown) == {f"{name}/" for name in packages} | modules
    tops = [name.removesuffix("/").removesuffix(".py") for name in shown if name.count("/") < 2]
    in_order = [name for name in tops if "/" not in name]
    assert in_order == [name for name in LAYERS if name != "_version"]


def test_the_guide_of_contributors_names_every_layer_in_order() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide.split("| part of the path | packages |\n")[1].split("\n\n")[0]
    named = [name for name in re.findall(r"`(\w+)/?`", table) if name in LAYERS]
    assert sorted(named, key=LAYERS.index) == named
    assert {*LAYERS} - {*named} == {"_version"}


def test_import_crank_loads_nothing_heavy() -> None:
    code = "import sys, crank; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in loaded if name in HEAVY]


def test_every_public_name_resolves() -> None:
    for name in crank.__all__:
        assert getattr(crank, name) is not None


def touched_when_loaded(node: ast.AST) -> Iterator[Any]:
    """All that runs when a module is imported: everything but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = child.args.defaults + child.args.kw_defaults
            inner += getattr(child, "decorator_list", [])
            for part in filter(None, inner):
                yield from (part, *touched_when_loaded(part))
        else:
            yield from (child, *touched_when_loaded(child))


def posix_only(source: str) -> list[str]:
    found = []
    for node in touched_when_loaded(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in POSIX_ONLY]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            wrong = POSIX_NAMES.get(module, set())
            found += [f"{module}.{a.name}" for a in node.names if a.name in wrong]
            found += [module] if module.split(".")[0] in POSIX_ONLY else []
        elif isinstance(node, ast.Attribute):
            module = ast.unparse(node.value)
            found += [f"{module}.{node.attr}"] * (node.attr in POSIX_NAMES.get(module, ()))
    return found


def test_the_search_for_posix_finds_what_runs_on_import_and_nothing_else() -> None:
    assert posix_only("import os, fcntl\nfrom signal import SIGHUP") == ["fcntl", "signal.SIGHUP"]
    assert posix_only("class A:\n    n = os.fork()") == ["os.fork"]
    assert posix_only("def f(n=os.getuid()):\n    import resource") == ["os.getuid"]
    assert posix_only('has = hasattr(os, "fork")\nf = lambda: signal.SIGPIPE') == []


@pytest.mark.parametrize("folder", ["crank", "tests", "benchmarks", "examples"])
def test_nothing_posix_only_is_touched_on_import(folder: str) -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (names := posix_only(path.read_text(encoding="utf-8")))
    }
    assert not found


def test_only_compiled_functions_are_left_out_of_coverage() -> None:
    """Those handed to `kernel_for` say so beside their def; `@kernel` needs no word."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        marked = set(re.findall(r"^def (\w+)\(  # compiled$", text, re.MULTILINE))
        calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
        compiled = {
            of(ast.Name, n.args[1]).id
            for n in calls
            if isinstance(n.func, ast.Name) and n.func.id == "kernel_for"
        }
        assert marked == compiled, path
        assert "pragma: no cover" not in text, path


CHANCE = r"\bdeadline=|\btime\.(sleep|time|monotonic|perf_counter)\b|\bdefault_rng\(\)"


def test_no_test_depends_on_chance_or_on_the_machines_speed() -> None:
    """One Hypothesis profile serves all, in conftest.py; no test sleeps, none times."""
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.name not in ("conftest.py", "test_layout.py"):
            assert not re.search(CHANCE, path.read_text(encoding="utf-8")), path


def test_test_files_are_named_after_what_they_test() -> None:
    """``test_PACKAGE_MODULE.py``, ``test_PACKAGE.py``, a kind of ranker, or a topic of its own."""
    files = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    subjects = (*LAYERS, *KINDS, *TOPICS)

    def is_about(file: str, subject: str) -> bool:
        return file == subject or file.startswith(f"{subject}_")

    strangers = [file for file in files if not any(is_about(file, s) for s in subjects)]
    assert not strangers, f"rename {strangers}, or add a topic above"
    assert set(ELSEWHERE.values()) <= files
    for subject in subjects:
        assert subject in ELSEWHERE or any(is_about(file, subject) for file in files), subject
