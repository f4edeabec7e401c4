"""Documentation runs: README and every page print what they show."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Checker(doctest.OutputChecker):
    """Blank lines and the spaces at the end of lines are not worth a marker in prose."""

    def check_output(self, want, got, optionflags):
        tidy = ["\n".join(line.rstrip() for line in t.splitlines()) for t in (want, got)]
        return super().check_output(*(f"{t.strip()}\n" for t in tidy), optionflags)


def examples_of(text: str) -> str:
    """Collect the interactive examples; a blank line before more output is part of it."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return "\n\n".join(re.sub(r"\n(?=\n(?!>>>|\n|\Z))", "\n<BLANKLINE>", b) for b in blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    parser = doctest.DocTestParser()
    examples = parser.get_doctest(examples_of(text), {}, page.name, str(page), 0)
    assert len(examples.examples) == len(re.findall(r"^>>> ", text, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(Checker()).run(examples, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
