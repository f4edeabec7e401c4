"""The how-to for plugin authors: its learner is written to a file, checked and used as it says."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crank.plugins.base import SplitLearner
from crank.testing import Report
from crank.testing.run import CHECKS

PAGE = (Path(__file__).parents[1] / "docs" / "write-a-learner.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Save the first block as the page says, where Python finds it."""
    (tmp_path / "centroid.py").write_text(blocks("python")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("centroid", None)


def test_the_pages_code_runs_in_order(module: None, capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    for code in blocks("python")[1:]:
        exec(compile(code, "docs/write-a-learner.md", "exec"), space)
    assert isinstance(space["report"], Report)
    assert space["report"].ok
    printed = capsys.readouterr().out
    assert "Centroid: 21 checks passed, 4 skipped, 0 failed." in printed
    assert "nearer to the high centroid, mostly by x" in printed


def test_the_pages_entry_point_leads_to_the_learner(module: None) -> None:
    (toml,) = blocks("toml")
    points = tomllib.loads(toml)["project"]["entry-points"]["crank.learners"]
    ((name, target),) = points.items()
    where, _, attribute = target.partition(":")
    kind = getattr(__import__(where), attribute)
    assert issubclass(kind, SplitLearner)
    assert f'learner="{name}"' in PAGE


def test_the_page_names_every_check() -> None:
    table = PAGE[PAGE.index("| check |") : PAGE.index("Put the call")]
    missing = [c.name for c in CHECKS if c.name not in table]
    assert not missing
