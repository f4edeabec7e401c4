import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["theory.md", "datasets.md"])
def test_examples_print_what_the_page_shows(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    # the closing fence would count as expected output
    source = "\n\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    assert len(examples.examples) == text.count("\n>>> ") > 5
    report: list[str] = []
    failed, _ = doctest.DocTestRunner().run(examples, out=report.append)
    assert not failed, "".join(report)
