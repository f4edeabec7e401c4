"""Documentation runs and is complete: pages print what they show, every public name is there."""

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import crank

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Checker(doctest.OutputChecker):
    """Blank lines and the spaces at the end of lines are not worth a marker in prose."""

    def check_output(self, want: Any, got: Any, optionflags: Any) -> Any:
        tidy = ["\n".join(line.rstrip() for line in t.splitlines()) for t in (want, got)]
        want, got = (f"{t.strip()}\n" for t in tidy)
        return super().check_output(want, got, optionflags)


def examples_of(text: str) -> str:
    """Collect the interactive examples; a blank line before more output is part of it."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return "\n\n".join(re.sub(r"\n(?=\n(?!>>>|\n|\Z))", "\n<BLANKLINE>", b) for b in blocks)


@pytest.mark.no_cover
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_shows(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    parser = doctest.DocTestParser()
    examples = parser.get_doctest(examples_of(text), {}, page.name, str(page), 0)
    assert len(examples.examples) == len(re.findall(r"^>>> ", text, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(Checker()).run(examples, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Any) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


SHOWN = {
    name
    for page in (ROOT / "docs" / "reference").glob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
}
PUBLIC = [
    "crank.datasets",
    "crank.errors",
    "crank.metrics",
    "crank.plugins.base",
    "crank.serve",
    "crank.testing",
]


def found(path: str) -> Any:
    """Return the module, class or function that a dotted path names."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(found(module), name)


@pytest.mark.parametrize("path", sorted(SHOWN))
def test_the_reference_shows_what_exists(path: Any) -> None:
    assert found(path).__doc__


def test_the_reference_shows_every_public_name() -> None:
    missing = {f"crank.{name}" for name in crank.__all__} - SHOWN
    assert missing == {"crank.CrankError", "crank.__version__"}  # among the errors, in the text
    assert "crank.__version__" in (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    assert "CrankError" in crank.errors.__all__


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_shows_public_modules_whole(module: Any) -> None:
    assert module in SHOWN
    assert found(module).__all__


def test_the_reference_shows_an_example_of_everything_that_is_called() -> None:
    things = {path: found(path) for path in SHOWN}
    for module in [thing for thing in things.values() if inspect.ismodule(thing)]:
        own = {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
        things |= {path: thing for path, thing in own.items() if callable(thing)}
    silent = {path for path, thing in things.items() if ">>>" not in (thing.__doc__ or "")}
    silent -= {path for path in silent if inspect.ismodule(things[path])}
    errors = {f"crank.errors.{name}" for name in crank.errors.__all__}  # but for their base
    aliases = {
        f"crank.plugins.base.{name}" for name in ("FloatArray", "Levels", "NotExportableError")
    }
    assert silent <= errors - {"crank.errors.CrankError"} | aliases


def test_the_reference_shows_every_error() -> None:
    kinds = {
        k
        for k, v in vars(crank.errors).items()
        if isinstance(v, type) and k.endswith(("Error", "Warning"))
    }
    assert kinds == set(crank.errors.__all__)


def test_every_page_has_a_place_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    placed = set(re.findall(r": (\S+\.md)$", nav, re.MULTILINE))
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert placed == pages
